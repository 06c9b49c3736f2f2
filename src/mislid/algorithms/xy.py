"""XY-adaptive and XY-static (Soare, Lazaric and Munos, 2014): adaptive and static XY-designs.

XY-adaptive. Phase l lasts until the largest variance of a pair of open arms, over the phase's
number of measurements n, is a tenth of that of the phase before (the paper's alpha); that is, for
the variance rho / n of a design and the paper's beginning 1 / (d^2 + d + 1),
    n = sqrt((d^2 + d + 1) rho 10^l).
XY-static. One design for all pairs, whatever the values are, so that all of them count. A phase has
a tenth more measurements; at its end either all arms are decided, or none is.

One look at the end of phase l needs ln(pi^2 K^2 l^2 / (6 delta)) nats for all pairs: summed over
the phases, delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid._jit import inner, kernel
from mislid._validation import as_number
from mislid.algorithms._designs import support_of
from mislid.algorithms._phases import (
    FINEST,
    Phased,
    Phases,
    avoid_bias,
    compile_phases,
    design_linear,
    noise_unit,
)
from mislid.algorithms.registry import CompiledSampling, register
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# Measurements at least, for every arm of a design.
LEAST = 2.0
# By how much a phase of XY-adaptive shrinks variance over measurements.
SHRINK = 0.1
# How much XY-static measures before it looks again, relative to what there is.
GROWTH = 0.1


@dataclass(frozen=True)
class XYAdaptive(Phased):
    """XY-adaptive (Soare, Lazaric and Munos 2014): phases that shrink the open pairs' variance.

    Attributes
    ----------
    first
        Measurements that the first phase is compared with (the paper's n_0); None for its
        d (d + 1) + 1.
    fresh
        As for `RAGE`; with False a phase's length counts all measurements.
    """

    first: int | None = None
    fresh: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is not None:
            as_number(self.first, "first", low=1.0, high=math.inf)


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
    shrunk = SHRINK ** float(min(phase.number, FINEST))
    return math.sqrt(phase.first * phase.rho / noise_unit(setting) / shrunk)


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
    d = setup.setting.X.shape[1]
    first = d * (d + 1) + 1 if rule.first is None else rule.first
    return compile_phases(prepare_adaptive, setup.setting, fresh=rule.fresh, first=float(first))


@register({"xy-static": XYStatic()})
def _compile_static(rule: XYStatic, setup: Setup) -> CompiledSampling:
    return compile_phases(prepare_static, setup.setting, fixed=True)
