"""What a number of measurements can be expected to prove, before there are any.

A rough plan in closed form, by the evidence of the rule `guaranteed`: measurements are spread
evenly, or over a design that makes the features' worst prediction as good as possible, and the
empirical gap of two candidates is taken to be the true one. A study chooses better than that as it
learns what is near the border, and noise helps or hinders: numbers are for comparing, no promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry.coordinates import coordinates
from mislid.rules.evidence import Families, LinearForms, by_two_arms, families_of
from mislid.rules.noise import UNDECLARED
from mislid.study.candidates import Candidates
from mislid.study.settings import Settings

# Pairs, those that the features tell apart worst, whose evidence is looked at.
WORST = 200
# How near a design's worst prediction is to the best possible, relatively, and steps to get there.
ACCURACY, STEPS = 0.02, 2_000
# Numbers of measurements beyond this, and gaps beyond this many times the noise, are not looked at.
MOST, WIDEST = 1e15, 1e9

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
        if math.isinf(misspecification) or samples < len(self._forms.precisions):
            return -math.inf
        family, forms = self._families(structured=True).linear, self._forms
        precisions, squares = samples / self.noise**2 * forms.precisions, family.scales**2
        rate = self.noise**2 / samples
        seen = LinearForms(
            values=np.zeros_like(forms.biases),
            biases=forms.biases,
            variances=rate * forms.widths[:, None] + rate**2 * forms.bends[:, None] / squares,
            logs=family.logs - 0.5 * np.log1p(np.outer(squares, precisions)).sum(axis=1),
            scales=(family.scales, len(precisions)),
        )
        beyond = gap + self.settings.tolerance - misspecification * seen.biases
        return float(np.min(seen.evidence(beyond)))

    @cached_property
    def _forms(self) -> _Forms:
        """The pairs whose difference the best design predicts worst."""
        X = coordinates(self.candidates.model(math.inf)).matrix
        design = best_design(X)
        V = (X * design[:, None]).T @ X
        along: Matrix = np.linalg.solve(V, X.T).T.astype(np.float64)
        spread = X @ along.T
        own = np.diag(spread)
        i, j = np.triu_indices(len(X), 1)
        widths = own[i] + own[j] - 2.0 * spread[i, j]
        worst = np.argsort(-widths, kind="stable")[:WORST]
        i, j, differences = i[worst], j[worst], along[i[worst]] - along[j[worst]]
        rest = -differences @ (X * design[:, None]).T
        rows = np.arange(len(worst))
        rest[rows, i] += 1.0
        rest[rows, j] -= 1.0
        return _Forms(
            widths=widths[worst],
            bends=np.einsum("nd,nd->n", differences, differences),
            biases=np.abs(rest).sum(axis=1),
            precisions=np.linalg.eigvalsh(V).astype(np.float64),
        )


class _Forms(NamedTuple):
    """Pairs of candidates as a design sees them: what `LinearForms` has, for one measurement.

    `precisions` are the eigenvalues of the information (d,).
    """

    widths: Vector
    bends: Vector
    biases: Vector
    precisions: Vector


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
