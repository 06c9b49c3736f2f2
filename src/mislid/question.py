"""The question that an identification answers."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from mislid._validation import Vector, as_noise, as_number, as_top_m
from mislid.errors import ProblemError
from mislid.model import Model


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
        Standard deviation of a measurement, one for all arms or (K,).
    delta
        How often the answer may be wrong.
    tolerance
        The answer is m arms, none of them worse than the m-th best by more than this.
    mean_bound
        A bound on the absolute values of the means (the paper's M), where one is known.
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
    """

    model: Model
    m: int
    noise: Vector
    delta: float
    tolerance: float
    mean_bound: float
    structured: bool

    def __init__(
        self,
        model: Model,
        m: int,
        *,
        noise: ArrayLike = 1.0,
        delta: float = 0.05,
        tolerance: float = 0.0,
        mean_bound: float = math.inf,
        structured: bool | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise ProblemError(f"model must be a mislid.Model; got {type(model).__name__}")
        deviations = as_noise(noise, model.K).copy()
        deviations.setflags(write=False)
        values = {
            "model": model,
            "m": as_top_m(m, model.K),
            "noise": deviations,
            "delta": as_number(delta, "delta", low=1e-300, high=1.0, high_open=True),
            "tolerance": as_number(tolerance, "tolerance", low=0.0, high=math.inf),
            "mean_bound": as_number(
                mean_bound, "mean_bound", low=0.0, high=math.inf, allow_inf=True
            ),
            "structured": math.isfinite(model.misspecification)
            if structured is None
            else bool(structured),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

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
        """
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _restored({**own, **changes})


def _restored(given: dict[str, Any]) -> Question:
    return Question(given.pop("model"), given.pop("m"), **given)
