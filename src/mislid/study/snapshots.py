"""What a long log has come to, kept in a file of the user's own.

Whoever can write to the database cannot write there: a snapshot holds what this user's process has
derived from sealed events. It is used only where the log still has the event that it ends with, by
its seal; anything odd about it, and the log is read from its beginning.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import io
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mislid
from mislid.errors import MislidError
from mislid.files import write_whole
from mislid.study.chain import Chain
from mislid.study.events import Decided, Entry, Event, entry_of, event_of
from mislid.study.replay import Replay
from mislid.study.requests import Kept
from mislid.study.state import Observation, StudyState, TrialRecord

FOLDER = "MISLID_SNAPSHOTS"
# Events after which a new one is kept.
EVERY = 20_000
_MOST, _LARGEST = 16, 2**30
_STATES = ("open", "replaced", "complete", "fail", "void")
# What a state is made of: one that has more is not kept until it is known here how.
_ALWAYS_EMPTY = (
    "changes", "void", "withdrawn", "corrections", "declarations", "contradictions",
)  # fmt: skip
_FIELDS = {
    StudyState: (
        "sequence time elapsed keys begun created_at changes trials waiting rows void "
        "observations decision withdrawn corrections declarations contradictions contradicted_at "
        "revision repeats _census _recorded _rows_of_trials"
    ),
    TrialRecord: "id arm worker expires state value asked until",
    Observation: "row sequence time trial arm value",
}
Arrays = dict[str, NDArray[Any]]


def folder() -> Path | None:
    """Where snapshots are kept; None where nobody wants them."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given).expanduser() if given else None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "mislid" / "studies"
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache_home).expanduser() / "mislid" / "studies"


def are_kept() -> bool:
    """Whether there may be any."""
    home = folder()
    return home is not None and home.is_dir()


def keep(replay: Replay, chain: Chain) -> bool:
    """Keep a snapshot, if this state can be kept; what cannot be written is left."""
    home, state = folder(), replay.state
    if home is None or not _can_be_kept(replay) or state.sequence != chain.sequence:
        return False
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(home):
            return False
        content = _packed(replay, chain)
        write_whole(home / f"{chain.first}.snapshot", content)
        _remove_old(home)
    except (OSError, MislidError):
        return False
    return True


def recall(first: str, replay: Replay) -> Chain | None:
    """Let a fresh replay go on from what is kept of the study that begins so; None if nothing is.

    The chain is at the last event that was taken in: see whether the log still has it.
    """
    home = folder()
    place = None if home is None else home / f"{first}.snapshot"
    try:
        if place is None or home is None or not place.is_file() or not _is_own(home):
            return None
        if not _is_own(place) or place.stat().st_size > _LARGEST:
            return None
        header, arrays = _unpacked(place.read_bytes())
        if header["stamp"] != _stamp() or header["first"] != first:
            return None
        with _no_collection():
            _fill(replay, header, arrays)
    except (OSError, MislidError, ValueError, KeyError, TypeError, IndexError, EOFError):
        return None
    return Chain(header["sequence"], header["head"], first)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Many new objects, and no garbage among them: looking for some would double the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def forget(entries: Sequence[Entry]) -> None:
    """Remove what is kept of a study that began with these entries."""
    home = folder()
    if home is not None and entries and re.fullmatch("[0-9a-f]{64}", entries[0].seal):
        with suppress(OSError):
            (home / f"{entries[0].seal}.snapshot").unlink(missing_ok=True)


def _can_be_kept(replay: Replay) -> bool:
    known = all(
        {field.name for field in dataclasses.fields(kind)} == set(names.split())
        for kind, names in _FIELDS.items()
    )
    state, given = replay.state, replay.given
    empty = not any(getattr(state, name) for name in _ALWAYS_EMPTY) and state.revision == 0
    return known and empty and given == (None, None) and replay.is_caught_up


def _is_own(place: Path) -> bool:
    """Whether nobody else can write there."""
    found = place.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _remove_old(home: Path) -> None:
    kept = sorted(home.glob("*.snapshot"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_MOST]:
        path.unlink(missing_ok=True)


@cache
def _stamp() -> str:
    """Of all that a replay depends on: the package as it is, NumPy, and the kind of processor."""
    home = Path(mislid.__file__).parent
    parts = [mislid.__version__, np.__version__, sys.version, platform.machine(), platform.node()]
    for path in sorted(home.rglob("*.py")):
        found = path.stat()
        parts.append(f"{path.relative_to(home)} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _packed(replay: Replay, chain: Chain) -> bytes:
    state = replay.state
    header: dict[str, Any] = {
        "stamp": _stamp(),
        "first": chain.first,
        "head": chain.head,
        "sequence": state.sequence,
        "time": state.time,
        "elapsed": state.elapsed,
        "keys": state.keys,
        "begun": _body(Event(1, state.created_at, state.begun)) if state.begun else None,
        "created_at": state.created_at,
        "decision": _decision(state._recorded),
        "repeats": state.repeats,
        "workers": list(dict.fromkeys(trial.worker for trial in state.trials)),
        "verdict": _decision(replay.verdict),
        "diverged": replay.diverged,
    }
    arrays = {**_trials(state, header["workers"]), **_rows(state), **replay.freeze()}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    packed = content.getvalue()
    return hashlib.sha256(packed).digest() + packed


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    digest, packed = content[:32], content[32:]
    if hashlib.sha256(packed).digest() != digest:
        raise ValueError("the snapshot is damaged")
    with np.load(io.BytesIO(packed), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def _fill(replay: Replay, header: dict[str, Any], arrays: Arrays) -> None:
    state = replay.state
    state.apply(event_of(Entry(1, header["created_at"], "created", header["begun"])))
    state.sequence, state.time = header["sequence"], header["time"]
    state.elapsed, state.repeats = header["elapsed"], header["repeats"]
    state.keys = {
        key: Kept(digest, sequence, tuple(trials))
        for key, (digest, sequence, trials) in header["keys"].items()
    }
    state._recorded = _decided(header["decision"])
    if state._recorded is not None:
        state.decision = state.census.present(state._recorded)
    _fill_trials(state, arrays, header["workers"])
    _fill_rows(state, arrays)
    replay.thaw(arrays, _decided(header["verdict"]), header["diverged"])


def _body(event: Event) -> str:
    return entry_of(event).body


def _decision(decision: Decided | None) -> str | None:
    return None if decision is None else _body(Event(0, 0.0, decision))


def _decided(body: str | None) -> Decided | None:
    if body is None:
        return None
    fact = event_of(Entry(0, 0.0, "decided", body)).fact
    return fact if isinstance(fact, Decided) else None


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
    state.observations = list(state.rows)
    state._rows_of_trials = of_trials
