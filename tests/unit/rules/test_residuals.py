"""The evidence that means lie farther from linear than declared."""

import math

import numpy as np
import pytest

from mislid import Model, project
from mislid.rules._mixture import new_mixture
from mislid.rules._state import Setting
from mislid.rules.residuals import Residuals, residual_threshold
from mislid.rules.thresholds import deviation_constant
from oracles.measured import Data, random_data, setting_of

LEVEL = 0.02


def dense_price(setting: Setting, weights: np.ndarray, means: np.ndarray) -> float:
    """The price as the module's text has it, with K by K matrices."""
    seen = weights > 0
    X, precision, x = setting.X[seen], np.diag(1 / weights[seen]), means[seen]
    prior = new_mixture(setting._replace(eps=math.inf))
    logs = []
    for scale, variance in zip(prior.scales, prior.variances, strict=True):
        covariance = scale**2 * X @ X.T + variance * np.eye(x.size)
        volume = np.linalg.slogdet(np.eye(x.size) + np.diag(weights[seen]) @ covariance)[1]
        logs.append(-0.5 * (volume + x @ np.linalg.solve(precision + covariance, x)))
    return math.log(len(logs)) - np.logaddexp.reduce(logs)


def arms_bound(counts: np.ndarray) -> float:
    K = counts.size
    allowances = np.sum(2 * np.log(4 + np.log(np.maximum(counts, 1))))
    return allowances + K * deviation_constant(math.log(2 / LEVEL) / K)


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_the_smaller_of_two(seed: int) -> None:
    data = random_data(np.random.default_rng([5, seed]), eps=0.1, size=100.0)
    counts, setting = data.counts.copy(), setting_of(data)
    counts[0] = 0.0
    means = np.where(counts > 0, data.means, 0.0)
    mixed = math.log(2 / LEVEL) + dense_price(setting, counts / data.noise**2, means)
    expected = min(mixed, arms_bound(counts))
    assert residual_threshold(setting, counts, means, LEVEL) == pytest.approx(expected, rel=1e-9)


def test_means_far_from_zero_are_left_to_the_arms() -> None:
    data = random_data(np.random.default_rng(1), eps=0.1, size=100.0)
    found = residual_threshold(setting_of(data), data.counts, data.means + 1e7, LEVEL)
    assert found == pytest.approx(arms_bound(data.counts), rel=1e-12)


def residuals_of(data: Data) -> Residuals:
    return Residuals.of(setting_of(data), data.model.features, data.counts, data.means, LEVEL)


@pytest.mark.parametrize("seed", range(5))
def test_the_declared_misspecification_plays_no_role(seed: int) -> None:
    data = random_data(np.random.default_rng([6, seed]), eps=0.1)
    wide = data._replace(model=Model(data.model.features, 7.0))
    assert residuals_of(data).threshold == residuals_of(wide).threshold
    grid = np.linspace(0, 2, 15)
    statistics = [residuals_of(data).statistic(eps) for eps in grid]
    assert np.all(np.diff(statistics) <= 1e-9 * statistics[0])
    costs = [project(Model(data.model.features, e), data.means, data.weights).cost for e in grid]
    np.testing.assert_allclose(statistics, costs, rtol=1e-8, atol=1e-8)


def test_the_smallest_misspecification_that_is_not_contradicted() -> None:
    features = np.column_stack([np.ones(6), np.arange(6.0)])
    means = features @ [1.0, 2.0]
    counts = np.full(6, 1e4)
    setting = setting_of(Data(Model(features, 0.0), np.ones(6), counts, means, m=2))
    assert Residuals.of(setting, features, counts, means, LEVEL).least() == 0.0
    bent = means + np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    residuals = Residuals.of(setting, features, counts, bent, LEVEL)
    least = residuals.least()
    assert 0.4 < least < 0.5  # a bend of 1 lies within 0.5 of a line
    assert residuals.statistic(least) > residuals.threshold
    assert residuals.statistic(least * 1.001) <= residuals.threshold
    assert residuals.farthest(0.0) == 3
