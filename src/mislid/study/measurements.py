"""Validation of measurements: single values, tables, summary statistics and corrections.

Proofs use an arm's count, sum and sum of squared deviations. Several values may therefore be told
by these statistics: the log records substitute values with the same statistics, which are always
used together. Bounded values are the exception, because their proof uses them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import as_count, as_number
from mislid.errors import ProblemError
from mislid.stopping.noise import UNDECLARED
from mislid.study.assumption_tests import (
    REPEATED,
    becomes_constant,
    constant_words,
    plausible_range,
)
from mislid.study.events import Corrected, Failed, Observed, Told, Voided
from mislid.study.settings import BERNOULLI, BOUNDED, KNOWN, Settings, as_reason
from mislid.study.state import COMPLETE, FAIL, StudyState

if TYPE_CHECKING:
    from mislid.study.session import Session

COLUMNS = ("arm", "value")
# Largest absolute value: above it, evidence overflows with the smallest noise that is allowed.
LARGEST = 1e75
# The most values that one call may summarize.
MOST = 1_000_000


def as_value(value: Any, name: str = "value") -> float:
    """Check a measurement: a finite number whose square over any noise variance is finite.

    >>> as_value(float("nan"))
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: value must be a finite number; got nan
    """
    found = as_number(value, name, low=-math.inf, high=math.inf)
    if abs(found) > LARGEST:
        raise ProblemError(
            f"{name} must be between {-LARGEST:g} and {LARGEST:g}; got {found!r}: give values in "
            "another unit"
        )
    return found


def refuse_excluded(values: Iterable[float], settings: Settings, name: str = "value") -> None:
    """Refuse values that the declared noise excludes."""
    for value in set(values):
        if settings.noise_model == BERNOULLI and value not in (0.0, 1.0):
            raise ProblemError(f"{name} must be 0 or 1, as was declared; got {value!r}")
        bounds = settings.reward_range
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise ProblemError(
                f"{name} must be within the study's range, {bounds[0]!r} to {bounds[1]!r}; got "
                f"{value!r} (where that is right, begin a study with a wider range and add the "
                "observations of this one)"
            )


def as_tell(value: Any, state: Any, n: Any, sd: Any) -> float | None:
    """Check the arguments of a tell; return the value, or None if the trial failed."""
    if not isinstance(state, str) or state not in (COMPLETE, FAIL):
        raise ProblemError(f"state must be {COMPLETE!r} or {FAIL!r}; got {shown(state)}")
    if state == COMPLETE:
        return as_value(value)
    if value is not None:
        raise ProblemError(f"value must be left out for a trial that failed; got {shown(value)}")
    if n is not None or sd is not None:
        raise ProblemError("n and sd must be left out for a trial that failed")
    return None


def tell(
    state: StudyState, trial_id: int, value: float | None, n: Any, sd: Any
) -> list[Failed | Told]:
    """Facts that record a trial's value or its failure (None); none if told before."""
    if value is None:
        return [Failed(trial_id)] if state.is_news(trial_id, FAIL) else []
    place = state.roster.place(state.trial(trial_id).arm)
    if place is None and (n is not None or sd is not None):
        raise ProblemError(
            "n and sd must be left out for a candidate that left the question: its values do not "
            "count"
        )
    values = as_mean(state.settings, value, n, sd)
    if not state.is_news(trial_id, COMPLETE, values):
        return []
    refuse_excluded(values, state.settings)
    return [Told(trial_id, values[0], values[1:])]


def correct(
    state: StudyState, trial: int | None, row: int | None, value: float, reason: Any
) -> list[Corrected]:
    """Facts that record a corrected value; none if the measurement already has it."""
    rows, why = _as_rows(state, trial, row), as_reason(reason)
    if len(rows) > 1:
        raise ProblemError(
            f"trial must be one with a single value; got {trial}, which told {len(rows)} at once: "
            "make it void, and add what was measured by add_observations or add_counts"
        )
    refuse_excluded((value,), state.settings)
    known = rows[0] not in state.void and state.rows[rows[0]].value == value
    return [] if known else [Corrected(rows, (value,), why)]


def void(state: StudyState, trial: int | None, row: int | None, reason: Any) -> list[Voided]:
    """Facts that record void measurements; none if they are already void."""
    rows, why = _as_rows(state, trial, row), as_reason(reason)
    return [] if state.void.issuperset(rows) else [Voided(rows, why)]


def _as_rows(state: StudyState, trial: int | None, row: int | None) -> tuple[int, ...]:
    if (trial is None) == (row is None):
        raise ProblemError("give trial or row, which of the measurements it is; got both or none")
    if trial is not None:
        return state.rows_of(trial)
    at = as_count(row, "row", 0)
    if at >= len(state.rows):
        raise ProblemError(
            f"row must be below the number of measurements, {len(state.rows)}; got {at}"
        )
    trial_of = state.rows[at].trial
    if trial_of is not None and len(state.rows_of(trial_of)) > 1:
        raise ProblemError(
            f"row must be of a measurement that was told by itself; got {at}, one of several of "
            f"trial {trial_of}: make that trial void"
        )
    return (at,)


