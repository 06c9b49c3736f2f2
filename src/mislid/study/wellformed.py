"""Whether an event can have happened after those before it.

A log may come from anywhere: a seal says that nobody changed it since, not that a study wrote it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mislid.study.events import Event
from mislid.study.facts import (
    Added,
    Asked,
    Contradicted,
    Corrected,
    Created,
    Decided,
    Failed,
    Observed,
    Redeclared,
    Renewed,
    Retired,
    Told,
    Voided,
)

if TYPE_CHECKING:
    from mislid.study.state import StudyState

OPEN_STATES = ("open", "replaced")


def complaint(state: StudyState, event: Event) -> str | None:
    """What is wrong with the next event of a log, or None; kinds that are not looked at pass."""
    try:
        return _complaint(state, event)
    except (TypeError, OverflowError, ValueError, AttributeError):
        return "does not hold what such an event holds"


def _complaint(state: StudyState, event: Event) -> str | None:
    fact = event.fact
    if not math.isfinite(event.time):
        return f"is of the time {event.time!r}, which is none"
    if event.key is not None and event.key.rpartition(" ")[0] in state.keys:
        return f"has the key {event.key!r}, which was used before"
    if isinstance(fact, Created) != (event.sequence == 1):
        return "begins a study" if isinstance(fact, Created) else "comes before the settings"
    match fact:
        case Told(trial, value, more):
            return _not_open(state, trial) or _not_values(state, (value, *more))
        case Failed(trial):
            return _not_open(state, trial)
        case Asked():
            return _unaskable(state, fact)
        case Renewed(trials, _, expires):
            return _first(_not_waiting(state, trial) for trial in trials) or _not_time(expires)
        case Observed(arms, values):
            if len(arms) != len(values):
                return "has more arms than values, or fewer"
            return _not_among(arms, state.census.register.K, "arm") or _not_values(state, values)
        case Corrected(rows, values):
            if len(rows) != len(values):
                return "has more rows than values, or fewer"
            return _unmendable(state, rows) or _not_values(state, values)
        case Voided(rows):
            return _unmendable(state, rows)
        case Decided():
            return _undecidable(state, fact)
        case Redeclared(_, noise) if noise is not None:
            return None if len(noise) in (1, state.candidates.K) else "has noise for other arms"
        case Added():
            return _unaddable(state, fact)
        case Retired():
            return _unretirable(state, fact)
        case Contradicted(what=what) if what not in ("misspecification", "noise"):
            return f"contradicts {what!r}, which is never declared"
    return None


def _unaskable(state: StudyState, asked: Asked) -> str | None:
    first, count = len(state.trials), len(asked.trials)
    if tuple(asked.trials) != tuple(range(first, first + count)):
        return f"hands out other trials than {first}, which is the next"
    if not count == len(asked.arms) == len(asked.again):
        return "has more arms than trials, or fewer"
    again = [one for one in asked.again if one is not None]
    proposed = asked.proposed or ()
    fresh = count - len(again)
    if len(set(again)) != len(again) or (proposed and (not fresh or fresh % len(proposed))):
        return "asks again for one trial twice, or has proposals without trials"
    return (
        _not_asked_about(state, (*asked.arms, *proposed))
        or _first(_not_waiting(state, one) for one in again)
        or _not_time(asked.expires)
    )


def _undecidable(state: StudyState, decided: Decided) -> str | None:
    answer = decided.answer
    if len(answer) != state.settings.m or len(set(answer)) != len(answer):
        return f"decides for {len(answer)} arms, not for {state.settings.m} different ones"
    if not 0 < decided.samples <= len(state.observations):
        return f"decides after {decided.samples!r} of {len(state.observations)} measurements"
    if decided.samples % 1 or math.isnan(decided.threshold + decided.statistic):
        return "decides by what is no number"
    challenger, incumbent = decided.pair
    return _not_asked_about(state, (*answer, challenger, incumbent))


def _not_asked_about(state: StudyState, arms: Sequence[Any]) -> str | None:
    """Whether an arm is not in the register, or has left the question."""
    wrong = _not_among(arms, len(state.census.register.labels), "arm")
    left = [arm for arm in arms if arm in state.census.gone]
    return wrong or (f"names arm {left[0]}, which left the question" if left else None)


def _unaddable(state: StudyState, added: Added) -> str | None:
    """What is wrong with new candidates."""
    register, more = state.census.register, added.candidates
    shapes = [None if one.features is None else one.features.shape[1] for one in (register, more)]
    if (
        more.K < 1
        or shapes[0] != shapes[1]
        or not register.positions.keys().isdisjoint(more.positions)
    ):
        return "adds candidates that do not fit the others"
    numbers = (*(added.noise or ()), *(added.cost or ()))
    if any(one is not None and len(one) != more.K for one in (added.noise, added.cost)) or not all(
        math.isfinite(number) and number > 0.0 for number in numbers
    ):
        return "has noise or costs that do not fit its candidates"
    return None


def _unretirable(state: StudyState, retired: Retired) -> str | None:
    census = state.census
    if retired.leaves and len(census.arms) - 1 <= census.settings.m:
        return "leaves too few candidates in the question"
    return _not_asked_about(state, (retired.arm,))


def _unmendable(state: StudyState, rows: Sequence[Any]) -> str | None:
    if not rows or len(set(rows)) != len(rows):
        return "mends nothing, or one row twice"
    return _not_among(rows, len(state.rows), "row")


def _not_open(state: StudyState, trial: Any) -> str | None:
    if not _is_index(trial, len(state.trials)):
        return f"is about trial {trial!r}, which was not asked"
    if state.trials[trial].state not in OPEN_STATES:
        return f"tells trial {trial}, which has been told before"
    return None


def _not_waiting(state: StudyState, trial: Any) -> str | None:
    if not _is_index(trial, len(state.trials)) or trial not in state.waiting:
        return f"is about trial {trial!r}, which was not asked or is not open"
    return None


def _not_among(indices: Iterable[Any], size: int, what: str) -> str | None:
    wrong = [one for one in indices if not _is_index(one, size)]
    return f"names {what} {wrong[0]!r}, which is not among the {size}" if wrong else None


def _is_index(value: Any, size: int) -> bool:
    return type(value) is int and 0 <= value < size


def _not_values(state: StudyState, values: Sequence[Any]) -> str | None:
    if not all(map(math.isfinite, values)):
        return "has a value that is no finite number"
    bounds = state.settings.reward_range
    if bounds is not None and values and not bounds[0] <= min(values) <= max(values) <= bounds[1]:
        return f"has a value outside of {bounds[0]!r} to {bounds[1]!r}"
    return None


def _not_time(expires: Any) -> str | None:
    return None if expires is None or expires > 0 else f"has a lease until {expires!r}"


def _first(found: Iterable[str | None]) -> str | None:
    return next((one for one in found if one is not None), None)
