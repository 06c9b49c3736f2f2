"""Several measurements that are told by their number, mean and scatter, or one that is more exact.

Proofs rest on an arm's count, sum and sum of squared deviations. Values that have the same stand
for those that are not told: they are looked at together, never in part. Not so for values within
bounds, whose proof goes through them one by one.
"""

from __future__ import annotations

import math
from typing import Any

from mislid._validation import as_count, as_number
from mislid.errors import ProblemError
from mislid.stopping.noise import UNDECLARED
from mislid.study.history import as_value, refuse_outside
from mislid.study.settings import BERNOULLI, BOUNDED, KNOWN, Settings

# Values that one call may stand for.
MOST = 1_000_000


def standing_for(settings: Settings, arm: int, value: Any, n: Any, sd: Any) -> tuple[float, ...]:
    """Values for what was told: a value, one with its own deviation, or the mean of n.

    >>> from mislid import create_study
    >>> settings = create_study(candidates=["a", "b"], m=1, noise=0.5).settings
    >>> standing_for(settings, 0, 0.7, None, None)
    (0.7,)
    >>> standing_for(settings, 0, 0.7, 4, 0.2)[:2]
    (0.8732050807568877, 0.5267949192431122)
    >>> standing_for(settings, 0, 0.7, None, 0.25)  # as exact as the mean of four
    (0.7, 0.7, 0.7, 0.7)
    """
    try:
        return _standing_for(settings, arm, as_value(value), n, sd)
    except OverflowError:
        raise ProblemError(
            f"value, n and sd must have squares that are numbers; got {value!r}, {n!r} and {sd!r}"
        ) from None


def _standing_for(settings: Settings, arm: int, mean: float, n: Any, sd: Any) -> tuple[float, ...]:
    if n is None:
        return (mean,) if sd is None else (mean,) * _repeats(settings, arm, sd)
    count = _as_number_of_values(n)
    if settings.noise_model == BOUNDED:
        raise ProblemError(
            "n must be left out where values are within bounds, whose proof goes through them one "
            f"by one; got {n!r}: give the values themselves"
        )
    if settings.noise_model == BERNOULLI:
        return _zeros_and_ones(count, mean * count, "the mean of n values")
    if sd is None and count > 1 and settings.noise_model in UNDECLARED:
        raise ProblemError("sd must be given with n where the noise is unknown; got None")
    spread = 0.0 if sd is None else as_number(sd, "sd", low=0.0, high=math.inf)
    return _two_points(count, mean, (count - 1) * spread**2)


def counted(settings: Settings, n: Any, total: Any, squares: Any) -> tuple[float, ...]:
    """Values for a count, their sum and, where the noise is unknown, the sum of their squares."""
    try:
        return _counted(settings, _as_number_of_values(n), as_value(total, "sum"), squares)
    except OverflowError:
        raise ProblemError(
            f"sum and sumsq must have squares that are numbers; got {total!r} and {squares!r}"
        ) from None


def _counted(settings: Settings, count: int, sum_: float, squares: Any) -> tuple[float, ...]:
    if settings.noise_model == BERNOULLI:
        return _zeros_and_ones(count, sum_, "sum")
    if settings.noise_model == BOUNDED:
        raise ProblemError(
            "counts are for values 0 and 1, or with noise that is declared or unknown: give values "
            "within bounds by add_observations"
        )
    if squares is None:
        if settings.noise_model in UNDECLARED and count > 1:
            raise ProblemError("sumsq must be given where the noise is unknown; got None")
        return (sum_ / count,) * count
    scatter = as_number(squares, "sumsq", low=0.0, high=math.inf) - sum_**2 / count
    if scatter < -1e-9 * abs(squares):
        raise ProblemError(
            f"sumsq must be at least sum^2 / n, {sum_**2 / count!r}; got {squares!r}"
        )
    return _two_points(count, sum_ / count, max(scatter, 0.0))


def _as_number_of_values(n: Any) -> int:
    count = as_count(n, "n", 1)
    if count > MOST:
        raise ProblemError(f"n must be at most {MOST:,} at once; got {n!r}")
    return count


def _two_points(n: int, mean: float, scatter: float) -> tuple[float, ...]:
    """n values with this mean and this sum of squared deviations; an odd one at the mean."""
    pairs = n // 2
    away = math.sqrt(scatter / (2 * pairs)) if pairs else 0.0
    return (mean + away, mean - away) * pairs + (mean,) * (n % 2)


def _zeros_and_ones(n: int, total: float, name: str) -> tuple[float, ...]:
    ones = round(total)
    if abs(total - ones) > 1e-6 * max(1.0, n * 1e-3) or not 0 <= ones <= n:
        raise ProblemError(
            f"{name} must be that of {n} values 0 and 1, a whole number of ones from 0 to {n}; "
            f"got {total:g} of them"
        )
    return (1.0,) * ones + (0.0,) * (n - ones)


def _repeats(settings: Settings, arm: int, sd: Any) -> int:
    """How many measurements a value stands for: its information, rounded down."""
    own = as_number(sd, "sd", low=0.0, high=math.inf, low_open=True)
    if settings.noise_model != KNOWN or settings.reward_range is not None:
        raise ProblemError(
            "sd must be left out for a single value unless the noise is declared as a standard "
            f"deviation; got {sd!r}"
        )
    noise = settings.noise[0 if len(settings.noise) == 1 else arm]
    if own > noise * (1.0 + 1e-12):
        raise ProblemError(
            f"sd must be at most the declared noise, {noise:g}: declare the largest that a value "
            f"may have; got {sd!r}"
        )
    return min(int((noise / own) ** 2 * (1.0 + 1e-9)), MOST)


def refuse_all_outside(values: tuple[float, ...], settings: Settings) -> None:
    """Refuse values that the study's settings exclude."""
    for value in set(values):
        refuse_outside(value, settings.reward_range)
        if settings.noise_model == BERNOULLI and value not in (0.0, 1.0):
            raise ProblemError(f"value must be 0 or 1, as was declared; got {value!r}")
