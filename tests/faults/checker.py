"""Compares a log with the clients' records, by plain SQL and without the package.

Acknowledged calls are in the log exactly once. Refused calls are not. Calls without an answer were
repeated until their outcome was known. No client asked for anything else that is in the log. A call
that returned before another began has the smaller number. Readers saw a prefix of the log with all
that had been acknowledged by then.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from faults.record import NAME, OK, REFUSED, Operation

QUERY = (
    "SELECT sequence, time, kind, body, seal FROM mislid_events WHERE key = {} ORDER BY sequence"
)
LAST = "SELECT key, last FROM mislid_studies WHERE name = 's'"
# What an event makes true: its kind, and what is told of what.
Effect = tuple[Any, ...]


class Row(NamedTuple):
    """An event as the database has it."""

    sequence: int
    time: float
    kind: str
    body: str
    seal: str


class Violation(NamedTuple):
    """A promise that was not kept: which, and what shows it."""

    what: str
    shown: str


@dataclass
class Measurement:
    trial: int | None
    label: str
    value: float
    void: bool = False


@dataclass
class Model:
    """A small replay of a log, by which effects get the names that clients use."""

    labels: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    trials: list[tuple[str, str | None]] = field(default_factory=list)  # label, worker
    rows: list[Measurement] = field(default_factory=list)
    effects: list[tuple[int, Effect, str | None]] = field(default_factory=list)
    asked: dict[str, list[int]] = field(default_factory=dict)  # trials by key
    samples: list[int] = field(default_factory=list)  # after every event
    changes: list[int] = field(default_factory=list)  # events after which rules start again
    _samples: int = 0

    def take_in(self, row: Row) -> None:
        """The next event."""
        body = json.loads(row.body)
        key = body["key"].rpartition(" ")[0] if "key" in body else None
        effect = getattr(self, f"_{row.kind}")(body, key)
        if effect is not None:
            self.effects.append((row.sequence, effect, key))
        if row.kind in ("corrected", "voided", "added", "retired"):
            self.changes.append(row.sequence)
            self._samples = len(self.counted())
        self.samples.append(self._samples)

    def counted(self) -> list[Measurement]:
        return [one for one in self.rows if not one.void and one.label not in self.gone]

    def _measure(self, trial: int | None, label: str, value: float) -> None:
        self.rows.append(Measurement(trial, label, value))
        self._samples += label not in self.gone

    def _created(self, body: dict[str, Any], _key: str | None) -> None:
        self.labels += body["candidates"]["labels"]

    def _asked(self, body: dict[str, Any], key: str | None) -> Effect | None:
        self.trials += [(self.labels[arm], body["worker"]) for arm in body["arms"]]
        if key is None:
            return None
        self.asked[key] = body["trials"]
        return ("asked", key)

    def _renewed(self, _body: dict[str, Any], _key: str | None) -> None:
        return None

    def _told(self, body: dict[str, Any], _key: str | None) -> Effect:
        trial, value = body["trial"], body["value"]
        self._measure(trial, self.trials[trial][0], value)
        return ("told", trial, value)

    def _failed(self, body: dict[str, Any], _key: str | None) -> Effect:
        return ("failed", body["trial"])

    def _observed(self, body: dict[str, Any], _key: str | None) -> Effect:
        given = zip(body["arms"], body["values"], strict=True)
        pairs = [(self.labels[arm], value) for arm, value in given]
        for label, one in pairs:
            self._measure(None, label, one)
        return ("observed", *pairs)

    def _corrected(self, body: dict[str, Any], _key: str | None) -> Effect:
        (row,), (value,) = body["rows"], body["values"]
        self.rows[row].value, self.rows[row].void = value, False
        return ("corrected", self.rows[row].trial, value)

    def _voided(self, body: dict[str, Any], _key: str | None) -> Effect:
        (row,) = body["rows"]
        self.rows[row].void = True
        return ("voided", self.rows[row].trial)

    def _added(self, body: dict[str, Any], _key: str | None) -> Effect:
        self.labels += body["candidates"]["labels"]
        return ("added", *body["candidates"]["labels"])

    def _retired(self, body: dict[str, Any], _key: str | None) -> Effect:
        label = self.labels[body["arm"]]
        if body["leaves"]:
            self.gone.add(label)
        return ("retired", label, body["leaves"])

    def _decided(self, _body: dict[str, Any], _key: str | None) -> None:
        return None

    def _contradicted(self, _body: dict[str, Any], _key: str | None) -> None:
        return None


def effect_of(operation: Operation) -> Effect | None:
    """What a call makes true; None for one that only looks, or that may get what is there."""
    given = operation.arguments
    match operation.call:
        case "ask":
            return None if operation.key is None else ("asked", operation.key)
        case "tell":
            return ("told", given["trial"], given["value"])
        case "fail":
            return ("failed", given["trial"])
        case "observe":
            return ("observed", *map(tuple, given["rows"]))
        case "correct":
            return ("corrected", given["trial"], given["value"])
        case "void":
            return ("voided", given["trial"])
        case "add":
            return ("added", given["label"])
        case "retire":
            return ("retired", given["label"], given["leave"])
    return None


def read_sqlite(file: Path) -> tuple[int, list[Row]]:
    """The number of events that the study's own row has, and the events."""
    connection = sqlite3.connect(file)
    try:
        key, last = connection.execute(LAST).fetchone()
        return last, [Row(*row) for row in connection.execute(QUERY.format(int(key)))]
    finally:
        connection.close()


