"""What a number of measurements can be expected to prove, before there are any.

A rough plan in closed form, by the evidence of the rule `guaranteed`: measurements are spread
evenly, or over a design that makes the features' worst prediction as good as possible, and the
empirical gap of two candidates is taken to be the true one. A study chooses better than that as it
learns what is near the border, and noise helps or hinders: numbers are for comparing, no promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import Families, Pairs, by_features, by_two_arms, families_of
from mislid.stopping.noise import UNDECLARED
from mislid.study.candidates import Candidates
from mislid.study.results import Label, PlainRecord
from mislid.study.settings import UNKNOWN, Settings

# Pairs, those that the features tell apart worst, whose evidence is looked at.
WORST = 200
# How near a design's worst prediction is to the best possible, relatively, and steps to get there.
ACCURACY, STEPS = 0.02, 2_000
# Numbers of measurements beyond this, and gaps beyond this many times the noise, are not looked at.
MOST, WIDEST = 1e15, 1e9
# From this leverage on little but its own measurements says anything of a candidate.
ALONE = 0.9

Evidence = Callable[[float], float]


class Prospects:
    """Evidence to be expected for two candidates of a study that differ by a gap."""

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        self.settings, self.candidates = settings, candidates
        deviations = settings.deviations(candidates.K)
        # Of a typical candidate, as in the rule itself; the unit of gaps where nobody knows it.
        self.noise = math.exp(float(np.mean(np.log(deviations))))
        # What it is called.
        self.unit = "the noise" if settings.reward_range is None else "half of the range"
        self.is_known = settings.noise_model not in UNDECLARED

    def samples_without(self, gap: float) -> int | None:
        """Measurements for a gap without the features; None where they would be endless."""
        return _samples(lambda n: self._by_two_arms(gap, n, structured=False), self._level)

    def samples_with(self, gap: float, misspecification: float) -> int | None:
        """Measurements for a gap, by the features or by the two candidates' own, if fewer."""
        return _samples(lambda n: self._by_both(gap, n, misspecification), self._level)

    def gap_without(self, samples: int) -> float | None:
        """The least gap that so many measurements prove without the features."""
        return _gap(
            lambda gap: self._by_two_arms(gap, samples, structured=False), self._level, self.noise
        )

    def gap_with(self, samples: int, misspecification: float) -> float | None:
        """The least gap that they prove with the features."""
        return _gap(
            lambda gap: self._by_both(gap, samples, misspecification), self._level, self.noise
        )

    @property
    def _level(self) -> float:
        return -math.log(self.settings.delta)

    def _families(self, *, structured: bool) -> Families:
        K, settings = self.candidates.K, self.settings
        noise = np.full(K, self.noise)
        return families_of(K, settings.m, structured, settings.delta, noise)

    def _by_two_arms(self, gap: float, samples: float, *, structured: bool) -> float:
        """Of two arms when all are measured equally often, and at least once."""
        if samples < self.candidates.K:
            return -math.inf
        weight = np.array([samples / (self.candidates.K * self.noise**2)])
        beyond = np.array([gap + self.settings.tolerance])
        family = self._families(structured=structured).two_arms
        return float(by_two_arms(family, beyond, weight, weight)[0])

    def _by_both(self, gap: float, samples: float, misspecification: float) -> float:
        own = self._by_two_arms(gap, samples, structured=True)
        return max(own, self._by_features(gap, samples, misspecification))

    def _by_features(self, gap: float, samples: float, misspecification: float) -> float:
        """Of the worst pair, at the design that is best for the features."""
        X, design, pairs = self._worst
        if samples < X.shape[1]:
            return -math.inf
        family, weights = self._families(structured=True).linear, samples / self.noise**2 * design
        given = weights, np.zeros(len(X)), misspecification, gap + self.settings.tolerance
        return float(np.min(by_features(family, X, *given, pairs)))

    @cached_property
    def _worst(self) -> tuple[Matrix, Vector, Pairs]:
        """Features, the best design, and the pairs whose difference it predicts worst."""
        X = coordinates(self.candidates.model(math.inf)).matrix
        design = best_design(X)
        variances = X @ np.linalg.solve((X * design[:, None]).T @ X, X.T)
        own = np.diag(variances)
        i, j = np.triu_indices(len(X), 1)
        worst = np.argsort(2.0 * variances[i, j] - own[i] - own[j], kind="stable")[:WORST]
        return X, design, np.stack([i[worst], j[worst]], axis=1)


