"""Planning: sample sizes and detectable gaps, before any measurement.

The calculation is in closed form and rough. It uses the evidence of the stopping rule `guaranteed`,
spreads the measurements evenly or over a G-optimal design, and takes the empirical gap between two
candidates to be the true gap. An adaptive study usually needs fewer measurements, and noise changes
the number either way: use these numbers to compare plans.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import Pairs, by_features, by_two_arms, families_of
from mislid.stopping.noise import UNDECLARED
from mislid.study.candidates import Candidates
from mislid.study.results import PlainRecord
from mislid.study.settings import UNKNOWN, Settings

T = TypeVar("T", int, float)
# Number of pairs whose evidence is computed: those that the features distinguish worst.
WORST = 200
# Relative accuracy of a design's largest prediction variance, and the most iterations.
ACCURACY, STEPS = 0.02, 2_000
# The most measurements, and a geometric grid of gaps in units of the noise.
MOST, GAPS = 10**15, 1.0001 ** np.arange(-200_000, 200_000)


class Expected:
    """Expected evidence for two candidates that differ by a given gap.

    A misspecification of None means a study without features.
    """

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        self.settings, self.candidates = settings, candidates
        # The noise of a typical candidate, as in the stopping rule: half of the range for bounded
        # values, 1 if it is unknown.
        self.noise = math.exp(float(np.mean(np.log(settings.deviations(candidates.K)))))
        self.is_known = settings.noise_model not in UNDECLARED

    def samples(self, gap: float, misspecification: float | None = None) -> int | None:
        """Number of measurements that prove a gap; None if no number does."""
        return _first(range(1, MOST), lambda n: self._is_enough(gap, n, misspecification))

    def gap(self, samples: int, misspecification: float | None = None) -> float | None:
        """The smallest gap that the given number of measurements proves; None if no gap."""
        gaps = [0.0, *(self.noise * GAPS).tolist()]
        return _first(gaps, lambda gap: self._is_enough(gap, samples, misspecification))

    def _is_enough(self, gap: float, samples: int, misspecification: float | None) -> bool:
        settings, K, structured = self.settings, self.candidates.K, misspecification is not None
        noise, beyond = np.full(K, self.noise), gap + settings.tolerance
        families = families_of(K, settings.m, structured, settings.delta, noise)
        if samples >= K:
            weight = np.array([samples / (K * self.noise**2)])
            own = by_two_arms(families.two_arms, np.array([beyond]), weight, weight)
            if own[0] >= families.level:
                return True
        if misspecification is None:
            return False
        X, design, pairs = self._worst
        if samples < X.shape[1]:
            return False
        data = samples / self.noise**2 * design, np.zeros(K), misspecification, beyond
        return bool(np.min(by_features(families.linear, X, *data, pairs)) >= families.level)

    @cached_property
    def _worst(self) -> tuple[Matrix, Vector, Pairs]:
        """Features, their G-optimal design, and the pairs whose difference it predicts worst."""
        X = coordinates(self.candidates.model(math.inf)).matrix
        design = best_design(X)
        variances = X @ np.linalg.solve((X * design[:, None]).T @ X, X.T)
        own = np.diag(variances)
        i, j = np.triu_indices(len(X), 1)
        worst = np.argsort(2.0 * variances[i, j] - own[i] - own[j], kind="stable")[:WORST]
        return X, design, np.stack([i[worst], j[worst]], axis=1)


def best_design(X: Matrix) -> Vector:
    """Shares (K,) of a G-optimal design, which minimizes the largest prediction variance.

    By the equivalence theorem, the optimum of the largest prediction variance is d over the number
    of measurements. Multiplicative updates by the arms' variances converge to it.

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


def _first(numbers: Sequence[T], enough: Callable[[T], bool]) -> T | None:
    """The smallest of increasing numbers that is enough; None if none is.

    >>> _first(range(100), lambda n: n > 10)
    11
    """
    found = bisect_left(numbers, True, key=enough)
    return numbers[found] if found < len(numbers) else None


