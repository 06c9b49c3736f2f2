"""Tests of environments: rewards with the means and the noise that they declare."""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.simulation.environments import Environment
from mislid.testing.suite import LEVEL, Suite, evidence_above_one

# In units of one over the noise.
_SLOPES = (-6.0, -3.0, -1.0, -0.5, 0.5, 1.0, 3.0, 6.0)


class EnvironmentSuite(Suite):
    """Tests of an environment; override `environment`.

    Attributes
    ----------
    size
        Rewards that are drawn of every arm.

    Examples
    --------
    >>> from mislid.simulation.environments import Bernoulli
    >>> class TestBernoulli(EnvironmentSuite):
    ...     def environment(self):
    ...         return Bernoulli([0.2, 0.5])
    >>> TestBernoulli.check()
    """

    size: int = 20_000

    def environment(self) -> Environment:
        """The environment that is tested.

        Returns
        -------
        Environment
            What `identify` takes as `environment`.
        """
        raise NotImplementedError("a suite for environments must override environment")

    def _rewards(self) -> tuple[Environment, list[Vector]]:
        environment = self.environment()
        generator = np.random.default_rng(0)
        arms = range(environment.K)
        return environment, [environment.sample(arm, self.size, generator) for arm in arms]

    def test_rewards_are_numbers(self) -> None:
        """As many as were asked for, and finite."""
        environment = self.environment()
        for size in (1, 5):
            drawn = environment.sample(0, size, np.random.default_rng(1))
            assert np.shape(drawn) == (size,), f"{size} rewards must have the shape ({size},)"
            assert np.isfinite(drawn).all(), f"rewards must be finite numbers; got {drawn}"

    def test_the_same_generator_gives_the_same_rewards(self) -> None:
        """All randomness comes from the generator."""
        first, second = (
            self.environment().sample(0, 50, np.random.default_rng(7)).tolist() for _ in range(2)
        )
        assert second == first, "the same generator must give the same rewards"

    def test_rewards_have_the_declared_means(self) -> None:
        """By Hoeffding's inequality for the declared noise."""
        environment, rewards = self._rewards()
        factor = math.sqrt(2.0 * math.log(2.0 * environment.K / LEVEL) / self.size)
        for arm, drawn in enumerate(rewards):
            wide = factor * float(environment.noise[arm])
            found, declared = float(np.mean(drawn)), float(environment.means[arm])
            assert abs(found - declared) <= wide, (
                f"the mean of arm {arm} must be {declared:g} up to {wide:g}; got {found:g}"
            )

    def test_rewards_are_no_noisier_than_declared(self) -> None:
        """E exp(x (reward - mean)) <= exp(x^2 noise^2 / 2), which all stopping rules rely on.

        Small x show too much noise, large ones tails that are too heavy. What is so rare that it
        hardly comes in `size` rewards stays unseen.
        """
        environment, rewards = self._rewards()
        enough = math.log(environment.K * len(_SLOPES) / LEVEL)
        for arm, drawn in enumerate(rewards):
            noise = float(environment.noise[arm])
            centred = (drawn - environment.means[arm]) / noise
            for x in _SLOPES:
                assert evidence_above_one(x * centred - 0.5 * x**2) < enough, (
                    f"rewards of arm {arm} must be sub-Gaussian with the declared noise {noise:g}; "
                    f"they scatter by {float(np.std(drawn)):g}, and one is "
                    f"{float(np.abs(centred).max()):.1f} times that noise away from the mean"
                )
