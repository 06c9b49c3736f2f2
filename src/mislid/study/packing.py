"""A study as this process knows it, as a header that JSON has and arrays, and back.

What every measurement has goes into arrays. What happens rarely (corrections, declarations,
candidates that come and go) goes into the header, as the log writes it.
"""

from __future__ import annotations

import dataclasses
from heapq import merge
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mislid.study.census import Census
from mislid.study.events import Entry, Event, entry_of, event_of
from mislid.study.facts import Accepted, Added, Contradicted, Created, Decided, Redeclared, Retired
from mislid.study.replay import Replay
from mislid.study.state import (
    Correction,
    Kept,
    Observation,
    StudyState,
    TrialRecord,
    Withdrawal,
)

_STATES = ("open", "replaced", "complete", "fail", "void")
# What a state is made of: one that has more is not kept until it is known here how.
_FIELDS = {
    StudyState: (
        "sequence time elapsed keys begun created_at changes trials waiting rows void "
        "observations decision withdrawn corrections declarations contradictions contradicted_at "
        "revision repeats _census _recorded _rows_of_trials"
    ),
    TrialRecord: "id arm worker expires state value asked until",
    Observation: "row sequence time trial arm value",
    Correction: "sequence time of was value reason",
    Withdrawal: "sequence time decision cause",
}
Arrays = dict[str, NDArray[Any]]
Plain = dict[str, Any]
F = TypeVar("F", Created, Decided, Contradicted)


def can_be_packed(replay: Replay) -> bool:
    """Whether all that there is of it is known here."""
    known = all(
        {field.name for field in dataclasses.fields(kind)} == set(names.split())
        for kind, names in _FIELDS.items()
    )
    return known and replay.given == (None, None) and replay.is_caught_up


def packed(replay: Replay) -> tuple[Plain, Arrays]:
    """Header and arrays."""
    state = replay.state
    workers = list(dict.fromkeys(trial.worker for trial in state.trials))
    header = {
        "sequence": state.sequence,
        "time": state.time,
        "elapsed": state.elapsed,
        "keys": state.keys,
        "begun": None if state.begun is None else _fact(state.begun),
        "created_at": state.created_at,
        "decision": None if state._recorded is None else _fact(state._recorded),
        "repeats": state.repeats,
        "workers": workers,
        "verdict": None if replay.verdict is None else _fact(replay.verdict),
        "diverged": replay.diverged,
        **_rare(state),
    }
    return header, {**_trials(state, workers), **_rows(state), **replay.freeze()}


def unpack(replay: Replay, header: Plain, arrays: Arrays) -> None:
    """Let a fresh replay go on from there."""
    state = replay.state
    state.apply(Event(1, header["created_at"], _read(header["begun"], Created)))
    state.sequence, state.time = header["sequence"], header["time"]
    state.elapsed, state.repeats = header["elapsed"], header["repeats"]
    state.keys = {
        key: Kept(digest, sequence, tuple(trials))
        for key, (digest, sequence, trials) in header["keys"].items()
    }
    _fill_trials(state, arrays, header["workers"])
    _fill_rows(state, arrays)
    _fill_rare(state, header)
    if header["decision"] is not None:
        state._recorded = _read(header["decision"], Decided)
        state.decision = state.census.present(state._recorded)
    verdict = None if header["verdict"] is None else _read(header["verdict"], Decided)
    replay.thaw(arrays, verdict, header["diverged"])


def _event(event: Event) -> list[Any]:
    entry = entry_of(event)
    return [entry.sequence, entry.time, entry.kind, entry.body]


def _fact(fact: Any) -> list[Any]:
    return _event(Event(0, 0.0, fact))


def _read(written: list[Any], kind: type[F]) -> F:
    fact = event_of(Entry(*written)).fact
    if not isinstance(fact, kind):
        raise TypeError(f"a snapshot has {type(fact).__name__} in the place of {kind.__name__}")
    return fact


def _rare(state: StudyState) -> Plain:
    """What most studies do not have."""
    return {
        "void": sorted(state.void),
        "revision": state.revision,
        "changes": [_event(one) for one in state.changes],
        "declarations": [_event(one) for one in state.declarations],
        "corrections": [dataclasses.astuple(one) for one in state.corrections],
        "withdrawn": [
            (one.sequence, one.time, _fact(one.decision), one.cause) for one in state.withdrawn
        ],
        "contradictions": [_fact(one) for one in state.contradictions.values()],
        "contradicted_at": state.contradicted_at,
    }


