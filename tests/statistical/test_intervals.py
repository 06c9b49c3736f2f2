"""Intervals, refutations and proofs for all misspecifications fail as seldom as they say.

Runs side by side measure what is nearest to failing, to make it fail. There is one feature, so that
everything is in closed form; at the end it is compared with what the package says. The twins need
two nats less evidence, and must be caught.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from mislid import Model
from mislid.stopping.assumptions import Residuals
from mislid.stopping.evidence import (
    DIAGONAL_SHARE,
    Families,
    Family,
    by_two_arms,
    families_of,
)
from mislid.stopping.intervals import ALONE, mean_intervals
from mislid.stopping.pairs import AnswerEvidence, Standing
from statistical.trials import too_often

Floats = NDArray[np.float64]
DELTA, LOWERED = 0.3, 2.0
LEVEL = -math.log(DELTA)
RUNS, ROUNDS = 2_000, 400
# The first is the spanner, so that these are the coordinates of the families.
X = np.array([1.0, 0.8, -0.5])
K = X.size


class Runs(NamedTuple):
    """Counts (= weights) and means (runs, K) of arms with noise 1."""

    counts: Floats
    sums: Floats

    @property
    def means(self) -> Floats:
        return self.sums / np.maximum(self.counts, 1.0)

    def fit(self) -> tuple[Floats, Floats]:
        """V and theta (runs,) of least squares."""
        V = np.maximum(self.counts @ X**2, 1e-300)
        return V, (self.counts * X * self.means).sum(axis=1) / V

    def measure(self, arms: NDArray[np.int64], truth: Floats, rng: np.random.Generator) -> None:
        at = np.arange(len(arms)), arms
        self.counts[at] += 1.0
        self.sums[at] += truth[arms] + rng.standard_normal(len(arms))


def begin(truth: Floats, rng: np.random.Generator) -> Runs:
    """Every arm once."""
    runs = Runs(np.zeros((RUNS, truth.size)), np.zeros((RUNS, truth.size)))
    for arm in range(truth.size):
        runs.measure(np.full(RUNS, arm), truth, rng)
    return runs


def with_share(family: Family, share: float) -> Family:
    logs = family.logs - np.logaddexp.reduce(family.logs) + math.log(share)
    return Family(scales=family.scales, logs=logs)


def single_evidence(family: Family, runs: Runs, truth: Floats) -> Floats:
    """Evidence (runs, K) of single arms against the truth."""
    expected = runs.counts[..., None] * family.scales**2
    q = runs.counts[..., None] * expected / (1.0 + expected)
    rest = (runs.means - truth)[..., None]
    return np.logaddexp.reduce(family.logs + 0.5 * q * rest**2 - 0.5 * np.log1p(expected), axis=-1)


def linear_evidence(family: Family, V: Floats, beyond: Floats, g: Floats) -> Floats:
    """Evidence (runs, n) along the features for functionals with g'theta `beyond` their null."""
    s2, V = family.scales**2, V[:, None, None]
    width = g[:, None] ** 2 * (1.0 / V + 1.0 / (V**2 * s2))
    costs = np.maximum(beyond, 0.0)[..., None] ** 2 / (2.0 * width)
    return np.logaddexp.reduce(family.logs + costs - 0.5 * np.log1p(V * s2), axis=-1)


def bias(runs: Runs, V: Floats, forms: Floats) -> Floats:
    """|c - P'g|_1 (runs, n) of the functionals c (n, K), with g = c'x."""
    shares = (runs.counts * X)[:, None, :] / V[:, None, None] * (forms @ X)[:, None]
    return np.abs(forms - shares).sum(axis=-1)


def interval_evidence(eps: float, runs: Runs, truth: Floats) -> Floats:
    """Evidence (runs, K) against the true means; an interval fails where it reaches the level."""
    families = families_of(K, 1, True, DELTA, np.ones(K))
    if math.isinf(eps):
        return single_evidence(with_share(families.diagonal, 1.0 / K), runs, truth)
    alone = single_evidence(with_share(families.diagonal, ALONE / K), runs, truth)
    V, theta = runs.fit()
    beyond = np.abs(theta[:, None] * X - truth) - eps * bias(runs, V, np.eye(K))
    return np.maximum(
        alone, linear_evidence(with_share(families.linear, 1.0 - ALONE), V, beyond, X)
    )


@pytest.mark.parametrize("eps", [0.0, 0.2, math.inf])
def test_intervals_seldom_fail(eps: float) -> None:
    rng = np.random.default_rng(51)
    truth = 0.7 * X + min(eps, 1.0) * np.array([1.0, -1.0, 1.0])
    runs = begin(truth, rng)
    ours, twins = np.zeros((2, RUNS), dtype=bool)
    for _ in range(ROUNDS):
        found = interval_evidence(eps, runs, truth)
        ours |= found.max(axis=1) >= LEVEL
        twins |= found.max(axis=1) >= LEVEL - LOWERED
        runs.measure(np.argmax(found, axis=1), truth, rng)
    assert ours.any()
    assert not too_often(int(ours.sum()), RUNS, DELTA)
    assert too_often(int(twins.sum()), RUNS, DELTA)
    found, model = interval_evidence(eps, runs, truth), Model(X[:, None], eps)
    for run in range(200):
        ends = mean_intervals(model, runs.counts[run], runs.means[run], np.ones(K), DELTA)
        outside = (truth < ends[:, 0]) | (truth > ends[:, 1])
        np.testing.assert_array_equal(outside, found[run] >= LEVEL)


