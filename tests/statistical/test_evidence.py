"""The event behind the proof: M(mu) at the true means reaches 1/delta at some time.

It has probability at most delta, whatever rule chooses the arms. Here it is watched itself, at
every time, for samplers that try to bring it about; answers that are wrong are rarer by far. Twins
that take less evidence for enough, or choose displacements after the data, are found out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from mislid import Instance, Model
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs, top_arms
from mislid.stopping.evidence import SPREAD, families_of
from statistical.hard import HARD
from statistical.samplers import SAMPLERS, Sampler, adversary
from statistical.trials import too_often

Floats = NDArray[np.float64]
DELTA, RUNS, SAMPLES = 0.3, 500, 120


def shifted() -> Instance:
    """Means at a level of ten thousand noise units, with good features."""
    rng = np.random.default_rng(5)
    features = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    means = 1e4 + features @ [0.0, 0.5, -0.3] + 0.02 * rng.uniform(-1, 1, size=20)
    return Instance(Model(features, 0.02), means)


def two_arms() -> Instance:
    return Instance(Model([[1.0], [0.9]], 0.2), [0.1, 0.0], noise=[1.0, 2.0])


INSTANCES = {
    **{name: (hard.instance, hard.m) for name, hard in HARD.items()},
    "far from zero": (shifted(), 3),
    "two arms": (two_arms(), 1),
}


class Watched(NamedTuple):
    """Many runs side by side: their data (R, K), and what M(mu) is made of."""

    instance: Instance
    m: int
    counts: Floats
    sums: Floats

    @property
    def weights(self) -> Floats:
        return self.counts / self.instance.noise**2

    @property
    def missed(self) -> Floats:
        """Empirical means less the true ones, 0 before the first measurement."""
        means = self.sums / np.maximum(self.counts, 1.0)
        return np.where(self.counts > 0, means - self.instance.means, 0.0)

    def terms(self) -> Floats:
        """ln of every weighted term of M(mu), (R, terms)."""
        instance, w, r = self.instance, self.weights, self.missed
        eps = instance.model.misspecification
        found = families_of(instance.K, self.m, math.isfinite(eps), DELTA, instance.noise)
        parts = [self._by_two_arms(found.two_arms, w, r)]
        if math.isfinite(eps):
            parts += [self._along(found.linear, w, r), self._all_arms(found.diagonal, w, r)]
        return np.concatenate(parts, axis=1)

    def _by_two_arms(self, family, w: Floats, r: Floats) -> Floats:
        """Down for arms of the true answer, up for the others."""
        best = top_arms(self.instance.means, self.m)
        outside, inside = all_pairs(self.instance.K, best).T
        s, t2 = family.scales, (SPREAD * family.scales) ** 2
        w, r = w[:, :, None], r[:, :, None]
        sign = np.where(np.isin(np.arange(self.instance.K), best), -1.0, 1.0)[:, None]
        slope = w * r + sign * s / t2
        logs = slope**2 / (2 * (w + 1 / t2)) - s**2 / (2 * t2) - 0.5 * np.log1p(w * t2)
        pairs = logs[:, outside] + logs[:, inside] + family.logs
        return pairs.reshape(len(pairs), -1)

    def _along(self, family, w: Floats, r: Floats) -> Floats:
        X = coordinates(self.instance.model).matrix
        V = np.einsum("rk,ka,kb->rab", w, X, X)
        slope = (w * r) @ X
        logs = []
        for s, log in zip(family.scales, family.logs, strict=True):
            total = V + np.eye(X.shape[1]) / s**2
            lifted = np.linalg.solve(total, slope[:, :, None])[:, :, 0]
            volume = np.linalg.slogdet(s**2 * total)[1]
            logs.append(0.5 * np.sum(slope * lifted, axis=1) - 0.5 * volume + log)
        return np.array(logs).T

    def _all_arms(self, family, w: Floats, r: Floats) -> Floats:
        w, r, s2 = w[:, :, None], r[:, :, None], family.scales**2
        logs = 0.5 * w**2 * s2 / (1 + w * s2) * r**2 - 0.5 * np.log1p(w * s2)
        return logs.sum(axis=1) + family.logs


def reached(name: str, sampler: Sampler, runs: int, less: float = 0.0, ahead: bool = False) -> int:
    """In how many runs M(mu) ever reaches 1/delta.

    With `less`, so many nats before; with `ahead`, by the displacement that came out best.
    """
    instance, m = INSTANCES[name]
    rng = np.random.default_rng([sum(map(ord, name + sampler.__name__)), runs])
    watched = Watched(instance, m, np.zeros((runs, instance.K)), np.zeros((runs, instance.K)))
    ever, rows = np.zeros(runs, bool), np.arange(runs)
    for _ in range(SAMPLES):
        arms = sampler(watched, rng)
        rewards = instance.means[arms] + instance.noise[arms] * rng.normal(size=runs)
        watched.counts[rows, arms] += 1
        watched.sums[rows, arms] += rewards
        terms = watched.terms()
        if ahead:
            weights = np.log(terms.shape[1])
            total = terms.max(axis=1) + weights
        else:
            total = np.logaddexp.reduce(terms, axis=1)
        ever |= total >= -math.log(DELTA) - less
    return int(ever.sum())


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", INSTANCES)
def test_the_truth_is_seldom_refuted(name: str, sampler: str) -> None:
    runs = RUNS if INSTANCES[name][0].K < 40 else 150
    assert not too_often(reached(name, SAMPLERS[sampler], runs), runs, DELTA)


@pytest.mark.parametrize("name", ["tied", "one best", "noises", "two arms"])
def test_less_evidence_is_caught(name: str) -> None:
    assert too_often(reached(name, adversary, 200, less=2.0), 200, DELTA)
    assert too_often(reached(name, adversary, RUNS, less=1.2), RUNS, DELTA)


@pytest.mark.parametrize("name", ["tied", "one best", "noises", "many"])
def test_displacements_chosen_after_the_data_are_caught(name: str) -> None:
    assert too_often(reached(name, adversary, 200, ahead=True), 200, DELTA)