def read_postgresql(address: str) -> tuple[int, list[Row]]:
    """As `read_sqlite`."""
    import psycopg

    with psycopg.connect(address) as connection:
        key, last = connection.execute(LAST).fetchone()  # type: ignore[misc]
        return last, [Row(*row) for row in connection.execute(QUERY.format(int(key)))]


def replayed(rows: Sequence[Row]) -> Model:
    """All events, taken in."""
    model = Model()
    for row in rows:
        model.take_in(row)
    return model


def violations(last: int, rows: Sequence[Row], done: Iterable[Operation]) -> list[Violation]:
    """All promises that were not kept."""
    operations = list(done)
    broken = [*_chain(last, rows)]
    try:
        model = replayed(rows)
    except (KeyError, IndexError, ValueError, AttributeError) as problem:
        return [*broken, Violation("unreadable", repr(problem))]
    return [
        *broken,
        *_effects(model, operations),
        *_asks(model, operations),
        *_order(model, operations),
        *_looks(rows, model, operations),
    ]


def _chain(last: int, rows: Sequence[Row]) -> Iterable[Violation]:
    """Numbers without gaps, and recomputed seals."""
    if [row.sequence for row in rows] != list(range(1, last + 1)):
        yield Violation("numbers", f"{len(rows)} events, of which the study has {last}")
    seal = NAME  # in the place of a seal before
    for row in rows:
        line = f"{seal}\n{row.sequence} {row.time!r} {row.kind} {row.body}"
        if hashlib.sha256(line.encode()).hexdigest() != row.seal:
            yield Violation("seal", f"of event {row.sequence}")
        seal = row.seal


def _effects(model: Model, operations: Sequence[Operation]) -> Iterable[Violation]:
    found = Counter(effect for _, effect, _ in model.effects)
    keys = {effect: key for _, effect, key in model.effects}
    told = Counter(effect[1] for _, effect, _ in model.effects if effect[0] in ("told", "failed"))
    yield from (Violation("doubled", f"trial {one}") for one, n in told.items() if n > 1)
    yield from (Violation("doubled", f"{effect}") for effect, n in found.items() if n > 1)
    wanted = {effect_of(one) for one in operations}
    yield from (Violation("unwanted", f"{effect}") for effect in found if effect not in wanted)
    not_refused = {effect_of(one) for one in operations if one.outcome != REFUSED}
    for one in operations:
        effect = effect_of(one)
        if effect is None:
            continue
        if one.outcome == OK and not found[effect]:
            yield Violation("lost", f"{one}")
        if one.outcome == REFUSED and found[effect] and effect not in not_refused:
            yield Violation("refused, and done", f"{one}")
        if one.is_open and not (one.call == "observe" and one.key is None):
            yield Violation("never found out", f"{one}")
        if one.key is not None and one.outcome == OK and keys.get(effect, one.key) != one.key:
            yield Violation("another key", f"{one}: {keys[effect]}")


def _asks(model: Model, operations: Sequence[Operation]) -> Iterable[Violation]:
    """Trials are what the log says, and were handed out to whom it says."""
    for one in operations:
        if one.call != "ask" or one.outcome != OK:
            continue
        worker = one.arguments["worker"]
        if any(
            trial >= len(model.trials) or model.trials[trial] != (label, worker)
            for trial, label in one.reply
        ):
            yield Violation("other trials", f"{one}")
        if one.key is not None and model.asked.get(one.key) != [trial for trial, _ in one.reply]:
            yield Violation("other trials", f"{one}: {model.asked.get(one.key)}")


def _order(model: Model, operations: Sequence[Operation]) -> Iterable[Violation]:
    """What was acknowledged before something else began has the smaller number."""
    places = {effect: place for place, effect, _ in reversed(model.effects)}
    first: dict[Effect, Operation] = {}
    for one in sorted(operations, key=lambda one: one.begin):
        effect = effect_of(one)
        if effect is not None and effect in places and one.outcome != REFUSED:
            first.setdefault(effect, one)
    acknowledged = _Acknowledged(
        (one.end, places[effect]) for effect, one in first.items() if one.end is not None
    )
    for effect, one in first.items():
        before = acknowledged.before(one.begin)
        if before >= places[effect]:
            yield Violation("order", f"event {places[effect]} began after event {before}: {one}")


class _Acknowledged:
    """The largest number of an event that was acknowledged by a time."""

    def __init__(self, found: Iterable[tuple[int, int]]) -> None:
        ends = sorted(found)
        self._times = [end for end, _ in ends]
        self._largest = list(accumulate((place for _, place in ends), max))

    def before(self, time: int) -> int:
        number = bisect_left(self._times, time)
        return self._largest[number - 1] if number else 0


def _looks(
    rows: Sequence[Row], model: Model, operations: Sequence[Operation]
) -> Iterable[Violation]:
    """Who looked saw a beginning of the log, and all that had been acknowledged."""
    places = {effect: place for place, effect, _ in model.effects}
    acknowledged = _Acknowledged(
        (one.end, places[effect])
        for one in operations
        if one.outcome == OK and one.end is not None and (effect := effect_of(one)) in places
    )
    for one in operations:
        if one.call != "look" or one.outcome != OK:
            continue
        events = one.reply["events"]
        seen = one.reply["head"], one.reply["samples"]
        if events > len(rows) or seen != (rows[events - 1].seal, model.samples[events - 1]):
            yield Violation("seen, and gone", f"{one}")
        if events < acknowledged.before(one.begin):
            yield Violation("stale", f"{one}")
