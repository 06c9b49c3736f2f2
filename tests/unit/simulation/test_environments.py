"""Environments: their means, scales, tails, and what they refuse."""

import pickle

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.errors import ProblemError
from mislid.simulation.environments import (
    Bernoulli,
    Bounded,
    Gaussian,
    Table,
    as_environment,
)

REWARDS = np.array([[0.0, 3.0], [1.0, 3.0], [1.0, 4.0], [0.5, -1.0]])
ENVIRONMENTS = [
    Gaussian([0.3, -0.5], noise=[0.2, 3.0]),
    Bernoulli([0.3, 0.9]),
    Bounded([22.0, 90.0], low=20, high=100),
    Bounded([-0.5, 0.9], low=-1, high=1, concentration=0.3),
    Table(REWARDS),
]


@pytest.fixture(params=ENVIRONMENTS, ids=lambda e: type(e).__name__)
def environment(request):
    return request.param


def test_rewards_have_the_stated_means(environment, rng):
    n = 200_000
    for arm in range(environment.K):
        rewards = environment.sample(arm, n, rng)
        assert rewards.shape == (n,)
        # Six standard errors at most, since noise bounds the standard deviation.
        assert abs(rewards.mean() - environment.means[arm]) < 6 * environment.noise[arm] / n**0.5


def test_noise_is_a_sub_gaussian_scale(environment, rng):
    n = 200_000
    for arm in range(environment.K):
        noise = environment.noise[arm]
        centred = environment.sample(arm, n, rng) - environment.means[arm]
        for x in (-1.5, -0.5, 0.5, 1.5):
            powers = np.exp(x * centred / noise)
            slack = 6 * powers.std() / n**0.5
            assert powers.mean() <= np.exp(x**2 / 2) + slack


def test_a_generator_gives_the_same_rewards_again_and_after_a_pickle(environment):
    def rewards(source):
        return source.sample(1, 50, np.random.default_rng(5))

    expected = rewards(environment)
    np.testing.assert_array_equal(rewards(environment), expected)
    np.testing.assert_array_equal(rewards(pickle.loads(pickle.dumps(environment))), expected)


def test_rewards_of_an_arm_that_is_not_there_are_refused(environment, rng):
    for arm in (-1, environment.K):
        with pytest.raises(ProblemError, match="arm must be"):
            environment.sample(arm, 1, rng)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Gaussian([1.0, 2.0], noise=0), "noise must be a finite number above 0; got 0"),
        (lambda: Bernoulli([-0.1, 1.0]), "from 0 to 1; got -0.1 at index 0"),
        (lambda: Bounded([0.0, 0.5]), "means must be above low=0 and below high=1; got 0.0"),
        (lambda: Table(np.zeros((0, 3))), r"at least 1 row .* got shape \(0, 3\)"),
        (lambda: Table([[1, 1], [1, 1]]), "rewards must differ somewhere.*got 1.0 everywhere"),
        (lambda: Table(REWARDS, low=0), "low must be a number at most -1; got 0"),
    ],
)
def test_bad_descriptions_are_refused(make, sentence):
    with pytest.raises(ProblemError, match=sentence):
        make()


@pytest.fixture
def instance():
    return Instance(Model([[1.0], [2.0]], 10.0), [0.3, 0.9], noise=0.5)


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ("bernoulli", "environment must be one of .*; got str"),
        (Bernoulli([0.3, 0.9, 0.1]), "must have the instance's 2 arms; got 3"),
        (Bernoulli([0.3, 0.8]), "got 0.8 for arm 1, where the instance has 0.9"),
        (Gaussian([0.3, 0.9], 0.6), "at most the instance's noise; got 0.6 for arm 0"),
    ],
)
def test_an_environment_that_does_not_fit_is_refused(instance, environment, sentence):
    with pytest.raises(ProblemError, match=sentence):
        as_environment(environment, instance)
