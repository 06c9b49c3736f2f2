"""The event behind proofs of unknown noise: M(mu) at the true means reaches 1/delta at some time.

As in `test_evidence`: watched at every time, for samplers that try to bring it about. M(mu) is the
average over pairs of E+ of an arm outside the true answer times E- of one inside; the true
variances are put in, where a proof takes the infimum over all. The twins take less evidence for
enough, put in estimated variances, or pay half of what empirical tilts cost.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import t as student

from mislid import Model
from mislid.engine import Engine
from mislid.question import Question
from mislid.simulation.environments import Bernoulli, Bounded, Gaussian
from mislid.simulation.identify import STOPPED_RUN, Run
from mislid.stopping.bounded_noise import Tilts, tilts_of
from mislid.stopping.unknown_noise import TWO_SIDED, shifts
from statistical.samplers import SAMPLERS, Sampler, adversary
from statistical.trials import too_often

Floats = NDArray[np.float64]
DELTA, RUNS, SAMPLES = 0.3, 400, 150


class Watched:
    """Many runs side by side: counts, sums and scatter (R, K) of true means (K,), best first."""

    def __init__(self, means: Floats, m: int, runs: int) -> None:
        self.means, self.m = means, m
        self.counts, self.sums, self.scatter = np.zeros((3, runs, means.size))

    @property
    def missed(self) -> Floats:
        """Empirical means less the true ones, 0 before the first measurement."""
        averages = self.sums / np.maximum(self.counts, 1.0)
        return np.where(self.counts > 0, averages - self.means, 0.0)

    @property
    def weights(self) -> Floats:
        """Counts over variances of the values so far."""
        weights: Floats = self.counts**2 / (self.scatter + 0.1)
        return weights

    def by_pairs(self, up: Floats, down: Floats) -> Floats:
        """ln M(mu) from ln E+ and ln E- of every arm (R, K)."""
        m, pairs = self.m, self.m * (self.means.size - self.m)
        pair = up[:, m:, None] + down[:, None, :m]
        found: Floats = np.logaddexp.reduce(pair.reshape(len(pair), -1), axis=1) - math.log(pairs)
        return found


def gaussian_logs(watched: Watched, sigma: Floats, plugged: bool = False) -> Floats:
    """ln M(mu) at the true standard deviations (K,), or at those that were estimated."""
    given = shifts()
    n, r = watched.counts[:, :, None], watched.missed[:, :, None]
    SS = watched.scatter[:, :, None]
    theta = np.broadcast_to(1 / sigma[:, None] ** 2, SS.shape)
    if plugged:
        theta = np.where(n > 1, (n - 1) / np.maximum(SS, 1e-12), theta)
    rho, alpha = given.rhos, given.alphas
    a, q = alpha + n / 2, 1 + n * rho**2
    less = SS + n * r**2 / q
    rate = alpha + theta * less / 2
    logs = gammaln(a) - gammaln(alpha) + alpha * np.log(alpha) - 0.5 * np.log(q)
    logs = logs - a * np.log(rate) + theta * (SS + n * r**2) / 2 + given.logs
    t = r * np.sqrt(n * (1 - 1 / q)) * np.sqrt(a * theta / rate)
    sides = [
        np.logaddexp.reduce(
            logs + np.log(TWO_SIDED + (1 - TWO_SIDED) * 2 * student.cdf(sign * t, 2 * a)), axis=2
        )
        for sign in (1, -1)
    ]
    return watched.by_pairs(*sides)


def tilted_logs(watched: Watched, tilts: Tilts, price: float = 1.0) -> Floats:
    """ln M(mu) of values in [0, 1]; empirical tilts pay this part of what they should."""
    sides = []
    for sign in (1.0, -1.0):
        b, exact = sign * tilts.sizes, tilts.exact
        n, S = watched.counts[:, :, None], watched.sums[:, :, None]
        x = watched.means[:, None]
        plain = b[:exact] * S - n * np.log1p(x * np.expm1(b[:exact]))
        rest = b[exact:] * (S - n * x) - price * tilts.prices[exact:] * watched.scatter[:, :, None]
        logs = np.concatenate([plain, rest], axis=2) + tilts.logs
        sides.append(np.logaddexp.reduce(logs, axis=2))
    return watched.by_pairs(*sides)


SIGMA = np.array([1.0, 0.2, 3.0, 1.0])
# True means, best first, and how values of arms come about.
CASES = {
    "gaussian": (np.array([0.2, 0.1, 0.1, 0.0]), "unknown"),
    "rates": (np.array([0.06, 0.05, 0.05, 0.03]), "bernoulli"),
    "even": (np.array([0.5, 0.5, 0.5, 0.5]), "bernoulli"),
    "ends": (np.array([0.06, 0.05, 0.05, 0.03]), "bounded"),
    "beta": (np.array([0.6, 0.5, 0.5, 0.4]), "bounded"),
    "coins": (np.array([0.5, 0.5]), "bounded"),
}


def drawn(name: str, means: Floats, arms: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    x = means[arms]
    if name == "gaussian":
        return x + SIGMA[arms] * rng.normal(size=arms.size)
    if name == "beta":
        return rng.beta(0.4 * x, 0.4 * (1 - x))
    return (rng.random(arms.size) < x).astype(float)


def reached(
    name: str,
    sampler: Sampler,
    runs: int,
    less: float = 0.0,
    plugged: bool = False,
    price: float = 1.0,
    delta: float = DELTA,
) -> int:
    """In how many runs M(mu) ever reaches 1/delta, or so many nats less."""
    means, model = CASES[name]
    rng = np.random.default_rng([sum(map(ord, name + sampler.__name__)), runs])
    watched, rows = Watched(means, means.size // 2, runs), np.arange(runs)
    ever = np.zeros(runs, bool)
    tilts = tilts_of("bounded" if model == "unknown" else model)
    for _ in range(SAMPLES):
        arms = sampler(watched, rng)
        values = drawn(name, means, arms, rng)
        n, S = watched.counts[rows, arms], watched.sums[rows, arms]
        if model == "unknown":
            away = values - S / np.maximum(n, 1)
            watched.scatter[rows, arms] += n / (n + 1) * away**2
        else:
            watched.scatter[rows, arms] += (values - (0.5 + S) / (n + 1)) ** 2
        watched.counts[rows, arms] += 1
        watched.sums[rows, arms] += values
        if model == "unknown":
            logs = gaussian_logs(watched, SIGMA, plugged)
        else:
            logs = tilted_logs(watched, tilts, price)
        ever |= logs >= -math.log(delta) - less
    return int(ever.sum())


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_seldom_refuted(name: str, sampler: str) -> None:
    assert not too_often(reached(name, SAMPLERS[sampler], RUNS), RUNS, DELTA)


@pytest.mark.parametrize("name", ["gaussian", "even", "coins"])
def test_less_evidence_is_caught(name: str) -> None:
    assert too_often(reached(name, adversary, RUNS, less=2.0, delta=0.05), RUNS, 0.05)


def test_estimated_variances_are_caught() -> None:
    assert too_often(reached("gaussian", adversary, RUNS, plugged=True), RUNS, DELTA)


@pytest.mark.parametrize(("price", "caught"), [(1.0, False), (0.5, True)])
def test_half_the_price_is_caught(price: float, caught: bool) -> None:
    """One small empirical tilt and coins, for long: the mixture of tilts would hide it."""
    rng, steps, b, delta = np.random.default_rng(11), 6000, 0.08, 0.05
    values = rng.integers(0, 2, size=(RUNS, steps)).astype(float)
    before = np.cumsum(values, axis=1) - values
    guesses = (0.5 + before) / (np.arange(steps) + 1)
    psi = -math.log1p(-b) - b
    logs = np.cumsum(b * (values - 0.5) - price * psi * (values - guesses) ** 2, axis=1)
    reached_it = int(np.sum(logs.max(axis=1) >= -math.log(delta)))
    assert too_often(reached_it, RUNS, delta) is caught


HARD = {
    "unknown": (Gaussian([0.06, 0.0, 0.0], [1.0, 0.3, 2.0]), {"noise": "unknown"}),
    "bernoulli": (Bernoulli([0.11, 0.1, 0.1]), {"noise": "bernoulli"}),
    "bounded": (Bounded([0.11, 0.1, 0.1], concentration=1.0), {"noise": (0, 1)}),
}


@pytest.mark.parametrize("name", HARD)
def test_answers_are_seldom_wrong(name: str) -> None:
    source, told = HARD[name]
    question = Question(Model(np.eye(3), math.inf), 1, delta=DELTA, **told)
    wrong, runs = 0, 200
    for number in range(runs):
        root = np.random.SeedSequence(7, spawn_key=(number,))
        engine = Engine(question, ("mislid", "uniform", "lucb")[number % 3], seed=root)
        stopped = Run(engine, source, root).go(1500) == STOPPED_RUN
        wrong += stopped and engine.incumbents != (0,)
    assert not too_often(wrong, runs, DELTA)