def doubts(session: Session, trial_id: int, value: float | None) -> list[str]:
    """Warnings if a new value is far outside its plausible range."""
    state, tallies = session.knowing(trial_id), session.tallies
    if value is None or not state.is_untold(trial_id):
        return []
    arm = state.roster.place(state.trials[trial_id].arm)
    if arm is None:
        return []
    noise = state.settings.deviations(state.candidates.K)
    if state.settings.noise_model in UNDECLARED:
        if becomes_constant(tallies, arm, value):
            return [constant_words(REPEATED)]
        noise = np.zeros_like(noise)
    elif state.settings.noise_model != KNOWN:
        return []  # every value in the declared range is plausible
    expected = plausible_range(tallies, noise, arm)
    if expected is None or expected[0] <= value <= expected[1]:
        return []
    words = (
        f"{value:g} for {state.candidates.labels[arm]!r} is far from what was measured before, "
        f"which lets one expect {expected[0]:.3g} to {expected[1]:.3g}; it counts. If it is a "
        f"mistake: study.correct({trial_id}, VALUE), or `mislid study correct NAME {trial_id} "
        "VALUE`"
    )
    return [words]


def as_pairs(observations: Any) -> tuple[tuple[Any, float], ...]:
    """Labels and values from a table with columns arm and value, or from pairs."""
    pairs = []
    for row, (label, value) in enumerate(_rows(observations)):
        plain = label.item() if isinstance(label, np.generic) else label
        pairs.append((plain, as_value(value, f"value of observation {row}")))
    return tuple(pairs)


def observe(state: StudyState, pairs: Sequence[tuple[Any, float]]) -> list[Observed]:
    """Facts that record measurements that no trial asked for, all or none."""
    arms = []
    for row, (label, value) in enumerate(pairs):
        place = state.candidates.arm(label, f"arm of observation {row}")
        arms.append(state.roster.arms[place])
        refuse_excluded((value,), state.settings, f"value of observation {row}")
    return [Observed(tuple(arms), tuple(value for _, value in pairs))] if pairs else []


def count(state: StudyState, label: Any, n: Any, total: Any, squares: Any) -> list[Observed]:
    """Facts that record n measurements, given their sum and the sum of their squares."""
    arm, size = state.roster.arms[state.candidates.arm(label)], _as_size(n)
    sum_, scatter = as_value(total, "sum"), None
    if squares is not None and state.settings.noise_model != BERNOULLI:
        least = sum_ * sum_ / size
        scatter = as_number(squares, "sumsq", low=0.0, high=LARGEST**2) - least
        if scatter < -1e-9 * squares:
            raise ProblemError(f"sumsq must be at least sum^2 / n, {least!r}; got {squares!r}")
    values = _standing_for(state.settings, size, sum_ / size, scatter, "sumsq")
    refuse_excluded(values, state.settings)
    return [Observed((arm,) * len(values), values)]


def _rows(observations: Any) -> Iterable[tuple[Any, Any]]:
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


def as_mean(settings: Settings, mean: float, n: Any, sd: Any) -> tuple[float, ...]:
    """n values with a given mean and sample standard deviation `sd`; just the mean without n.

    >>> from mislid import create_study
    >>> settings = create_study(candidates=["a", "b"], m=1, noise=0.5).settings
    >>> as_mean(settings, 0.7, 4, 0.2)[:2]
    (0.8732050807568877, 0.5267949192431122)
    """
    if n is None and sd is not None:
        raise ProblemError(f"sd must be given with n, of so many values; got {sd!r} without n")
    if n is None:
        return (mean,)
    count = _as_size(n)
    spread = None if sd is None else as_number(sd, "sd", low=0.0, high=LARGEST)
    scatter = None if spread is None else (count - 1) * spread**2
    return _standing_for(settings, count, mean, scatter, "sd")


def _standing_for(
    settings: Settings, n: int, mean: float, scatter: float | None, name: str
) -> tuple[float, ...]:
    """n values with a given mean and sum of squared deviations; if n is odd, one is the mean."""
    if settings.noise_model == BERNOULLI:
        return _zeros_and_ones(n, mean * n)
    if settings.noise_model == BOUNDED:
        raise ProblemError(
            "n must be left out where values are within bounds, whose proof goes through them one "
            f"by one; got {n!r}: give the values themselves, by add_observations"
        )
    if scatter is None and n > 1 and settings.noise_model in UNDECLARED:
        raise ProblemError(f"{name} must be given with n where the noise is unknown; got None")
    pairs = n // 2
    away = math.sqrt(max(scatter or 0.0, 0.0) / (2 * pairs)) if pairs else 0.0
    return (mean + away, mean - away) * pairs + (mean,) * (n % 2)


def _as_size(n: Any) -> int:
    count = as_count(n, "n", 1)
    if count > MOST:
        raise ProblemError(f"n must be at most {MOST:,} at once; got {n!r}")
    return count


def _zeros_and_ones(n: int, total: float) -> tuple[float, ...]:
    ones = round(total)
    if abs(total - ones) > 1e-6 * max(1.0, n * 1e-3) or not 0 <= ones <= n:
        raise ProblemError(
            f"the mean or sum must be that of {n} values 0 and 1, with a whole number of ones from "
            f"0 to {n}; got {total:g} of them"
        )
    return (1.0,) * ones + (0.0,) * (n - ones)
