"""The event behind proofs where arms share a noise that is not known, and what breaks it.

M(mu) at the true means and the true standard deviation is watched at every time, as in
`test_noise`, for samplers that try to bring it to 1/delta; one of them measures again what is near
its true mean, which makes values scatter too little around the means of their arms. The twins put
in an estimated standard deviation, count degrees of freedom as if the arms had been chosen
beforehand, or have arms of unequal noise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln

from mislid import Model
from mislid.engine import Engine
from mislid.question import Question
from mislid.simulation.environments import Gaussian
from mislid.simulation.identify import STOPPED_RUN, Run
from mislid.stopping.equal import SHARES, TILTS, Spread, volume
from mislid.stopping.evidence import SPREAD, families_of
from statistical import test_noise
from statistical.samplers import SAMPLERS, Sampler, Watched, adversary, blind
from statistical.trials import too_often

Floats = NDArray[np.float64]
DELTA, RUNS, SAMPLES, SIGMA = 0.3, 400, 150, 2.0
MEANS = np.array([0.4, 0.2, 0.2, 0.0])  # best first, m = 2


class Side(test_noise.Watched):
    """Many runs side by side, all arms with the same noise; two are to be found."""

    def __init__(self, means: Floats, runs: int) -> None:
        super().__init__(means, 2, runs)

    @property
    def weights(self) -> Floats:
        """Counts over variances."""
        weights: Floats = self.counts / SIGMA**2
        return weights

    def measure(self, arms: NDArray[np.int64], rng: np.random.Generator) -> None:
        rows = np.arange(len(arms))
        values = self.means[arms] + SIGMA * rng.normal(size=arms.size)
        n, S = self.counts[rows, arms], self.sums[rows, arms]
        away = values - S / np.maximum(n, 1)
        self.scatter[rows, arms] += n / (n + 1) * away**2
        self.counts[rows, arms] += 1
        self.sums[rows, arms] += values


def calm(watched: Watched, rng: np.random.Generator) -> NDArray[np.int64]:
    """What was measured and is near its true mean, or for a change another."""
    away = np.where(watched.counts > 0, watched.weights * watched.missed**2, 0.2)
    found = np.argmin(away, axis=1)
    return np.where(rng.random(len(found)) < 0.1, blind(watched, rng), found)


def volumes(counts: Floats, h: float, free: bool = False) -> Floats:
    """L(h) of every run; `free` counts a degree of freedom for every value but an arm's first."""
    if free:
        found: Floats = np.maximum(counts - 1, 0).sum(axis=1) * math.log1p(h)
        return found
    eta = h / (1 + h)
    parts = counts * math.log1p(h) + gammaln(counts + 1 - eta) - gammaln(counts + 1)
    total: Floats = np.sum(parts - math.lgamma(1 - eta), axis=1)
    return total


def log_process(side: Side, h: float, free: bool = False) -> Floats:
    """ln S_h at the true standard deviation."""
    total = side.scatter.sum(axis=1)
    found: Floats = 0.5 * volumes(side.counts, h, free) - 0.5 * h * total / SIGMA**2
    return found


def log_truth(side: Side, plugged: bool = False) -> Floats:
    """ln M(mu) by two arms: the average over pairs of the true answer, with all tilts.

    `plugged` puts in the estimated standard deviation and leaves out the tilts.
    """
    K = side.means.size
    family = families_of(K, side.m, False, DELTA, np.ones(K)).two_arms
    total = np.full(len(side.counts), -math.inf)
    n, sigma = side.counts, np.full(len(side.counts), SIGMA)
    if plugged:
        freedom = np.maximum(n - 1, 0).sum(axis=1)
        sigma = np.where(freedom > 0, np.sqrt(side.scatter.sum(axis=1) / (freedom + 1e-9)), np.inf)
    r = side.missed / sigma[:, None]
    for s, log in zip(family.scales.tolist(), family.logs.tolist(), strict=True):
        precision = 1 / (SPREAD * s) ** 2
        up, down = (
            (n * sign * r + s * precision) ** 2 / (2 * (n + precision))
            - s**2 * precision / 2
            - 0.5 * np.log1p(n / precision)
            for sign in (1, -1)
        )
        means = side.by_pairs(up, down)  # which gives the pairs their share
        tilted = [
            math.log(share) + log_process(side, tilt / K * s**2)
            for tilt, share in zip(TILTS, SHARES, strict=True)
            if not plugged or tilt == 0.0
        ]
        share = log - family.total
        total = np.logaddexp(total, share + means + np.logaddexp.reduce(tilted))
    return total