def best_design(X: Matrix) -> Vector:
    """Shares (K,) of the measurements that make the worst of all predictions best.

    By the equivalence theorem its variance is then d over the number of measurements; shares
    are multiplied by how badly an arm is predicted until that is so.

    >>> best_design(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])).round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    K, d = X.shape
    shares = np.full(K, 1.0 / K)
    for _ in range(STEPS):
        V = (X * shares[:, None]).T @ X
        variances = np.einsum("kd,dk->k", X, np.linalg.solve(V, X.T))
        if variances.max() <= (1.0 + ACCURACY) * d:
            break
        shares = shares * variances / d
    return shares


def _samples(evidence: Evidence, level: float) -> int | None:
    """The least number of measurements with so much evidence."""
    high = 1
    while evidence(high) < level:
        high *= 2
        if high > MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if evidence(middle) >= level else (middle, high)
    return high


def _gap(evidence: Evidence, level: float, noise: float) -> float | None:
    """The least gap with so much evidence, to three digits; it grows with the gap."""
    if evidence(0.0) >= level:
        return 0.0
    high = noise
    while evidence(high) < level:
        high *= 2.0
        if high > WIDEST * noise:
            return None
    low = 0.0
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if evidence(middle) >= level else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class FeatureCheck(PlainRecord):
    """What features are worth to a study.

    Attributes
    ----------
    K, d, rank
        Candidates, features, and how many of the features do not follow from others.
    anything_fits
        Whether rank is at least K: any means are linear in the features then, which say nothing.
    leverage, leverage_of
        The largest leverage, and whose it is: the share of its own measurement in a candidate's
        prediction when all are measured equally often. At 1 the others say nothing of it.
    gap, unit
        A plausible distance of two candidates, the noise of one measurement, and what it is called:
        half of the range, where values have one. None where the noise is not known; then the
        numbers of measurements are those for the noise itself, whatever it is.
    samples_without
        Measurements in all to tell any two candidates apart that differ by `gap`, without features.
    samples_linear, samples_with
        The same with features, if means are linear in them, and with the declared misspecification;
        the latter is None where that is not known, or the noise is not. Both are where features
        prove nothing. docs/studies.md says how they are worked out.
    misspecification
        The declared one; infinite where it is not known.
    """

    K: int
    d: int
    rank: int
    anything_fits: bool
    leverage: float
    leverage_of: Label
    gap: float | None
    unit: str
    samples_without: int | None
    samples_linear: int | None
    samples_with: int | None
    misspecification: float

    @property
    def statement(self) -> str:
        """What matters, in a sentence or two."""
        if self.anything_fits:
            return (
                f"the features say nothing: with {self.rank} of them that are independent, any "
                f"means of {self.K} candidates are linear in them; use fewer features"
            )
        if self.gap is None and self.samples_linear is None:
            return (
                "the features help to choose what to measure, and prove nothing: that needs a "
                "noise that is known"
            )
        apart = self.unit if self.gap is None else f"{self.gap:.3g}, {self.unit}"
        words = (
            f"to tell apart two candidates whose means differ by {apart}, it takes about "
            f"{_count(self.samples_without)} measurements in all without the features, "
            f"{_count(self.samples_linear)} if means are linear in them"
        )
        if self.samples_with is not None and self.misspecification > 0.0:
            within = f"to within {self.misspecification:.3g}"
            words += f", {_count(self.samples_with)} if that holds {within}"
        if self.leverage > ALONE:
            words += (
                f". The features say little of {self.leverage_of!r}, which is unlike all others "
                f"(leverage {self.leverage:.2f})"
            )
        return words


def _count(samples: int | None) -> str:
    return "endlessly many" if samples is None else f"{samples:,}"


def check_features(settings: Settings, candidates: Candidates) -> FeatureCheck:
    """What the features of a study are worth."""
    if candidates.features is None:
        raise ProblemError(
            "features_check needs candidates with features: of these nothing is known but what is "
            "measured"
        )
    # As the model takes them: without columns that follow from others, in any unit.
    used = candidates.model(math.inf).features
    basis = np.linalg.qr(used / np.linalg.norm(used, axis=0))[0]
    leverages = np.einsum("kd,kd->k", basis, basis)
    most = int(np.argmax(leverages))
    rank, K = used.shape[1], candidates.K
    prospects = Prospects(settings, candidates)
    gap, declared = prospects.noise, settings.misspecification
    says_something = rank < K
    without = prospects.samples_without(gap)

    def samples(misspecification: float) -> int | None:
        # Of a noise that is not known, no misspecification but 0 is a known number.
        if not prospects.is_known and (misspecification > 0.0 or settings.noise_model == UNKNOWN):
            return None
        return prospects.samples_with(gap, misspecification) if says_something else without

    return FeatureCheck(
        K=K,
        d=candidates.features.shape[1],
        rank=rank,
        anything_fits=not says_something,
        leverage=min(1.0, float(leverages[most])),
        leverage_of=candidates.labels[most],
        gap=gap if prospects.is_known else None,
        unit=prospects.unit,
        samples_without=without,
        samples_linear=samples(0.0),
        samples_with=None if math.isinf(declared) else samples(declared),
        misspecification=declared,
    )


@dataclass(frozen=True, slots=True)
class BudgetCheck(PlainRecord):
    """What a budget can be expected to prove.

    Attributes
    ----------
    budget
        Number of measurements in all.
    gap_without
        The least distance of two means that they can be expected to tell apart, without features;
        None if they are too few for any.
    gap_linear, gap_with
        The same with features, if means are linear in them, and with the declared misspecification.
        None also where there are no features, or the misspecification is not known.
    misspecification
        The declared one; infinite where it is not known.
    noise, unit
        Of a typical candidate, to compare gaps with, and what it is called: half of the range,
        where values have one. None where it is not known, and gaps are multiples of it.
    """

    budget: int
    gap_without: float | None
    gap_linear: float | None
    gap_with: float | None
    misspecification: float
    noise: float | None
    unit: str

    @property
    def statement(self) -> str:
        """All of it in a sentence."""
        if self.gap_without is None and self.gap_linear is None:
            return f"{self.budget:,} measurements are too few to tell any candidates apart"
        words = (
            f"{self.budget:,} measurements can be expected to tell two candidates apart that "
            f"differ by {_apart(self.gap_without)}"
        )
        if self.noise is None:
            return f"{words} times the noise"
        if self.gap_linear is not None:
            words += (
                f" without the features, by {_apart(self.gap_linear)} if means are linear in them"
            )
        if self.gap_with is not None and self.misspecification > 0.0:
            words += f", by {_apart(self.gap_with)} if to within {self.misspecification:.3g}"
        return f"{words}; {self.unit} is {self.noise:.3g}"


def _apart(gap: float | None) -> str:
    return "no gap at all" if gap is None else f"{gap:.3g}"


def check_budget(settings: Settings, candidates: Candidates, budget: int | None) -> BudgetCheck:
    """What so many measurements can be expected to prove."""
    if budget is None:
        raise ProblemError("budget must be given: the study was created without one; got None")
    prospects, declared = Prospects(settings, candidates), settings.misspecification
    featured = candidates.features is not None and settings.is_structured
    return BudgetCheck(
        budget=budget,
        gap_without=prospects.gap_without(budget),
        gap_linear=prospects.gap_with(budget, 0.0) if featured else None,
        gap_with=prospects.gap_with(budget, declared)
        if featured and math.isfinite(declared)
        else None,
        misspecification=declared,
        noise=prospects.noise if prospects.is_known else None,
        unit=prospects.unit,
    )
