"""Tests of the declared misspecification and noise, and plausibility checks of values.

A study whose data refute its declarations claims no proof. Both tests are valid at all times, no
matter how often one looks; docs/checks.md derives them. The test of the misspecification uses the
event on which the answer is proved, so it costs no part of delta. The test of the noise has its
own level.
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
# Probability that the test ever rejects correctly declared noise, over a whole study.
NOISE_LEVEL = 0.01
# The misspecification is tested again when the number of measurements has grown by this factor.
LOOK_AGAIN = 1.02


# Standard deviations beyond which a value is implausible: Gaussian noise exceeds them with
# probability 2e-9.
FAR = 6.0
# Degrees of freedom required for a plausible range if the noise is only estimated.
FREEDOM = 10.0
# Values required for a plausible range of a candidate that was never measured.
FEW = 2
# How far such a candidate may be outside the range of the other means, in multiples of its length.
BEYOND = 3.0

# Number of equal values of one candidate that suggests missing randomness.
REPEATED = 3


class Tallies:
    """Running counts, means and sums of squared deviations (K,) of measurements."""

    def __init__(self, K: int) -> None:
        self.counts, self.means, self.squares = np.zeros(K), np.zeros(K), np.zeros(K)
        self.samples = 0
        # Number of measurements at the last full test of the misspecification.
        self.looked = 0

    def add(self, arms: Sequence[int] | Indices, values: Sequence[float] | Vector) -> None:
        """Add measurements."""
        for arm, value in zip(arms, values, strict=True):
            rest = value - self.means[arm]
            self.counts[arm] += 1.0
            self.means[arm] += rest / self.counts[arm]
            self.squares[arm] += rest * (value - self.means[arm])
        self.samples += len(arms)

    def take_in(self, observations: Sequence[Observation]) -> None:
        """Add the observations that were not added before; `observations` begins with those."""
        new = observations[self.samples :]
        self.add([one.arm for one in new], [one.value for one in new])


def tallies_of(state: StudyState) -> Tallies:
    """Tallies of all measurements that count."""
    tallies = Tallies(state.candidates.K)
    tallies.take_in(state.observations)
    return tallies


def refuted(
    state: StudyState,
    tallies: Tallies,
    estimate: Vector | None,
    known: Container[str] = (),
) -> Iterator[Contradicted]:
    """Declarations that the data newly refute, except those in `known`.

    `estimate` (K,), if available, is a model with the declared misspecification that is close to
    the means (larger is better). It can rule out a contradiction quickly.
    """
    if NOISE not in state.contradictions and NOISE not in known:
        yield from _noise(state.settings, tallies)
    if MISSPECIFICATION not in state.contradictions and MISSPECIFICATION not in known:
        yield from _misspecification(state.settings, state.candidates, tallies, estimate)


def refuted_ever(state: StudyState) -> list[Contradicted]:
    """Declarations that the data, as corrected, refute now or would have refuted at any look.

    Used after a correction or a new declaration. A refutation persists unless the change removed
    its cause.
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
    # A full test takes milliseconds, and its result changes slowly.
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
    """Tested declarations, each with its level and the log evidence against it."""
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
    """A message with a finding and the recommended action."""
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
    """Whether some candidate has several values, and all values of each candidate are equal.

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
    """Whether `is_constant` becomes true with this value."""
    if tallies.counts.max() != REPEATED - 1 or tallies.counts[arm] != REPEATED - 1:
        return False
    return value == tallies.means[arm] and not tallies.squares.any()


def constant_words(most: int) -> str:
    """The warning for data of which `is_constant` is true."""
    return (
        f"no candidate has two different values, and one has {most} equal ones: as if there were "
        "no noise at all. A measurement that repeats an old random seed, or a copied number, "
        "proves nothing: let each measurement draw new random numbers"
    )


def plausible_range(tallies: Tallies, noise: Vector, arm: int) -> tuple[float, float] | None:
    """Plausible range of an arm's next value: around its mean or, without one, the other means.

    `noise` (K,) is the declared noise, 0 if none was declared. If the values scatter more than
    that, their scatter counts.

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
