"""Rules that measure in phases, in plain NumPy and in the features' own coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mislid.question import Question

Floats = NDArray[np.float64]


def variances(inverse: Floats, features: Floats, pairs: list[tuple[int, int]]) -> Floats:
    """|x_i - x_j|^2 of all pairs."""
    differences = np.array([features[i] - features[j] for i, j in pairs])
    return np.einsum("pa,ab,pb->p", differences, inverse, differences)


def xy_design(
    features: Floats, noise: Floats, candidates: list[int], steps: int
) -> tuple[Floats, float]:
    """Shares (K,) and the largest variance, by Frank-Wolfe with steps 2 / (k + 2)."""
    scaled = features / noise[:, None]
    share = np.full(len(features), 1 / len(features))
    pairs = [(i, j) for j, i in combinations(candidates, 2)]
    pairs.sort()
    for k in range(1, steps + 1):
        inverse = np.linalg.inv(scaled.T @ (share[:, None] * scaled))
        i, j = pairs[int(np.argmax(variances(inverse, features, pairs)))]
        arm = int(np.argmax((scaled @ inverse @ (features[i] - features[j])) ** 2))
        share *= k / (k + 2)
        share[arm] += 2 / (k + 2)
    known = share / noise**2
    share[(share < 1e-5) & (known < 1e-5 * known.sum())] = 0
    share /= share.sum()
    inverse = np.linalg.pinv(scaled.T @ (share[:, None] * scaled), rcond=1e-9, hermitian=True)
    return share, float(np.max(variances(inverse, features, pairs)))


def own_design(noise: Floats, candidates: list[int]) -> tuple[Floats, float]:
    """The same where every arm tells of itself alone."""
    share = np.zeros(len(noise))
    share[candidates] = noise[candidates] ** 2
    loudest = max(candidates, key=lambda k: share[k])
    rest = share.sum() - share[loudest]
    if rest < share[loudest]:
        share[loudest] = math.sqrt(rest * share[loudest])
    share /= share.sum()
    two = sorted(noise[k] ** 2 / share[k] for k in candidates)[-2:]
    return share, float(sum(two))


def apportioned(share: Floats, samples: int) -> Floats:
    """Whole numbers in proportion to the shares (Pukelsheim and Rieder)."""
    arms = np.flatnonzero(share)
    plan = np.ceil((samples - len(arms) / 2) * share)
    while plan.sum() < samples:
        plan[arms[np.argmin(plan[arms] / share[arms])]] += 1
    while plan.sum() > samples:
        plan[arms[np.argmax((plan[arms] - 1) / share[arms])]] -= 1
    return plan


@dataclass
class Estimates:
    """Differences of the arms' means after a phase: estimates, variances and biases (K, K)."""

    means: Floats
    variances: Floats
    biases: Floats


def estimates(question: Question, counts: Floats, sums: Floats, linear: bool) -> Estimates:
    K, noise = question.K, question.noise
    weights = counts / noise**2
    with np.errstate(divide="ignore"):
        own = 1 / weights
    if not linear:
        return Estimates(
            sums / np.maximum(counts, 1), own[:, None] + own[None, :], np.zeros((K, K))
        )
    X = question.model.features
    V = X.T @ (weights[:, None] * X)
    inverse = np.linalg.pinv(V, rcond=1e-9, hermitian=True)
    differences = X[:, None, :] - X[None, :, :]
    effects = np.einsum("ija,ab,kb->ijk", differences, inverse, X) * weights
    ones = np.eye(K)
    biases = np.abs(effects - ones[:, None, :] + ones[None, :, :]).sum(axis=2)
    return Estimates(
        X @ inverse @ (X.T @ (sums / noise**2)),
        np.einsum("ija,ab,ijb->ij", differences, inverse, differences),
        question.model.misspecification * biases,
    )