def refutation(x: Floats, runs: Runs) -> Floats:
    """Evidence (runs,) against all linear means, by the diagonal family at its share in M."""
    family = families_of(x.size, 1, True, DELTA, np.ones(x.size)).diagonal
    expected = runs.counts[..., None] * family.scales**2
    q, y, x = (
        runs.counts[..., None] * expected / (1.0 + expected),
        runs.means[..., None],
        x[:, None],
    )
    fit = (q * x * y).sum(axis=1) / (q * x**2).sum(axis=1)
    cost = 0.5 * (q * (y - x * fit[:, None, :]) ** 2).sum(axis=1)
    return np.logaddexp.reduce(family.logs + cost - 0.5 * np.log1p(expected).sum(axis=1), axis=-1)


def test_the_true_deviation_is_seldom_refuted() -> None:
    """It has the share of its family in M: of all failures, at most that part."""
    rng = np.random.default_rng(52)
    # The fit hides all of the first arm and nothing of the second, which is measured from then on.
    x = np.array([1.0, 0.0])
    truth = 0.7 * x
    runs = begin(truth, rng)
    ours, twins = np.zeros((2, RUNS), dtype=bool)
    for _ in range(ROUNDS):
        found = refutation(x, runs)
        ours |= found > LEVEL
        twins |= found > LEVEL - 1.5 * LOWERED
        runs.measure(np.ones(RUNS, dtype=np.int64), truth, rng)
    rate = DIAGONAL_SHARE * DELTA
    assert not too_often(int(ours.sum()), RUNS, rate)
    assert too_often(int(twins.sum()), RUNS, rate)
    found, model = refutation(x, runs), Model(x[:, None], 0.0)
    for run in range(0, RUNS, 40):
        seen = Residuals.of(model, runs.counts[run], runs.means[run], np.ones(x.size))
        assert seen.log_evidence(0.0) == pytest.approx(found[run], abs=1e-6)
        assert (seen.least(DELTA) > 0.0) == (found[run] > LEVEL)


def wrong_evidence(families: Families, eps: float, runs: Runs, truth: Floats) -> Floats:
    """Evidence (runs, K - 1) that others beat arm 0, which is the best: by any family.

    That of the diagonal one is the evidence against the truth itself, which is at least as much.
    """
    w, y = runs.counts, runs.means
    alone = np.stack(
        [by_two_arms(families.two_arms, y[:, j] - y[:, 0], w[:, 0], w[:, j]) for j in range(1, K)],
        axis=1,
    )
    forms = np.eye(K)[1:] - np.eye(K)[0]
    V, theta = runs.fit()
    beyond = theta[:, None] * (forms @ X) - eps * bias(runs, V, forms)
    along = linear_evidence(families.linear, V, beyond, forms @ X)
    expected = w[..., None] * families.diagonal.scales**2
    terms = 0.5 * w[..., None] * expected / (1.0 + expected) * (y - truth)[..., None] ** 2
    terms -= 0.5 * np.log1p(expected)
    diagonal = np.logaddexp.reduce(families.diagonal.logs + terms.sum(axis=1), axis=-1)
    return np.maximum(np.maximum(alone, along), diagonal[:, None])


@pytest.mark.parametrize("eps", [0.0, 0.2])
def test_what_is_proved_at_a_misspecification_that_holds_is_right(eps: float) -> None:
    """All arms are as good as level, so that a proof against the first is a mistake.

    Larger misspecifications prove less, so that the smallest that holds is the hardest.
    """
    rng = np.random.default_rng(53)
    families = families_of(K, 1, math.isfinite(eps), DELTA, np.ones(K))
    # As far from linear as allowed, in the direction that lifts the others in a fit.
    truth = np.full(K, eps)
    runs = begin(truth, rng)
    ours, twins = np.zeros((2, RUNS), dtype=bool)
    for _ in range(ROUNDS):
        found = wrong_evidence(families, eps, runs, truth)
        ours |= found.max(axis=1) >= LEVEL
        twins |= found.max(axis=1) >= LEVEL - LOWERED
        rival = 1 + np.argmax(found, axis=1)
        fewer = runs.counts[np.arange(RUNS), rival] <= runs.counts[:, 0]
        runs.measure(np.where(fewer, rival, 0), truth, rng)
    assert ours.any()
    assert not too_often(int(ours.sum()), RUNS, DELTA)
    assert too_often(int(twins.sum()), RUNS, DELTA)
    found, model = wrong_evidence(families, eps, runs, truth), Model(X[:, None], eps)
    for run in np.argsort(-found.max(axis=1))[:100]:
        data = Standing(model, families, 0.0, runs.counts[run], runs.means[run])
        for arm in range(1, K):
            reach = AnswerEvidence(data, (arm,)).reach(LEVEL)
            if reach is not None and reach >= eps:
                assert found[run, arm - 1] >= LEVEL