def _fill_rare(state: StudyState, header: Plain) -> None:
    state.void, state.revision = set(header["void"]), header["revision"]
    state.changes = [event_of(Entry(*one)) for one in header["changes"]]
    state.declarations = [event_of(Entry(*one)) for one in header["declarations"]]
    state._census = _census(state)
    state.count_again()
    state.corrections = [
        Correction(sequence, time, Observation(*of), *rest)
        for sequence, time, of, *rest in header["corrections"]
    ]
    state.withdrawn = [
        Withdrawal(sequence, time, _read(decision, Decided), cause)
        for sequence, time, decision, cause in header["withdrawn"]
    ]
    found = [_read(one, Contradicted) for one in header["contradictions"]]
    state.contradictions = {one.what: one for one in found}
    state.contradicted_at = header["contradicted_at"]


def _census(state: StudyState) -> Census:
    """As changes and declarations, each in its turn, have made it."""
    census = state.census
    for event in merge(state.changes, state.declarations, key=lambda event: event.sequence):
        if isinstance(event.fact, Added | Retired | Redeclared | Accepted):
            census = census.after(event.fact)
    return census


def _numbers(values: list[float | None]) -> NDArray[np.float64]:
    """With not-a-number for None."""
    return np.array(values, dtype=np.float64)


def _or_none(values: NDArray[np.float64]) -> list[float | None]:
    known: list[float | None] = values.tolist()
    for at in np.flatnonzero(np.isnan(values)).tolist():
        known[at] = None
    return known


def _trials(state: StudyState, workers: list[str | None]) -> Arrays:
    number = {worker: k for k, worker in enumerate(workers)}
    codes = {name: k for k, name in enumerate(_STATES)}
    trials = state.trials
    return {
        "trial_arm": np.array([one.arm for one in trials], dtype=np.int32),
        "trial_worker": np.array([number[one.worker] for one in trials], dtype=np.int32),
        "trial_expires": _numbers([one.expires for one in trials]),
        "trial_state": np.array([codes[one.state] for one in trials], dtype=np.int8),
        "trial_value": _numbers([one.value for one in trials]),
        "trial_asked": np.array([one.asked for one in trials], dtype=np.float64),
        "trial_until": _numbers([one.until for one in trials]),
        "waiting": np.array(list(state.waiting), dtype=np.int64),
    }


def _fill_trials(state: StudyState, arrays: Arrays, workers: list[str | None]) -> None:
    count = arrays["trial_arm"].size
    state.trials = list(
        map(
            TrialRecord,
            range(count),
            arrays["trial_arm"].tolist(),
            [workers[k] for k in arrays["trial_worker"].tolist()],
            _or_none(arrays["trial_expires"]),
            [_STATES[k] for k in arrays["trial_state"].tolist()],
            _or_none(arrays["trial_value"]),
            arrays["trial_asked"].tolist(),
            _or_none(arrays["trial_until"]),
        )
    )
    state.waiting = dict.fromkeys(arrays["waiting"].tolist())


def _rows(state: StudyState) -> Arrays:
    rows = state.rows
    none = -1
    return {
        "row_sequence": np.array([one.sequence for one in rows], dtype=np.int64),
        "row_time": np.array([one.time for one in rows], dtype=np.float64),
        "row_trial": np.array(
            [none if one.trial is None else one.trial for one in rows], dtype=np.int64
        ),
        "row_arm": np.array([one.arm for one in rows], dtype=np.int32),
        "row_value": np.array([one.value for one in rows], dtype=np.float64),
    }


def _fill_rows(state: StudyState, arrays: Arrays) -> None:
    trials: list[int | None] = arrays["row_trial"].tolist()
    of_trials: dict[int, list[int]] = {}
    for row, trial in enumerate(trials):
        if trial is None or trial < 0:
            trials[row] = None
        else:
            of_trials.setdefault(trial, []).append(row)
    state.rows = list(
        map(
            Observation,
            range(len(trials)),
            arrays["row_sequence"].tolist(),
            arrays["row_time"].tolist(),
            trials,
            arrays["row_arm"].tolist(),
            arrays["row_value"].tolist(),
        )
    )
    state._rows_of_trials = of_trials
