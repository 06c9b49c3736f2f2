"""The mixture's price against dense matrices and its defining property."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from helpers.measured import Data, random_data, samples, setting_of
from mislid import Model
from mislid._kernels.compile import for_python
from mislid._kernels.mixture import SPREADS, mixture_price, new_mixture
from oracles.stopping import dense_price

price = for_python(mixture_price)


@pytest.mark.parametrize("eps", [0.0, 0.004, 0.2, 5.0, math.inf])
def test_price_is_that_of_dense_matrices(eps: float) -> None:
    for data in samples(1, 20, eps):
        setting = setting_of(data)
        prior = new_mixture(setting)
        weights = data.weights.copy()
        weights[np.setdiff1d(np.arange(data.model.K), setting.basis)[:1]] = 0.0
        slow = dense_price(setting.X, weights, data.means, prior)
        assert_allclose(price(setting.X, weights, data.means, prior), slow, rtol=1e-7)


def test_price_keeps_its_digits_when_all_means_are_large() -> None:
    # Constant means are linear here, so 1e5 noises of level are a matter of the prior alone.
    data = random_data(np.random.default_rng(5), 0.1, size=1e6)
    ones = Data(Model(np.ones((4, 1)), 0.1), np.ones(4), data.counts[:4], np.full(4, 1e5), 1)
    setting = setting_of(ones)
    prior = new_mixture(setting).replace(scales=np.array([1e5]), variances=np.zeros(1))
    w = ones.counts.sum()
    expected = 0.5 * math.log(1 + w * 1e10) + 0.5 * 1e10 / (1 / w + 1e10)
    assert_allclose(price(setting.X, ones.weights, ones.means, prior), expected, rtol=1e-12)


def test_priors_reach_the_declared_misspecification_and_no_further() -> None:
    for eps in (0.0, 0.004, 0.25, 10.0, 50.0, math.inf):
        data = random_data(np.random.default_rng(3), eps)
        unit = math.exp(np.mean(np.log(data.noise)))
        largest = math.sqrt(3.0 * np.max(new_mixture(setting_of(data)).variances))
        assert_allclose(largest, min(eps, unit * SPREADS[-1]))


@pytest.mark.parametrize("eps", [0.0, 0.02, math.inf])
@pytest.mark.parametrize("weight", [1.0, 1e3])
def test_ratio_has_mean_one_under_the_truth(eps: float, weight: float) -> None:
    # One arm, empirical mean x ~ N(mu, 1/w). The ratio exp(1/2 w (x - mu)^2 - price(x)) times the
    # density of x is sqrt(w / 2 pi) exp(-price(x)) for every mu: it must integrate to one.
    data = Data(Model([[1.0], [1.0]], eps), np.ones(2), np.ones(2), np.zeros(2), 1)
    X, prior = np.ones((1, 1)), new_mixture(setting_of(data))
    prior = prior.replace(
        shrunk=np.zeros(1),
        residual=np.zeros(1),
        spanner=np.zeros(1, np.int64),
        rest=np.zeros(0, np.int64),
    )

    def density(x: float) -> float:
        value = -price(X, np.array([weight]), np.array([x]), prior)
        return math.sqrt(weight / (2 * math.pi)) * math.exp(value)

    edges = [0.0, 0.003, *(10.0**k for k in range(-2, 5)), 2e4]
    half = sum(quad(density, a, b, limit=200)[0] for a, b in pairwise(edges))
    assert 2 * half == pytest.approx(1.0, rel=1e-6)
