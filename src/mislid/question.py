"""The question that an identification answers."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Vector, as_flag, as_noise, as_number, as_top_m, as_vector, fill
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.model import Model, as_model
from mislid.stopping.noise import NOISE_MODELS, UNDECLARED


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Question:
    """Which m arms are the best, at error rate delta, if this model of their means holds?

    Checked once, when it is made, and never changed.

    Parameters
    ----------
    model
        Features of the K arms, and how far a mean may be from linear in them.
    m
        Number of arms to find.
    noise
        Standard deviation of a measurement, one for all arms or (K,); or "unknown" or
        "unknown-equal", which is the same as the noise model of that name.
    delta
        How often the answer may be wrong.
    tolerance
        The answer is m arms, none of them worse than the m-th best by more than this.
    mean_bound
        A bound on the absolute values of the means (the paper's M), where one is known.
    noise_model
        What is known of the noise: "known", its standard deviation; "unknown", only that it is
        Gaussian; "unknown-equal", also that its standard deviation is the same for all arms;
        "bounded", that values are in `reward_range`; "bernoulli", that they are 0 or 1.
        Then `noise` is not given; the attribute is half of the range, or 1 where it is unknown.
    reward_range
        Of bounded values, the least and the largest possible one; (0, 1) unless given.
    structured
        Whether features have a weight in the proof of `guaranteed`, so that what is proved holds
        for all misspecifications at once; by default whether that of the model is finite.

    Raises
    ------
    ProblemError
        If an argument is not of this kind; the message names it, its value and what is allowed.

    Examples
    --------
    >>> question = Question(Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1), m=1, noise=0.2)
    >>> question.K, question.noise.tolist(), question.replace(delta=0.01).delta
    (3, [0.2, 0.2, 0.2], 0.01)
    >>> Question(question.model, m=1, noise_model="bounded", reward_range=(0, 5)).noise.tolist()
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
        noise: ArrayLike | str = 1.0,
        delta: float = 0.05,
        tolerance: float = 0.0,
        mean_bound: float = math.inf,
        noise_model: str = "known",
        reward_range: tuple[float, float] | None = None,
        structured: bool | None = None,
    ) -> None:
        as_model(model)
        kind = _as_noise_model(noise, noise_model)
        range_ = _as_range(reward_range, kind)
        deviations = _as_deviations(noise, kind, range_, model.K)
        values = {
            "model": model,
            "m": as_top_m(m, model.K),
            "noise": deviations,
            "delta": as_number(delta, "delta", low=1e-300, high=1.0, high_open=True),
            "tolerance": as_number(tolerance, "tolerance", low=0.0, high=math.inf),
            "mean_bound": as_number(
                mean_bound, "mean_bound", low=0.0, high=math.inf, allow_inf=True
            ),
            "noise_model": kind,
            "reward_range": range_,
            "structured": math.isfinite(model.misspecification)
            if structured is None
            else as_flag(structured, "structured"),
        }
        if range_ is not None and tolerance >= range_[1] - range_[0]:
            raise ProblemError(
                f"tolerance must be less than the range of rewards, which are from {range_[0]:g} "
                f"to {range_[1]:g}; got {tolerance!r}"
            )
        fill(self, **values)

    @property
    def K(self) -> int:
        """Number of arms."""
        return self.model.K

    def __reduce__(self) -> tuple[Any, ...]:
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _restored, (own,)

    def replace(self, **changes: Any) -> Question:
        """The same question but for some of its arguments.

        Parameters
        ----------
        **changes
            New values by name.

        Returns
        -------
        Question
            Another one, checked anew.

        Raises
        ------
        ProblemError
            If a question has no such argument, or it may not have this value.
        """
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        unknown = changes.keys() - own.keys()
        if unknown:
            raise ProblemError(
                f"changes must be among {', '.join(own)}; got {', '.join(sorted(unknown))}"
            )
        return _restored({**own, **changes})


def _as_noise_model(noise: Any, noise_model: Any) -> str:
    """The noise model; a noise of its name says it too."""
    if isinstance(noise, str):
        if noise not in UNDECLARED or noise_model not in ("known", noise):
            raise ProblemError(
                "noise must be a number, one number per arm, 'unknown' or 'unknown-equal'; "
                f"got {noise!r}"
            )
        return noise
    if not isinstance(noise_model, str) or noise_model not in NOISE_MODELS:
        names = ", ".join(repr(name) for name in NOISE_MODELS)
        raise ProblemError(f"noise_model must be one of {names}; got {shown(noise_model)}")
    return noise_model


def _as_range(given: Any, kind: str) -> tuple[float, float] | None:
    if kind in ("known", *UNDECLARED):
        if given is not None:
            raise ProblemError(
                f"reward_range is for noise_model='bounded'; got {shown(given)} with {kind!r}"
            )
        return None
    if given is None:
        return 0.0, 1.0
    low, high = as_vector(given, "reward_range", 2, what="the least and the largest reward")
    if not low < high or (kind == "bernoulli" and (low, high) != (0.0, 1.0)):
        allowed = "(0, 1) for values 0 and 1" if kind == "bernoulli" else "(low, high), low < high"
        raise ProblemError(f"reward_range must be {allowed}; got {shown(given)}")
    return float(low), float(high)


def _as_deviations(
    noise: Any, kind: str, reward_range: tuple[float, float] | None, K: int
) -> Vector:
    """Standard deviations (K,) that are declared, or that follow from what is known."""
    if kind == "known":
        found = as_noise(noise, K).copy()
    else:
        half = 1.0 if reward_range is None else 0.5 * (reward_range[1] - reward_range[0])
        found = np.full(K, half)
        given = found if isinstance(noise, str) else as_noise(noise, K)
        if not (np.all(given == 1.0) or np.all(given == found)):
            raise ProblemError(
                f"noise must be left out where noise_model is {kind!r}; got {shown(noise)}"
            )
    found.setflags(write=False)
    return found


def _restored(given: dict[str, Any]) -> Question:
    return Question(given.pop("model"), given.pop("m"), **given)
