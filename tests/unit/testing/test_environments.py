"""The suite of environments: all of the package pass it, and broken ones do not."""

from dataclasses import dataclass

import numpy as np
import pytest

from helpers.suites import fails
from mislid._validation import Vector
from mislid.simulation.environments import Bernoulli, Bounded, Environment, Gaussian, Table
from mislid.testing import EnvironmentSuite

ALL = (
    Gaussian([0.5, -2.0], noise=[0.1, 3.0]),
    Bernoulli([0.02, 0.5, 1.0]),
    Bounded([20.0, 95.0], low=0.0, high=100.0),
    Table([[0.0, 1.0], [1.0, 4.0], [5.0, 1.0]]),
)


class TestEnvironments(EnvironmentSuite):
    @pytest.fixture(autouse=True, params=ALL, ids=lambda one: type(one).__name__)
    def use(self, request: pytest.FixtureRequest) -> None:
        self.environment = lambda: request.param


@dataclass(frozen=True, eq=False)
class Faulty(Environment):
    """Normal rewards, but for one fault."""

    fault: str = ""

    def sample(self, arm: int, size: int, generator: np.random.Generator) -> Vector:
        if self.fault == "generator":
            generator = np.random.default_rng()
        drawn = self.means[arm] + self.noise[arm] * generator.standard_normal(size)
        match self.fault:
            case "shape":
                return drawn[:, None]
            case "mean":
                return drawn + 0.1
            case "tails":  # Student's t, with 3 degrees of freedom and the declared variance
                scale = self.noise[arm] / np.sqrt(3.0)
                return self.means[arm] + scale * generator.standard_t(3, size)
            case "outliers":
                return drawn + 9.0 * self.noise[arm] * (generator.random(size) < 1e-3)
            case "noise":
                return self.means[arm] + 1.2 * (drawn - self.means[arm])
        return drawn


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("shape", "test_rewards_are_numbers"),
        ("generator", "test_the_same_generator_gives_the_same_rewards"),
        ("mean", "test_rewards_have_the_declared_means"),
        ("noise", "test_rewards_are_no_noisier_than_declared"),
        ("tails", "test_rewards_are_no_noisier_than_declared"),
        ("outliers", "test_rewards_are_no_noisier_than_declared"),
    ],
)
def test_broken_environments_are_caught(fault: str, test: str) -> None:
    class Broken(EnvironmentSuite):
        def environment(self) -> Environment:
            return Faulty(np.array([0.0, 0.5]), np.ones(2), fault)

    assert fails(Broken, test)
