"""Checks of measurements, costs and rules against a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Vector, as_costs, as_number, as_vector
from mislid.errors import ProblemError
from mislid.stopping.noise import UNDECLARED

if TYPE_CHECKING:
    from mislid.question import Question

# Sums of values within a range may be outside of it by rounding.
ROUNDING = 1e-9


def needs_scatter(question: Question) -> bool:
    """Whether the noise model needs more than counts and sums.

    Examples
    --------
    >>> from mislid import Model
    >>> from mislid.question import Question
    >>> model = Model([[1, 0], [0, 1]], 0.1)
    >>> [needs_scatter(Question(model, 1, noise=noise)) for noise in ((0, 1), "bernoulli")]
    [True, False]
    """
    return question.noise_model in (*UNDECLARED, "bounded")


def as_scatter(question: Question, times: int, scatter: Any) -> float:
    """The scatter of measurements that come together."""
    if scatter is None:
        if times > 1 and needs_scatter(question):
            raise ProblemError(
                f"scatter must be given with times={times} where the noise is "
                f"{question.noise_model}: the sum of squared distances of the values from their "
                "mean; or give them one by one"
            )
        return 0.0
    number = as_number(scatter, "scatter", low=0.0, high=np.inf)
    if times == 1 and number > 0.0:
        raise ProblemError(f"scatter must be 0 for one value; got {scatter!r}")
    return number if needs_scatter(question) else 0.0


def as_all_scatter(question: Question, counts: Vector, scatter: ArrayLike | None) -> Vector:
    """The scatter (K,) of all arms."""
    if scatter is None:
        if needs_scatter(question) and counts.any():
            raise ProblemError(
                f"scatter must be given where the noise is {question.noise_model}: one number per "
                "arm, as Engine.scatter has them"
            )
        return np.zeros(question.K)
    found = as_vector(scatter, "scatter", question.K)
    if (found < 0.0).any():
        raise ProblemError(f"scatter must be at least 0; got {found.tolist()!r}")
    return found


def refuse_values(question: Question, sums: Vector, counts: Any) -> None:
    """Refuse sums of so many values that no values of the noise model have."""
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


def refuse_unfit_rules(algorithm: Any, stopping: Any) -> None:
    """Refuse rules that need to be told the standard deviation, where it is unknown."""
    if stopping.name != "guaranteed":
        raise ProblemError(
            f"stopping must be 'guaranteed' where the noise is unknown, or the noise be declared; "
            f"got {stopping.name!r}"
        )
    if getattr(algorithm, "needs_noise", False):
        rule = getattr(algorithm, "algorithm", algorithm)
        raise ProblemError(
            f"algorithm must not be {type(rule).__name__} where the noise is unknown: its "
            "regression needs the standard deviation"
        )


def as_cost(question: Question, algorithm: Any, cost: ArrayLike) -> Vector:
    """Costs (K,), infinite where nothing can be measured; refuses rules that do not read them.

    They are divided by the least one, so that their unit means nothing.
    """
    given = as_costs(cost, question.K, allow_inf=True)
    finite = given[np.isfinite(given)]
    if not finite.size:
        raise ProblemError("cost must be finite for an arm: nothing else can be measured")
    if np.any(finite != finite[0]) and not getattr(algorithm, "reads_costs", False):
        raise ProblemError(
            "cost must be the same for all arms with an algorithm that does not look at it; got "
            f"{float(finite.min()):g} to {float(finite.max()):g} and "
            f"{getattr(algorithm, 'name', type(algorithm).__name__)!r}. 'mislid' does"
        )
    return given / finite.min()