@dataclass(frozen=True, slots=True)
class Expectation(PlainRecord):
    """Expected sample sizes (`features_check`) or detectable gaps (`budget_check`).

    Attributes
    ----------
    without
        Without features: the total number of measurements that distinguishes any two candidates
        whose means differ by the noise, or the smallest gap that a budget can be expected to prove.
    linear, declared
        The same with features, if the means are linear in them, and with the declared
        misspecification. `declared` is None if the misspecification or the noise is unknown. Both
        are None if features prove nothing.
    misspecification
        The declared misspecification; infinite if unknown.
    noise
        The noise of a typical candidate. None if it is unknown; gaps are then multiples of it.
    statement
        A summary in a sentence.
    """

    without: float | None
    linear: float | None
    declared: float | None
    misspecification: float
    noise: float | None
    statement: str


def check_features(settings: Settings, candidates: Candidates) -> Expectation:
    """Expected sample sizes with and without the features."""
    if candidates.features is None:
        raise ProblemError(
            "features_check needs candidates with features: of these nothing is known but what is "
            "measured"
        )
    # The model drops columns that depend linearly on others.
    rank, eps = candidates.model(math.inf).features.shape[1], settings.misspecification
    expected = Expected(settings, candidates)
    without = expected.samples(expected.noise)

    def samples(eps: float) -> int | None:
        # In units of an unknown noise, only a misspecification of 0 has a known value.
        without_unit = eps > 0.0 and not expected.is_known
        if settings.noise_model == UNKNOWN or math.isinf(eps) or without_unit:
            return None
        return expected.samples(expected.noise, eps) if rank < candidates.K else without

    noise = expected.noise if expected.is_known else None
    numbers = without, samples(0.0), samples(eps)
    if rank >= candidates.K:
        words = (
            f"the features say nothing: with {rank} of them that are independent, any means of "
            f"{candidates.K} candidates are linear in them; use fewer features"
        )
    elif settings.noise_model == UNKNOWN:
        words = (
            "the features prove nothing: that needs a noise other than 'unknown', such as "
            "'unknown-equal'"
        )
    else:
        apart = "the noise" if noise is None else f"{noise:.3g}, the noise"
        shown = ["infinitely many" if n is None else f"{n:,}" for n in numbers]
        words = (
            f"to tell apart two candidates whose means differ by {apart}, it takes about "
            f"{shown[0]} measurements in all{_with_features(shown, numbers, eps)}"
        )
    return Expectation(*numbers, eps, noise, words)


def check_budget(settings: Settings, candidates: Candidates, budget: int | None) -> Expectation:
    """The smallest gaps that a budget can be expected to prove."""
    if budget is None:
        raise ProblemError("budget must be given: the study was created without one; got None")
    expected, eps = Expected(settings, candidates), settings.misspecification
    is_featured = candidates.features is not None and settings.is_structured
    noise = expected.noise if expected.is_known else None
    gaps = (
        expected.gap(budget),
        expected.gap(budget, 0.0) if is_featured else None,
        expected.gap(budget, eps) if is_featured and math.isfinite(eps) else None,
    )
    if gaps[0] is None and gaps[1] is None:
        words = f"{budget:,} measurements are too few to tell any candidates apart"
        return Expectation(*gaps, eps, noise, words)
    shown = ["no gap at all" if gap is None else f"{gap:.3g}" for gap in gaps]
    unit = "times the noise, " if noise is None else ""
    words = (
        f"{budget:,} measurements can be expected to tell two candidates apart that differ by "
        f"{unit}{shown[0]}{_with_features(shown, gaps, eps)}"
    )
    words += "" if noise is None else f"; the noise is {noise:.3g}"
    return Expectation(*gaps, eps, noise, words)


def _with_features(shown: Sequence[str], numbers: Sequence[float | None], eps: float) -> str:
    """The end of a statement: the numbers with features."""
    words = ""
    if numbers[1] is not None:
        words += f" without the features, {shown[1]} if means are linear in them"
    if numbers[2] is not None and eps > 0.0:
        words += f", {shown[2]} if that holds to within {eps:.3g}"
    return words
