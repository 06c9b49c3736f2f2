"""Elimination in phases: a design for the open arms, its measurements, then decisions.

A phase is planned as a whole: the number of measurements of every arm does not depend on the values
in the phase. Let n of the open arms be still wanted. At the end of a phase, every open arm that
lost against n open arms is dropped, and every one that won against all but n is accepted. One arm
wins against another if its estimate is ahead by more than
    sqrt(2 level variance) + bias,
with the variance of the difference and its largest bias under the misspecification. For n = 1 this
is elimination as published. Estimates are by least squares along the features or, if their bias is
above the resolution of the phase, the means of the two arms.

In a study, trials may be open. A phase ends when as many values as planned are known. Values of
trials open at that time count in the next phase.

RAGE (Fiez, Jain, Jamieson and Ratliff, 2019). Phase l has the XY-design of the open arms and
    max(2 4^l (1 + 1/10) rho ln(2 K^2 l^2 / delta), 20 |support|)
measurements, in units of the noise, after which every difference is known to 2^-l with probability
1 - delta / l^2: larger differences are separated.

XY-adaptive and XY-static (Soare, Lazaric and Munos, 2014). Phase l lasts until the largest variance
of a pair of open arms, over the phase's number of measurements n, is a tenth of that of the phase
before (the paper's alpha); that is, for the variance rho / n of a design and the paper's beginning
1 / (d^2 + d + 1),
    n = sqrt((d^2 + d + 1) rho 10^l).
XY-static has one design for all pairs, whatever the values are, so that all of them count. A phase
has a tenth more measurements; at its end either all arms are decided, or none is. For both, one
look at the end of phase l needs ln(pi^2 K^2 l^2 / (6 delta)) nats for all pairs: summed over the
phases, delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mislid._jit import ArmOrder, Kernel, PerArm, inner, kernel, linked
from mislid.algorithms._designs import (
    Designs,
    apportion,
    largest_bias,
    new_designs,
    own_design,
    pair_bias,
    regress,
    support_of,
    total_of,
    xy_design,
)
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.geometry.linalg import copy, fill
from mislid.geometry.order import mark_top
from mislid.stopping.ridge import estimate_means, squared_distance
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# The longest phase; larger numbers of measurements are not exact.
LONGEST = 2.0**50
# The shortest phase, as a share of all measurements. If the open arms have equal features, only
# this makes phases longer, and plans take time.
SHORTEST = 0.01
# The finest resolution of a phase is 2^-FINEST of the noise.
FINEST = 100


@dataclass(frozen=True)
class Phased(Algorithm):
    """Base of rules with phases; a study can hand out the trials of a phase together."""

    own_test = True
    needs_noise = True


class Phases(Designs):
    """The present phase, and the decisions of earlier ones."""

    prepare: int  # address of a kernel, as `_prepare` below
    log_inverse: float  # ln(1/delta)
    fresh: bool  # whether a phase is judged by its own measurements only
    fixed: bool  # whether all arms stay open, and the design the same, until all are decided
    number: int  # of the phase; 0 before the first
    repeats: int  # how often all arms were reopened with a higher level
    closed: bool  # whether the phase was judged
    linear: bool  # whether it estimates along the features
    level: float  # nats that a pair needs in it
    rho: float  # largest variance at its design
    bias: float  # and largest bias, if it was computed
    left: int  # candidates
    wanted: int  # number of them among the m best
    accepted: PerArm  # one for arms that are among the best
    plan: PerArm  # measurements of the phase
    start: PerArm  # counts before it
    before: PerArm  # and sums
    totals: PerArm  # sums of the phase
    flags: PerArm
    heap: ArmOrder


def compile_phases(prepare: Kernel, setting: Setting, **options: Any) -> CompiledSampling:
    """Compile a rule, given the kernel that plans its phases."""
    K = setting.X.shape[0]
    struct = Phases.zeros(
        {"K": K},
        prepare=prepare.address,
        log_inverse=-math.log(setting.delta),
        left=K,
        wanted=setting.m,
        **new_designs(setting),
        **options,
    )
    return CompiledSampling(struct, phases_arm, phases_test, left=phases_left)


@inner
def noise_unit(setting: Setting) -> float:
    """The mean squared noise: the unit of what phases resolve.

    A unit that is too large costs a few short phases, one that is too small a long one.
    """
    return total_of(setting.variance) / setting.variance.shape[0]


@inner
def design_linear(setting: Setting, phase: Phases) -> None:
    """Compute the design for the open arms along the features, unless these say nothing."""
    phase.linear = not np.isinf(setting.eps)
    phase.rho, phase.bias = np.inf, np.inf
    if phase.linear:
        phase.rho = xy_design(setting, phase)
        phase.bias = largest_bias(setting, phase)


@inner
def avoid_bias(setting: Setting, phase: Phases, resolution: float) -> None:
    """Use the design without features if the bias along the features exceeds the resolution."""
    if not phase.linear or phase.bias > resolution:
        phase.linear = False
        phase.rho = own_design(setting, phase)


@inner
def open_phase(phase: Phases, state: State, samples: float) -> None:
    """Start a phase of this many measurements by the shares, but at least the shortest phase."""
    samples = max(samples, SHORTEST * state.samples)
    apportion(phase.share, min(math.ceil(samples), LONGEST), phase.plan)
    phase.closed = False
    if phase.fresh and (phase.number > 1 or phase.repeats > 0):
        copy(state.counts, phase.start)
        for k in range(phase.before.shape[0]):
            phase.before[k] = state.sums[k] + state.lost[k]
        return
    # The first measurements of all are part of the first phase.
    fill(phase.start, 0.0)
    fill(phase.before, 0.0)
    if not phase.fresh:
        for k in range(phase.plan.shape[0]):
            phase.plan[k] += state.counts[k]


@inner
def is_complete(phase: Phases, state: State) -> bool:
    """Whether all planned measurements were made."""
    for k in range(phase.plan.shape[0]):
        if state.counts[k] - phase.start[k] < phase.plan[k]:
            return False
    return True


@inner
def planned_arm(phase: Phases, state: State) -> int:
    """The arm that is farthest behind the plan, of equals the first."""
    arm, least = 0, np.inf
    for k in range(phase.plan.shape[0]):
        if phase.share[k] > 0.0:
            part = (state.counts[k] - phase.start[k] + 0.5) / phase.plan[k]
            if part < least:
                arm, least = k, part
    return arm


@inner
def estimate_phase(setting: Setting, phase: Phases, state: State) -> None:
    """Fill `ridge.means` with the estimates of the phase."""
    means = phase.ridge.means
    for k in range(means.shape[0]):
        count = state.counts[k] - phase.start[k]
        phase.information[k] = count / setting.variance[k]
        phase.totals[k] = state.sums[k] + state.lost[k] - phase.before[k]
        means[k] = phase.totals[k] / max(count, 1.0)
    if phase.linear:
        regress(setting, phase, total_of(phase.information))
        estimate_means(setting.X, setting.variance, phase.totals, phase.ridge)


@inner
def is_beyond(setting: Setting, phase: Phases, lead: float, i: int, j: int) -> bool:
    """Whether a lead of one arm on the other is more than noise and bias explain."""
    if phase.linear:
        square = squared_distance(setting.X, phase.ridge.images, i, j)
    elif phase.information[i] == 0.0 or phase.information[j] == 0.0:
        return False
    else:
        square = 1.0 / phase.information[i] + 1.0 / phase.information[j]
    noise = math.sqrt(2.0 * phase.level * square)
    if lead <= noise or not phase.linear:
        return lead > noise
    return lead > noise + pair_bias(setting, phase, i, j)


@inner
def separate(setting: Setting, phase: Phases) -> bool:
    """Drop and accept arms once; whether any were decided."""
    means, candidates, changed = phase.ridge.means, phase.candidates, False
    for k in range(candidates.shape[0]):
        phase.flags[k] = 0.0
        if candidates[k] == 0.0:
            continue
        won, lost = 0, 0
        for other in range(candidates.shape[0]):
            if candidates[other] > 0.0 and other != k:
                lead = means[k] - means[other]
                if is_beyond(setting, phase, abs(lead), k, other):
                    won += lead > 0.0
                    lost += lead < 0.0
        if lost >= phase.wanted:
            phase.flags[k] = -1.0
        elif won >= phase.left - phase.wanted:
            phase.flags[k] = 1.0
    for k in range(candidates.shape[0]):
        if phase.flags[k] != 0.0:
            close(phase, k, phase.flags[k] > 0.0)
            changed = True
    return changed


@inner
def close(phase: Phases, arm: int, good: bool) -> None:
    """Decide about an open arm."""
    phase.candidates[arm] = 0.0
    phase.left -= 1
    if good:
        phase.accepted[arm] = 1.0
        phase.wanted -= 1


@inner
def accept_tolerated(setting: Setting, phase: Phases) -> None:
    """Accept the best estimates if no other open arm can be ahead by more than the tolerance."""
    means, totals, candidates = phase.ridge.means, phase.totals, phase.candidates
    for k in range(candidates.shape[0]):
        totals[k] = means[k] if candidates[k] > 0.0 else -np.inf
    mark_top(totals, phase.wanted, phase.heap, phase.flags)
    for i in range(candidates.shape[0]):
        if candidates[i] == 0.0 or phase.flags[i] > 0.0:
            continue
        for j in range(candidates.shape[0]):
            inside = candidates[j] > 0.0 and phase.flags[j] > 0.0
            if inside and not is_beyond(setting, phase, means[j] - means[i] + setting.tol, i, j):
                return
    for k in range(candidates.shape[0]):
        if candidates[k] > 0.0:
            close(phase, k, phase.flags[k] > 0.0)


@kernel
def close_phase(setting: Setting, phase: Phases, state: State) -> None:
    """Estimate and decide at the end of a phase; later calls do nothing."""
    if phase.closed:
        return
    phase.closed = True
    estimate_phase(setting, phase, state)
    going = True
    while going and phase.left > 0:
        going = separate(setting, phase)
        if phase.wanted == 0 or phase.wanted == phase.left:
            good = phase.wanted > 0
            for k in range(phase.candidates.shape[0]):
                if phase.candidates[k] > 0.0:
                    close(phase, k, good)
    if phase.left > 0 and setting.tol > 0.0:
        accept_tolerated(setting, phase)
    if phase.left > 0 and phase.fixed:
        open_all(setting, phase)


@inner
def open_all(setting: Setting, phase: Phases) -> None:
    """Reopen all arms."""
    phase.left, phase.wanted = phase.candidates.shape[0], setting.m
    fill(phase.candidates, 1.0)
    fill(phase.accepted, 0.0)


def _prepare(setting: Setting, phase: Phases, state: State) -> float:
    """Choose shares and level of a new phase; return its number of measurements."""
    raise NotImplementedError


_call_prepare = linked(_prepare)


@kernel
def phases_arm(setting: Setting, phase: Phases, state: State, uniform: float) -> int:
    """The arm that is farthest behind the plan of the phase."""
    if phase.number > 0:
        if state.waiting > 0 or not is_complete(phase, state):
            return planned_arm(phase, state)
        close_phase(setting, phase, state)
        if phase.left == 0:  # the stopping rule needs more: reopen all arms, at twice the level
            phase.repeats += 1
            phase.number = 0
            open_all(setting, phase)
    phase.number += 1
    open_phase(phase, state, _call_prepare(phase.prepare, setting, phase, state))
    return planned_arm(phase, state)


@kernel
def phases_test(setting: Setting, phase: Phases, state: State) -> bool:
    """Whether all arms are decided; then `incumbents` are the accepted ones."""
    if phase.number == 0 or not is_complete(phase, state):
        return False
    close_phase(setting, phase, state)
    if phase.left > 0:
        return False
    place = 0
    for k in range(phase.accepted.shape[0]):
        if phase.accepted[k] > 0.0:
            state.incumbents[place] = k
            place += 1
    return True


@kernel
def phases_left(setting: Setting, phase: Phases, state: State) -> int:
    """Number of remaining measurements of the phase."""
    total = 0.0
    for k in range(phase.plan.shape[0]):
        total += max(phase.plan[k] - (state.counts[k] - phase.start[k]), 0.0)
    return int(total)


# Rounding to whole numbers increases the variance by at most this factor, if every arm of the
# design has ENOUGH measurements.
ROUNDING, ENOUGH = 1.1, 20.0


@dataclass(frozen=True)
class RAGE(Phased):
    """RAGE (Fiez, Jain, Jamieson and Ratliff 2019): each phase halves the resolution.

    Attributes
    ----------
    fresh
        Whether a phase is judged by its own measurements only, as its proof needs, or by all, as
        in the runs of Tirinzoni and Degenne (2022).
    """

    fresh: bool = True


@kernel
def prepare_rage(setting: Setting, phase: Phases, state: State) -> float:
    """Choose shares and level of a phase; return its number of measurements."""
    K, unit = setting.X.shape[0], noise_unit(setting)
    number = float(min(phase.number, FINEST))
    level = math.log(2.0 * K * K * number * number) + phase.log_inverse
    phase.level = 2.0**phase.repeats * level
    resolution = 0.5**number * math.sqrt(unit)
    design_linear(setting, phase)
    avoid_bias(setting, phase, resolution)
    samples = 2.0 / resolution**2 * ROUNDING * phase.rho * phase.level
    return max(samples, ENOUGH * support_of(phase.share))


@register({"rage": RAGE()})
def _compile(rule: RAGE, setup: Setup) -> CompiledSampling:
    return compile_phases(prepare_rage, setup.setting, fresh=rule.fresh)


# Least measurements of every arm of a design.
LEAST = 2.0
# By how much a phase of XY-adaptive shrinks variance over measurements.
SHRINK = 0.1
# Measurements of a phase of XY-static, relative to all before it.
GROWTH = 0.1


@dataclass(frozen=True)
class XYAdaptive(Phased):
    """XY-adaptive (Soare, Lazaric and Munos 2014): phases that shrink the open pairs' variance.

    Attributes
    ----------
    fresh
        As for `RAGE`; with False a phase's length counts all measurements.
    """

    fresh: bool = True


@dataclass(frozen=True)
class XYStatic(Phased):
    """XY-static (Soare, Lazaric and Munos 2014): one design for all pairs."""


@inner
def set_level(setting: Setting, phase: Phases) -> None:
    """Set the nats that a decision at the end of this phase needs."""
    K = setting.X.shape[0]
    looks = math.log(math.pi**2 / 6.0 * K * K) + 2.0 * math.log(float(phase.number))
    phase.level = 2.0**phase.repeats * (looks + phase.log_inverse)


@inner
def adaptive_length(setting: Setting, phase: Phases) -> float:
    """Measurements until variance over measurements has shrunk."""
    shrunk, d = SHRINK ** float(min(phase.number, FINEST)), setting.X.shape[1]
    return math.sqrt((d * (d + 1) + 1) * phase.rho / noise_unit(setting) / shrunk)


@kernel
def prepare_adaptive(setting: Setting, phase: Phases, state: State) -> float:
    """Choose shares and level of a phase; return its number of measurements."""
    set_level(setting, phase)
    design_linear(setting, phase)
    variance = phase.rho / max(adaptive_length(setting, phase), 1.0)
    avoid_bias(setting, phase, math.sqrt(2.0 * phase.level * variance))
    samples = adaptive_length(setting, phase)
    if not phase.fresh:
        samples -= state.samples
    return max(samples, LEAST * support_of(phase.share))


@kernel
def prepare_static(setting: Setting, phase: Phases, state: State) -> float:
    """Keep the shares of the first phase; return its number of measurements."""
    set_level(setting, phase)
    if phase.number == 1 and phase.repeats == 0:
        design_linear(setting, phase)
    samples = max(GROWTH * state.samples, LEAST * support_of(phase.share))
    variance = phase.rho / (state.samples + samples)
    avoid_bias(setting, phase, math.sqrt(2.0 * phase.level * variance))
    return max(samples, LEAST * support_of(phase.share))


@register({"xy-adaptive": XYAdaptive()})
def _compile_adaptive(rule: XYAdaptive, setup: Setup) -> CompiledSampling:
    return compile_phases(prepare_adaptive, setup.setting, fresh=rule.fresh)


@register({"xy-static": XYStatic()})
def _compile_static(rule: XYStatic, setup: Setup) -> CompiledSampling:
    return compile_phases(prepare_static, setup.setting, fixed=True)
