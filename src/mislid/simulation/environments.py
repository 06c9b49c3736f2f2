"""Environments: distributions of simulated rewards.

An environment has the `means` (K,) of its arms and a sub-Gaussian scale `noise` (K,) of their
rewards: E exp(x (reward - mean)) <= exp(x^2 noise^2 / 2) for all x, which is all that stopping
rules assume. Rewards within an interval have half its length (Hoeffding).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import (
    Matrix,
    Vector,
    as_arm,
    as_array,
    as_noise,
    as_number,
    check_all,
    fill,
    frozen,
)
from mislid.engine import loop
from mislid.engine.loop import Source
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.question import parse_noise

# Standard deviations, a range, a noise model, or None for the instance's own noise.
AssumedNoise = ArrayLike | tuple[float, float] | str | None


@dataclass(frozen=True, eq=False)
class Environment:
    """Base class of environments; subclasses define `sample`, and `reward_range` if it is known.

    Attributes
    ----------
    means
        Mean reward of every arm (K,).
    noise
        Sub-Gaussian scale of every arm's rewards (K,).
    reward_range
        The least and the largest possible reward; None if rewards are unbounded or it is unknown.

    Examples
    --------
    Rewards -1 and 1, with the probabilities that give the mean:

    >>> class Sides(Environment):
    ...     def sample(self, arm, size, generator):
    ...         return np.where(generator.random(size) < 0.5 * (1 + self.means[arm]), 1.0, -1.0)
    >>> sides = Sides([0.2, -0.4], noise=1.0)
    >>> rewards = sides.sample(0, 1000, np.random.default_rng(0))
    >>> np.unique(rewards).tolist(), round(float(rewards.mean()), 1), sides.source()
    ([-1.0, 1.0], 0.2, None)
    """

    means: Vector
    noise: Vector

    reward_range: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        """Convert lists to arrays, and a scalar noise to one entry per arm."""
        means = _as_means(self.means)
        fill(self, means=means, noise=frozen(as_noise(self.noise, means.size)))

    @property
    def K(self) -> int:
        """Number of arms."""
        return int(self.means.size)

    def sample(self, arm: int, size: int, generator: np.random.Generator) -> Vector:
        """Draw rewards of one arm; environments without a source override this.

        Parameters
        ----------
        arm, size
            The arm, and the number of rewards.
        generator
            The generator of random numbers.

        Returns
        -------
        ndarray of float
            The rewards (size,).

        Raises
        ------
        ProblemError
            If there is no such arm.

        Examples
        --------
        >>> Bernoulli([0.0, 1.0]).sample(1, 3, np.random.default_rng(0)).tolist()
        [1.0, 1.0, 1.0]
        """
        source, rewards = self.source(), np.empty(size)
        if source is None:
            raise NotImplementedError(f"{type(self).__name__} must override sample")
        loop.sample(source, as_arm(arm, "arm", self.K), generator, rewards)
        return rewards

    def source(self) -> Source | None:
        """The compiled source of rewards; None for environments whose runs call `sample`.

        Returns
        -------
        Source or None
            A kernel that draws a reward, and its data.

        Examples
        --------
        >>> Gaussian([0.2, 0.5], noise=2.0).source().parameters[:, :2].tolist()
        [[0.2, 2.0], [0.5, 2.0]]
        """
        return None


class Gaussian(Environment):
    """Normal rewards of given means (K,) and standard deviations, one for all arms or (K,).

    Raises
    ------
    ProblemError
        If there are fewer than 2 means, a number is not finite, or a standard deviation is not
        above 0.

    Examples
    --------
    >>> Gaussian([0.2, 0.5], noise=2.0).noise.tolist()
    [2.0, 2.0]
    """

    def __init__(self, means: ArrayLike, noise: ArrayLike = 1.0) -> None:
        vector = _as_means(means)
        super().__init__(vector, as_noise(noise, vector.size))

    def source(self) -> Source:  # noqa: D102 - the base class has it
        return _source(loop.draw_gaussian, self.means, self.noise)


class Bernoulli(Environment):
    """Rewards 1 with probability means (K,) and 0 otherwise.

    Their noise is 1/2, whatever the means are.

    Raises
    ------
    ProblemError
        If a mean is not a probability, as below.

    Examples
    --------
    >>> Bernoulli([0.2, 1.5])
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: means must be probabilities from 0 to 1; got 1.5 at index 1
    """

    reward_range = 0.0, 1.0

    def __init__(self, means: ArrayLike) -> None:
        vector = _as_means(means)
        is_rate = (vector >= 0.0) & (vector <= 1.0)
        check_all(is_rate, vector, "means", "probabilities from 0 to 1")
        super().__init__(vector, np.full(vector.size, 0.5))

    def source(self) -> Source:  # noqa: D102 - the base class has it
        return _source(loop.draw_bernoulli, self.means)


class Bounded(Environment):
    """Rewards in [low, high] with given means (K,): rescaled Beta distributions.

    The noise is (high - low) / 2.

    Parameters
    ----------
    means
        Mean reward of every arm (K,).
    low, high
        The ends of the range.
    concentration
        Sum of the two shape parameters. For a mean in the middle, 2 gives the uniform distribution;
        smaller values move rewards to both ends, larger ones to the mean.

    Raises
    ------
    ProblemError
        If a mean is not between the ends, or the concentration not above 0.

    Examples
    --------
    >>> Bounded([20.0, 35.0], low=0, high=100).noise.tolist()
    [50.0, 50.0]
    """

    reward_range: tuple[float, float]  # type: ignore[misc]  # an attribute here
    concentration: float

    def __init__(
        self, means: ArrayLike, low: float = 0.0, high: float = 1.0, concentration: float = 2.0
    ) -> None:
        low = as_number(low, "low", low=-math.inf, high=math.inf)
        high = as_number(high, "high", low=low, high=math.inf, low_open=True)
        vector = _as_means(means)
        inside = (vector > low) & (vector < high)
        check_all(inside, vector, "means", f"above low={low:g} and below high={high:g}")
        super().__init__(vector, np.full(vector.size, 0.5 * (high - low)))
        positive = as_number(concentration, "concentration", low=0, high=math.inf, low_open=True)
        fill(self, reward_range=(low, high), concentration=positive)

    def source(self) -> Source:  # noqa: D102 - the base class has it
        low, high = self.reward_range
        share = (self.means - low) / (high - low)
        shapes = self.concentration * share, self.concentration * (1.0 - share)
        ends = np.full(self.K, low), np.full(self.K, high - low)
        return _source(loop.draw_beta, *shapes, *ends)


class Table(Environment):
    """Observed rewards, resampled with replacement.

    The means are the columns' averages; the noise is (high - low) / 2 for all arms.

    Parameters
    ----------
    rewards
        One column per arm (n, K).
    low, high
        Bounds of all possible rewards; by default the smallest and the largest observed reward.

    Raises
    ------
    ProblemError
        If a reward is not a number or outside the bounds, all rewards are equal and no bounds are
        given, or there are fewer than 2 columns.

    Examples
    --------
    >>> table = Table([[0.0, 1.0], [1.0, 1.0]])
    >>> table.means.tolist(), table.noise.tolist()
    ([0.5, 1.0], [0.5, 0.5])
    """

    rewards: Matrix

    def __init__(
        self, rewards: ArrayLike, low: float | None = None, high: float | None = None
    ) -> None:
        seen = as_array(rewards, "rewards", 2, "one row per observation and one column per arm")
        n, K = seen.shape
        if n < 1 or K < 2:
            raise ProblemError(
                f"rewards must have at least 1 row and 2 columns, one per arm; got shape ({n}, {K})"
            )
        smallest, largest = float(seen.min()), float(seen.max())
        bottom = as_number(smallest if low is None else low, "low", low=-math.inf, high=smallest)
        top = as_number(largest if high is None else high, "high", low=largest, high=math.inf)
        if bottom == top:
            raise ProblemError(
                f"rewards must differ somewhere, or low and high be given; got {top!r} everywhere"
            )
        super().__init__(frozen(seen.mean(axis=0)), np.full(K, 0.5 * (top - bottom)))
        fill(self, rewards=frozen(seen), reward_range=(bottom, top))

    def source(self) -> Source:  # noqa: D102 - the base class has it
        return _source(loop.draw_row, table=self.rewards.copy())


def as_instance(instance: Instance) -> Instance:
    """Check that an argument is an instance."""
    if not isinstance(instance, Instance):
        raise ProblemError(f"instance must be a mislid.Instance; got {type(instance).__name__}")
    return instance


def as_environment(
    environment: Environment | None, instance: Instance, *, relied_on: bool = True
) -> Environment:
    """The environment of an instance: Gaussian by default; otherwise the given one, checked.

    Its means must be the instance's, by which answers are judged. If stopping rules rely on the
    instance's noise, the environment's noise must not be larger.

    >>> from mislid.model import Model
    >>> instance = Instance(Model([[1], [2]], misspecification=0.1), [0.2, 0.5])
    >>> type(as_environment(None, instance)).__name__
    'Gaussian'
    """
    if environment is None:
        return Gaussian(instance.means, instance.noise)
    if not isinstance(environment, Environment):
        raise ProblemError(
            "environment must be one of Gaussian, Bernoulli, Bounded and Table, or another "
            f"Environment; got {type(environment).__name__}"
        )
    if environment.K != instance.K:
        raise ProblemError(
            f"environment must have the instance's {instance.K} arms; got {environment.K}"
        )
    scale = 1e-9 * float(np.abs(instance.means).max())
    wrong = np.abs(environment.means - instance.means) > scale
    _refuse_misfit(wrong, "the instance's means", environment.means, instance.means)
    if relied_on:
        wrong = environment.noise > instance.noise * (1.0 + 1e-9)
        _refuse_misfit(wrong, "at most the instance's noise", environment.noise, instance.noise)
    return environment


def _refuse_misfit(wrong: Any, rule: str, given: Vector, expected: Vector) -> None:
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ProblemError(
            f"environment must have {rule}; got {float(given[k])!r} for arm {k}, where the "
            f"instance has {float(expected[k])!r}"
        )


def as_assumed(
    assume_noise: AssumedNoise, environment: Environment | None, instance: Instance
) -> tuple[Environment, Any]:
    """The environment and the noise of the question.

    Examples
    --------
    >>> from mislid.model import Model
    >>> instance = Instance(Model([[1], [2]], misspecification=0.1), [0.2, 0.5])
    >>> source, noise = as_assumed("bernoulli", None, instance)
    >>> type(source).__name__, noise
    ('Bernoulli', 'bernoulli')
    """
    if assume_noise is None:
        return as_environment(environment, instance), instance.noise
    noise: Any = assume_noise
    if isinstance(noise, str) and noise == "bounded":
        noise = getattr(environment, "reward_range", None) or (0.0, 1.0)
    told = parse_noise(noise, instance.K, name="assume_noise")
    if environment is None and told.kind == "bernoulli":
        environment = Bernoulli(instance.means)
    elif environment is None and told.reward_range is not None:
        environment = Bounded(instance.means, *told.reward_range)
    source = as_environment(environment, instance, relied_on=False)
    if told.kind == "bernoulli" and not _is_zero_or_one(source):
        raise ProblemError(
            "environment must have rewards 0 and 1 for assume_noise='bernoulli', such as "
            f"Bernoulli; got {type(source).__name__}"
        )
    if told.kind == "bounded" and isinstance(source, Gaussian):
        raise ProblemError(
            "environment must have rewards within a range where assume_noise is one, such as "
            "Bounded, Bernoulli or Table; got Gaussian"
        )
    return source, noise


def _is_zero_or_one(source: Environment) -> bool:
    """Whether all rewards are known to be 0 or 1; otherwise each reward is checked when drawn."""
    if isinstance(source, Table):
        return bool(np.isin(source.rewards, (0.0, 1.0)).all())
    return not isinstance(source, Gaussian | Bounded)


def _as_means(means: ArrayLike) -> Vector:
    vector = as_array(means, "means", 1, "one number per arm")
    if vector.size < 2:
        raise ProblemError(f"means must have at least 2 entries, one per arm; got {vector.size}")
    return frozen(vector)


def _source(draw: Any, *columns: Vector, table: Matrix | None = None) -> Source:
    K = columns[0].size if table is None else table.shape[1]
    parameters = np.zeros((K, 4))
    for column, values in enumerate(columns):
        parameters[:, column] = values
    empty = np.zeros((0, K))
    return Source(draw=draw.address, parameters=parameters, table=empty if table is None else table)