@dataclass
class PlainPhases:
    """Phases of a rule; subclasses say how long they are."""

    question: Question
    fresh: bool = True
    steps: int = 1000
    number: int = 0
    repeats: int = 0
    accepted: list[int] = field(default_factory=list)
    plan: Floats = field(default_factory=lambda: np.zeros(0))
    known: dict[tuple[int, ...], tuple[Floats, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        K = self.question.K
        self.candidates = list(range(K))
        self.start, self.before = np.zeros(K), np.zeros(K)

    @property
    def unit(self) -> float:
        return float(np.mean(self.question.noise**2))

    @property
    def wanted(self) -> int:
        return self.question.m - len(self.accepted)

    def length(self, before: float) -> float:
        """Design the phase, after so many measurements, and say how many it has."""
        raise NotImplementedError

    def set_level(self, looks: float) -> None:
        """Nats for all pairs at the end of this phase, where phase l counts 1 / l^2."""
        level = math.log(looks * self.question.K**2 * self.number**2 / self.question.delta)
        self.level = 2**self.repeats * level

    def design(self, resolution: Callable[[float], float]) -> float:
        """Set the shares, by the features unless their bias is above what is to be resolved.

        `resolution` says that for a largest variance, which is returned.
        """
        question, noise = self.question, self.question.noise
        self.linear = math.isfinite(question.model.misspecification)
        if self.linear:
            features, arms = question.model.features, tuple(self.candidates)
            if arms not in self.known:
                self.known[arms] = xy_design(features, noise, self.candidates, self.steps)
            self.share, rho = self.known[arms]
            found = estimates(question, self.share, np.zeros(question.K), True)
            inside = np.ix_(self.candidates, self.candidates)
            if found.biases[inside].max() <= resolution(rho):
                return rho
            self.linear = False
        self.share, rho = own_design(noise, self.candidates)
        return rho

    def propose(self, counts: Floats, sums: Floats) -> int:
        """The arm to measure next."""
        if self.number == 0 or self.is_over(counts):
            if self.number > 0:
                self.look(counts, sums)
                if not self.candidates:
                    self.candidates, self.accepted = list(range(self.question.K)), []
                    self.number, self.repeats = 0, self.repeats + 1
            self.number += 1
            samples = math.ceil(max(self.length(counts.sum()), 0.01 * counts.sum()))
            self.plan = apportioned(self.share, samples)
            if not self.fresh:
                self.plan = self.plan + counts
            elif self.number > 1 or self.repeats:
                self.start, self.before = counts.copy(), sums.copy()
        with np.errstate(divide="ignore"):
            behind = (counts - self.start + 0.5) / self.plan
        return int(np.argmin(np.where(self.share > 0, behind, np.inf)))

    def is_over(self, counts: Floats) -> bool:
        return bool(np.all(counts - self.start >= self.plan))

    def decides(self, counts: Floats, sums: Floats) -> bool:
        """Whether the phase is over and the last; asked after a measurement."""
        if not self.is_over(counts):
            return False
        kept = list(self.candidates), list(self.accepted)
        self.look(counts, sums)
        decided = not self.candidates
        if not decided:
            self.candidates, self.accepted = kept
        return decided

    def look(self, counts: Floats, sums: Floats) -> None:
        """Drop and accept."""
        found = estimates(self.question, counts - self.start, sums - self.before, self.linear)
        leads = found.means[:, None] - found.means[None, :]
        widths = np.sqrt(2 * self.level * found.variances) + found.biases
        while True:
            inside = np.ix_(self.candidates, self.candidates)
            ahead = (leads > widths)[inside]
            wanted, left = self.wanted, len(self.candidates)
            lost, won = ahead.sum(axis=0) >= wanted, ahead.sum(axis=1) >= left - wanted
            self.accepted += [k for k, good in zip(self.candidates, won, strict=True) if good]
            keep = [k for k, a, b in zip(self.candidates, lost, won, strict=True) if not (a or b)]
            changed, self.candidates = len(keep) < left, keep
            if self.wanted in (0, len(keep)):
                self.accepted += keep if self.wanted else []
                self.candidates = []
            if not changed or not self.candidates:
                break
        self.tolerate(leads, widths)

    def tolerate(self, leads: Floats, widths: Floats) -> None:
        """Accept the best estimates if none of the others is better by more than the tolerance."""
        tolerance, m = self.question.tolerance, self.wanted
        if not self.candidates or tolerance == 0:
            return
        order = sorted(self.candidates, key=lambda k: -leads[k, 0])
        good, others = order[:m], order[m:]
        if all(leads[j, i] + tolerance > widths[j, i] for i in others for j in good):
            self.accepted += good
            self.candidates = []


class PlainRAGE(PlainPhases):
    def length(self, before: float) -> float:
        resolution = 0.5**self.number * math.sqrt(self.unit)
        self.set_level(2)
        rho = self.design(lambda rho: resolution)
        samples = 2 / resolution**2 * 1.1 * rho * self.level
        return max(samples, 20 * np.count_nonzero(self.share))


class PlainXYAdaptive(PlainPhases):
    shrink: float = 0.1

    def length(self, before: float) -> float:
        d = self.question.model.d
        first = d * (d + 1) + 1
        self.set_level(math.pi**2 / 6)

        def samples(rho: float) -> float:
            return math.sqrt(first * rho / self.unit / self.shrink**self.number)

        rho = self.design(lambda rho: math.sqrt(2 * self.level * rho / max(samples(rho), 1)))
        more = samples(rho) - (0 if self.fresh else before)
        return max(more, 2 * np.count_nonzero(self.share))


class PlainXYStatic(PlainPhases):
    def length(self, before: float) -> float:
        self.fresh = False
        self.set_level(math.pi**2 / 6)
        support = np.count_nonzero(self.share) if self.number > 1 or self.repeats else None

        def resolution(rho: float) -> float:
            arms = np.count_nonzero(self.share) if support is None else support
            samples = before + max(0.1 * before, 2 * arms)
            return math.sqrt(2 * self.level * rho / samples)

        if support is None or self.linear:
            self.design(resolution)
        return max(0.1 * before, 2 * np.count_nonzero(self.share))

    def look(self, counts: Floats, sums: Floats) -> None:
        super().look(counts, sums)
        if self.candidates:
            self.candidates, self.accepted = list(range(self.question.K)), []
