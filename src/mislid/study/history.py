"""Measurements of any origin, from what a user has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mislid._validation import as_number
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.study.candidates import Candidates

COLUMNS = ("arm", "value")
# Beyond, evidence is no number with the least noise that is allowed.
LARGEST = 1e75


def as_value(value: Any, name: str = "value") -> float:
    """A measurement: a finite number, whose square over that of any noise is one too.

    >>> as_value(float("nan"))
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: value must be a finite number; got nan
    """
    found = as_number(value, name, low=-float("inf"), high=float("inf"))
    if abs(found) > LARGEST:
        raise ProblemError(
            f"{name} must be between {-LARGEST:g} and {LARGEST:g}; got {found!r}: give values in "
            "another unit"
        )
    return found


def refuse_outside(
    value: float, reward_range: tuple[float, float] | None, name: str = "value"
) -> None:
    """Refuse a value outside the declared range, if one was declared.

    >>> refuse_outside(1.5, (0.0, 1.0))
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: value must be within the study's reward_range, 0.0 to 1.0; got 1.5
    (where that is right, begin a study with a wider range and add the observations of this one)
    """
    if reward_range is not None and not reward_range[0] <= value <= reward_range[1]:
        low, high = reward_range
        raise ProblemError(
            f"{name} must be within the study's reward_range, {low!r} to {high!r}; got {value!r} "
            "(where that is right, begin a study with a wider range and add the observations of "
            "this one)"
        )


def as_history(
    observations: Any,
    candidates: Candidates,
    reward_range: tuple[float, float] | None = None,
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Arms and values of a table with columns arm and value, or of pairs; refuses all or none.

    >>> as_history([("b", 1), ("a", 2)], Candidates(("a", "b"), None))
    ((1, 0), (1.0, 2.0))
    """
    arms, values = [], []
    for row, (label, value) in enumerate(_pairs(observations)):
        arms.append(candidates.arm(label, f"arm of observation {row}"))
        values.append(as_value(value, f"value of observation {row}"))
        refuse_outside(values[-1], reward_range, f"value of observation {row}")
    return tuple(arms), tuple(values)


def _pairs(observations: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(observations, Mapping) or hasattr(observations, "columns"):
        missing = [name for name in COLUMNS if name not in observations]
        if missing:
            raise ProblemError(
                f"observations must have columns arm and value; got {list(observations)!r}"
            )
        arms, values = (list(observations[name]) for name in COLUMNS)
        if len(arms) != len(values):
            raise ProblemError(
                f"observations must have a value for every arm; got {len(arms)} arms and "
                f"{len(values)} values"
            )
        return zip(arms, values, strict=True)
    if isinstance(observations, str | bytes) or not isinstance(observations, Iterable):
        raise ProblemError(
            "observations must be a table with columns arm and value, or pairs of them; "
            f"got {shown(observations)}"
        )
    try:
        pairs = list(observations)
    except TypeError:  # an array without a dimension
        pairs = [observations]
    for row, pair in enumerate(pairs):
        if not _is_pair(pair):
            raise ProblemError(f"observation {row} must be a pair (arm, value); got {shown(pair)}")
    return pairs


def _is_pair(pair: Any) -> bool:
    try:
        return not isinstance(pair, str | bytes) and len(pair) == 2
    except TypeError:
        return False