def reached(sampler: Sampler, delta: float = DELTA, plugged: bool = False) -> int:
    """In how many runs M(mu) ever reaches 1/delta."""
    rng, side = np.random.default_rng([3, len(sampler.__name__)]), Side(MEANS, RUNS)
    ever = np.zeros(RUNS, bool)
    for _ in range(SAMPLES):
        side.measure(sampler(side, rng), rng)
        ever |= log_truth(side, plugged) >= -math.log(delta)
    return int(ever.sum())


def test_the_process_is_that_of_the_rules() -> None:
    rng, side = np.random.default_rng(0), Side(MEANS, 3)
    for _ in range(50):
        side.measure(blind(side, rng), rng)
    for run in range(3):
        own = Spread(side.counts[run], side.scatter[run])
        assert volumes(side.counts, 0.3)[run] == pytest.approx(volume(own.counts, 0.3))


@pytest.mark.parametrize("sampler", [*SAMPLERS.values(), calm])
def test_the_truth_is_seldom_refuted(sampler: Sampler) -> None:
    assert not too_often(reached(sampler), RUNS, DELTA)


def test_an_estimated_noise_is_caught() -> None:
    assert too_often(reached(adversary, delta=0.01, plugged=True), RUNS, 0.01)
    assert not too_often(reached(adversary, delta=0.01), RUNS, 0.01)


@pytest.mark.parametrize(("free", "caught"), [(False, False), (True, True)])
def test_degrees_of_freedom_are_fewer_than_they_seem(free: bool, caught: bool) -> None:
    """Arms are measured again only if their first value was near the mean."""
    rng, side, h, delta = np.random.default_rng(1), Side(np.zeros(60), RUNS), 1.0, 0.05
    ever = np.zeros(RUNS, bool)
    for arm in range(60):
        side.measure(np.full(RUNS, arm), rng)
        near = np.abs(side.missed[:, arm]) < 0.5 * SIGMA
        kept = side.counts.copy(), side.sums.copy(), side.scatter.copy()
        side.measure(np.full(RUNS, arm), rng)
        for now, before in zip((side.counts, side.sums, side.scatter), kept, strict=True):
            now[~near] = before[~near]
        ever |= log_process(side, h, free) >= -math.log(delta)
    assert too_often(int(ever.sum()), RUNS, delta) is caught


def wrong_answers(quiet: float, delta: float, runs: int) -> int:
    """One of two arms is a little better than the other; ten with another noise are far behind."""
    source = Gaussian([0.002, 0.0, *[-2.0] * 10], [1.0, 1.0, *[quiet] * 10])
    question = Question(Model(np.eye(12), math.inf), 1, noise="unknown-equal", delta=delta)
    wrong = 0
    for number in range(runs):
        root = np.random.SeedSequence(7, spawn_key=(number,))
        engine = Engine(question, "uniform", seed=root)
        stopped = Run(engine, source, root).go(2_000) == STOPPED_RUN
        wrong += stopped and engine.incumbents != (0,)
    return wrong


@pytest.mark.parametrize(
    ("quiet", "delta", "caught"), [(1.0, DELTA, False), (1.0, 0.05, False), (0.1, 0.05, True)]
)
def test_answers_are_seldom_wrong_unless_noise_is_unequal(
    quiet: float, delta: float, caught: bool
) -> None:
    """Arms with little noise make it look small."""
    assert too_often(wrong_answers(quiet, delta, 200), 200, delta) is caught
