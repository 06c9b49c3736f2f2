"""Tests of what a study declared, its misspecification and its noise, and of single values.

A study that rests on what its data refute claims no proof. Both tests hold at all times, however
often one looks; docs/checks.md derives them. The test of the misspecification is on the
event of the proof, so it costs nothing beside delta. The test of the noise has another level.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.stopping.assumptions import Dispersion, Residuals
from mislid.stopping.equal import spread_of
from mislid.study.candidates import Candidates
from mislid.study.events import Contradicted
from mislid.study.settings import KNOWN, Settings
from mislid.study.state import DECISION, MISSPECIFICATION, NOISE, Observation, StudyState

Indices = NDArray[np.int64]
# How often noise that was declared rightly is contradicted, over a whole study.
NOISE_LEVEL = 0.01
# The misspecification is tested again when the measurements have grown by this factor.
LOOK_AGAIN = 1.02


# Standard deviations beyond which a value is implausible: Gaussian noise exceeds them twice in a
# thousand million measurements.
FAR = 6.0
# Degrees of freedom that are needed where the noise is only known from the values.
FREEDOM = 10.0
# With fewer values nothing is known of a candidate that was never measured.
FEW = 2
# How far beyond the others it may be, in multiples of what they span.
BEYOND = 3.0

# Equal values of one candidate that are not due to chance where no other values differ.
REPEATED = 3


class Tallies:
    """Counts, means and sums of squared deviations (K,) of measurements, one after the other."""

    def __init__(self, K: int) -> None:
        self.counts, self.means, self.squares = np.zeros(K), np.zeros(K), np.zeros(K)
        self.samples = 0
        # Number of measurements at the last whole test of the misspecification.
        self.looked = 0

    def add(self, arms: Sequence[int] | Indices, values: Sequence[float] | Vector) -> None:
        """Take in measurements."""
        for arm, value in zip(arms, values, strict=True):
            rest = value - self.means[arm]
            self.counts[arm] += 1.0
            self.means[arm] += rest / self.counts[arm]
            self.squares[arm] += rest * (value - self.means[arm])
        self.samples += len(arms)

    def take_in(self, observations: Sequence[Observation]) -> None:
        """Take in the new ones; those that were taken in before come first."""
        new = observations[self.samples :]
        self.add([one.arm for one in new], [one.value for one in new])


def tallies_of(state: StudyState) -> Tallies:
    """Of all measurements that count."""
    tallies = Tallies(state.candidates.K)
    tallies.take_in(state.observations)
    return tallies


def refuted(
    state: StudyState,
    tallies: Tallies,
    estimate: Vector | None,
    known: Container[str] = (),
) -> Iterator[Contradicted]:
    """What of the declaration the data refute by now, that was not refuted before, nor is `known`.

    `estimate` (K,) is a model of the declared misspecification that is near to the means, in the
    sign in which more is better, if one is known: it can exclude that there is a contradiction.
    """
    if NOISE not in state.contradictions and NOISE not in known:
        yield from _noise(state.settings, tallies)
    if MISSPECIFICATION not in state.contradictions and MISSPECIFICATION not in known:
        yield from _misspecification(state.settings, state.candidates, tallies, estimate)


def refuted_ever(state: StudyState) -> list[Contradicted]:
    """What the data refute by now or refuted at any earlier look, as they are by now.

    After a correction or another declaration: what was refuted once stays refuted, unless it is
    that which was mended.
    """
    tallies, found = Tallies(state.candidates.K), dict[str, Contradicted]()
    for _, told in groupby(state.observations, key=lambda one: one.sequence):
        group = list(told)
        tallies.add([one.arm for one in group], [one.value for one in group])
        for one in refuted(state, tallies, None, set(found)):
            found[one.what] = one
    return list(found.values())


def _noise(settings: Settings, tallies: Tallies) -> Iterator[Contradicted]:
    if settings.noise_model != KNOWN:
        return
    deviations, limit = settings.deviations(tallies.counts.size), -math.log(NOISE_LEVEL)
    scatter = Dispersion(tallies.counts, tallies.squares / deviations**2)
    if scatter.bound() <= limit:
        return
    found = scatter.log_evidence()
    if found > limit:
        least = scatter.least_factor(NOISE_LEVEL)
        yield Contradicted(NOISE, tallies.samples, NOISE_LEVEL, found, limit, least)


def _misspecification(
    settings: Settings, candidates: Candidates, tallies: Tallies, estimate: Vector | None
) -> Iterator[Contradicted]:
    declared, level = settings.misspecification, settings.delta
    if not settings.is_structured or math.isinf(declared) or tallies.samples == 0:
        return
    residuals = _residuals(settings, candidates, tallies)
    if estimate is not None and residuals.cannot_contradict(estimate, level):
        return
    # A whole test takes milliseconds, and what it says changes slowly.
    if tallies.samples <= LOOK_AGAIN * tallies.looked:
        return
    tallies.looked = tallies.samples
    if residuals.contradict(declared, level):
        yield Contradicted(
            MISSPECIFICATION,
            tallies.samples,
            level,
            residuals.log_evidence(declared),
            -math.log(level),
            residuals.least(level),
        )


def tests_of(
    settings: Settings, candidates: Candidates, tallies: Tallies
) -> Iterator[tuple[str, float, float]]:
    """What is tested, at which level, and the evidence against it."""
    if settings.noise_model == KNOWN:
        deviations = settings.deviations(candidates.K)
        scatter = Dispersion(tallies.counts, tallies.squares / deviations**2)
        yield NOISE, NOISE_LEVEL, scatter.log_evidence()
    if settings.is_structured and math.isfinite(settings.misspecification):
        residuals = _residuals(settings, candidates, tallies)
        against = residuals.log_evidence(settings.misspecification)
        yield MISSPECIFICATION, settings.delta, against


def _residuals(settings: Settings, candidates: Candidates, tallies: Tallies) -> Residuals:
    return Residuals.of(
        candidates.model(settings.misspecification),
        tallies.counts,
        settings.sign * tallies.means,
        settings.deviations(candidates.K),
        spread_of(settings.noise_model, tallies.counts, tallies.means, tallies.squares),
    )


def in_words(found: Contradicted, state: StudyState) -> str:
    """What was found, and what to do."""
    if found.what == DECISION:
        return (
            f"the log records a decision after {found.samples:,} measurements that does not follow "
            "from them by the rules of this release. Nothing is proven: find out who wrote it, and "
            "add the observations to a new study; no measurement is lost"
        )
    if found.what == NOISE:
        says = (
            "the measurements scatter more than the declared noise allows: it takes at least "
            f"{found.least:.3g} times that"
        )
        ways = "redeclare a larger noise, or find out whether values drift"
    else:
        says = (
            "the measurements contradict the declared misspecification of "
            f"{state.settings.misspecification:g}: no linear model has all means within "
            f"{found.least:.3g}"
        )
        ways = "redeclare a larger misspecification; sensitivity() says what holds for which"
    return (
        f"{says} (after {found.samples:,} measurements, at level {found.level:g}). Nothing is "
        f"proven: correct a value if it is wrong, or {ways}; no measurement is lost"
    )


def is_constant(tallies: Tallies) -> bool:
    """Whether a candidate was measured several times, and no candidate has two different values.

    >>> tallies = Tallies(2)
    >>> tallies.add(np.array([0, 0, 1]), np.array([0.3, 0.3, 0.5]))
    >>> is_constant(tallies)
    False
    >>> tallies.add(np.array([0]), np.array([0.3]))
    >>> is_constant(tallies)
    True
    """
    return bool(tallies.counts.max() >= REPEATED and not tallies.squares.any())


def becomes_constant(tallies: Tallies, arm: int, value: float) -> bool:
    """Whether this value is the first to look as if there were no noise."""
    if tallies.counts.max() != REPEATED - 1 or tallies.counts[arm] != REPEATED - 1:
        return False
    return value == tallies.means[arm] and not tallies.squares.any()


def constant_words(most: int) -> str:
    """A warning about values that never differ."""
    return (
        f"no candidate has two different values, and one has {most} equal ones: as if there were "
        "no noise at all. A measurement that repeats an old random seed, or a copied number, "
        "proves nothing: let each draw its randomness anew"
    )


def plausible_range(tallies: Tallies, noise: Vector, arm: int) -> tuple[float, float] | None:
    """Where the next value of an arm should be: around its own mean, or else among all others.

    `noise` (K,) is what was declared, 0 if nothing was. Where values scatter more than that, so may
    the next one.

    >>> tallies = Tallies(3)
    >>> tallies.add(np.array([0, 0, 1, 1]), np.array([0.9, 1.1, 0.4, 0.6]))
    >>> low, high = plausible_range(tallies, np.full(3, 0.1), 0)
    >>> round(low, 2), round(high, 2)
    (-0.04, 2.04)
    >>> low, high = plausible_range(tallies, np.full(3, 0.1), 2)
    >>> round(low, 2), round(high, 2)
    (-1.85, 3.35)
    """
    n = float(tallies.counts[arm])
    freedom = float(np.sum(np.maximum(tallies.counts - 1.0, 0.0)))
    scatter = math.sqrt(float(tallies.squares.sum()) / freedom) if freedom > 0.0 else 0.0
    reach = FAR * max(float(noise[arm]), scatter)
    if noise[arm] == 0.0 and freedom < FREEDOM:  # too little is known of the noise
        return None
    if n > 0.0:
        mean, reach = float(tallies.means[arm]), reach * math.sqrt(1.0 + 1.0 / n)
        return mean - reach, mean + reach
    if tallies.samples < FEW:
        return None
    known = tallies.means[tallies.counts > 0.0]
    low, high = float(known.min()), float(known.max())
    reach += BEYOND * (high - low)
    return low - reach, high + reach
