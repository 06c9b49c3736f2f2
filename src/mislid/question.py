"""The question of an identification: model, m, noise and error rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid._formatting import shown
from mislid._validation import Vector, as_flag, as_noise, as_number, as_top_m, as_vector, fill
from mislid.errors import ProblemError
from mislid.model import Model, as_model
from mislid.stopping.noise import UNDECLARED

# Relative rounding error allowed to sums of values in a range.
ROUNDING = 1e-9


class NoiseModel(NamedTuple):
    """A noise model: what is known about the noise of measurements.

    Attributes
    ----------
    kind
        "known", a standard deviation; "unknown", Gaussian values; "unknown-equal", Gaussian values
        with one standard deviation for all arms; "bounded", values in a range; "bernoulli", values
        0 and 1.
    deviations
        Standard deviations (K,): as declared, half of the range, or 1 where they are unknown.
    reward_range
        The least and the largest possible value; None for Gaussian values.
    """

    kind: str
    deviations: Vector
    reward_range: tuple[float, float] | None = None

    @property
    def declaration(self) -> Any:
        """The value of `noise=` that declares this noise model."""
        if self.kind == "known":
            return self.deviations
        return self.reward_range if self.kind == "bounded" else self.kind


def parse_noise(noise: Any, K: int, *, name: str = "noise") -> NoiseModel:
    """Parse the argument `noise`.

    Parameters
    ----------
    noise
        A standard deviation, one for each arm in a list or an array, "unknown", "unknown-equal",
        "bernoulli", or a tuple (low, high) of the least and the largest possible value.
    K
        Number of arms.
    name
        Name of the argument, for messages.

    Returns
    -------
    NoiseModel
        What is known about the noise.

    Raises
    ------
    ProblemError
        The argument has another form.

    Examples
    --------
    >>> parse_noise((0, 10), K=2)
    NoiseModel(kind='bounded', deviations=array([5., 5.]), reward_range=(0.0, 10.0))
    >>> parse_noise([0.1, 0.2], K=2).kind, parse_noise("unknown", K=2).kind
    ('known', 'unknown')
    """
    if isinstance(noise, str):
        if noise in ("unknown", "unknown-equal"):
            return NoiseModel(noise, np.ones(K))
        if noise == "bernoulli":
            return NoiseModel(noise, np.full(K, 0.5), (0.0, 1.0))
    elif isinstance(noise, tuple) and len(noise) == 2:
        low, high = as_vector(noise, name, 2, what="the least and the largest value").tolist()
        if low < high < math.inf and high - low < math.inf:
            return NoiseModel("bounded", np.full(K, 0.5 * (high - low)), (low, high))
        raise ProblemError(
            f"{name} must be a range (low, high) with low below high; got {shown(noise)}; give "
            "standard deviations of two arms as a list"
        )
    elif noise is not None:
        return NoiseModel("known", as_noise(noise, K, name))
    raise ProblemError(
        f"{name} must be a standard deviation, one for each arm, 'unknown', 'unknown-equal', "
        f"'bernoulli' for values 0 and 1, or a tuple (low, high) for values in this range; got "
        f"{shown(noise)}"
    )


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Question:
    """The question which m arms are the best, at error rate delta under a model of their means.

    Parameters
    ----------
    model
        Features of the K arms, and how far the means may be from linear in them.
    m
        Number of arms to find.
    noise
        Standard deviation of a measurement, one for all arms or (K,); or "unknown",
        "unknown-equal", "bernoulli" or the range (low, high) of values, see `parse_noise`.
        The attribute has standard deviations (K,): half of the range, or 1 where they are unknown.
    delta
        The probability of a wrong answer is at most this.
    tolerance
        No arm of the answer is worse than the m-th best by more than this.
    mean_bound
        A bound on the absolute values of the means (the paper's M), if one is known.
    structured
        Whether the proof of `guaranteed` uses the features; it then holds for all misspecifications
        at once. True by default if the misspecification of the model is finite.

    Attributes
    ----------
    noise_model
        What is known of the noise: "known", "unknown", "unknown-equal", "bounded" or "bernoulli".
    reward_range
        The least and the largest possible value, or None.

    Raises
    ------
    ProblemError
        An argument is not allowed; the message names it, its value and what is allowed.

    Examples
    --------
    >>> question = Question(Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1), m=1, noise=0.2)
    >>> question.K, question.noise.tolist(), question.replace(delta=0.01).delta
    (3, [0.2, 0.2, 0.2], 0.01)
    >>> Question(question.model, m=1, noise=(0, 5)).noise.tolist()
    [2.5, 2.5, 2.5]
    """

    model: Model
    m: int
    noise: Vector
    delta: float
    tolerance: float
    mean_bound: float
    noise_model: str
    reward_range: tuple[float, float] | None
    structured: bool

    def __init__(
        self,
        model: Model,
        m: int,
        *,
        noise: ArrayLike | str | tuple[float, float] = 1.0,
        delta: float = 0.05,
        tolerance: float = 0.0,
        mean_bound: float = math.inf,
        structured: bool | None = None,
    ) -> None:
        as_model(model)
        kind, deviations, reward_range = parse_noise(noise, model.K)
        deviations.setflags(write=False)
        if structured is None:
            structured = math.isfinite(model.misspecification)
        fill(
            self,
            model=model,
            m=as_top_m(m, model.K),
            noise=deviations,
            delta=as_number(delta, "delta", low=1e-300, high=1.0, high_open=True),
            tolerance=as_number(tolerance, "tolerance", low=0.0, high=math.inf),
            mean_bound=as_number(mean_bound, "mean_bound", low=0.0, high=math.inf, allow_inf=True),
            noise_model=kind,
            reward_range=reward_range,
            structured=as_flag(structured, "structured"),
        )
        if reward_range is not None and tolerance >= reward_range[1] - reward_range[0]:
            low, high = reward_range
            raise ProblemError(
                f"tolerance must be less than the range of rewards, which are from {low:g} to "
                f"{high:g}; got {tolerance!r}"
            )

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.model.K

    @property
    def needs_scatter(self) -> bool:
        """Whether the noise model needs the scatter of values besides counts and sums.

        Examples
        --------
        >>> model = Model([[1, 0], [0, 1]], 0.1)
        >>> [Question(model, 1, noise=noise).needs_scatter for noise in ((0, 1), "bernoulli")]
        [True, False]
        """
        return self.noise_model in (*UNDECLARED, "bounded")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Question, **self._arguments()), ()

    def replace(self, **changes: Any) -> Question:
        """Return a question with some arguments changed.

        Parameters
        ----------
        **changes
            New values by name.

        Returns
        -------
        Question
            A new question.

        Raises
        ------
        ProblemError
            A value is not allowed.
        """
        return Question(**{**self._arguments(), **changes})

    def _arguments(self) -> dict[str, Any]:
        noise = NoiseModel(self.noise_model, self.noise, self.reward_range)
        return {
            "model": self.model,
            "m": self.m,
            "noise": noise.declaration,
            "delta": self.delta,
            "tolerance": self.tolerance,
            "mean_bound": self.mean_bound,
            "structured": self.structured,
        }


def as_scatter(question: Question, counts: Vector, scatter: Any, least: int) -> Vector:
    """Check the scatter (n,) of arms; it is 0 for arms with fewer than `least` values."""
    if scatter is None:
        if question.needs_scatter and np.any(counts >= least):
            raise ProblemError(
                f"scatter must be given where the noise is {question.noise_model}: sums of squared "
                "distances, as Engine.observe and Engine.scatter have them; or give values one by "
                "one"
            )
        return np.zeros(counts.size)
    found = as_vector(scatter, "scatter", counts.size)
    if np.any((found < 0.0) | ((found > 0.0) & (counts < least))):
        raise ProblemError(
            f"scatter must be at least 0, and 0 for less than {least} values; "
            f"got {found.tolist()!r}"
        )
    return found if question.needs_scatter else np.zeros(counts.size)


def refuse_values(question: Question, sums: Vector, counts: Any) -> None:
    """Refuse sums that are impossible for `counts` values of the noise model."""
    if question.reward_range is None:
        return
    low, high = question.reward_range
    slack = ROUNDING * (high - low) * counts
    wrong = (sums < low * counts - slack) | (sums > high * counts + slack)
    allowed = f"from {low:g} to {high:g}"
    if question.noise_model == "bernoulli":
        wrong |= sums != np.floor(sums)
        allowed = "0 or 1"
    if wrong.any():
        k = int(np.argmax(wrong))
        what = "values" if counts[k] == 1 else f"sums of {int(counts[k])} values"
        raise ProblemError(
            f"{what} must be of values that are {allowed}, as the question says; "
            f"got {float(sums[k])!r}"
        )
