"""What can happen in a study. Its log is all there is: whatever it knows is a replay of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from mislid.errors import CorruptStorageError
from mislid.files import as_plain
from mislid.study.candidates import Candidates
from mislid.study.settings import Settings, present_rule


@dataclass(frozen=True, slots=True)
class Created:
    """The study began with this question."""

    settings: Settings
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class Asked:
    """Trials were handed out, to a worker if named, until `expires` (seconds, None: for ever).

    `again` names, per trial, the expired one that it asks again, or None for a new one. A rule
    chose the arms of new ones or, where the batch had to fit limits, proposed the arms `proposed`,
    one for each group of trials, which are as many in every group.
    """

    trials: tuple[int, ...]
    arms: tuple[int, ...]
    again: tuple[int | None, ...]
    worker: str | None
    expires: float | None
    proposed: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """A worker who came back was given its own trials again, with a new lease."""

    trials: tuple[int, ...]
    worker: str
    expires: float | None


@dataclass(frozen=True, slots=True)
class Told:
    """A trial gave this value, in the user's sign, and `more` that are looked at with it."""

    trial: int
    value: float
    more: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """A trial gave nothing."""

    trial: int


@dataclass(frozen=True, slots=True)
class Observed:
    """Measurements that no trial asked for, in order, taken in at once."""

    arms: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """The stopping rule was satisfied by the first `samples` measurements.

    `answer` has the arms, best first; `statistic` reached `threshold` for the `pair` (challenger,
    incumbent) that was hardest to tell apart.
    """

    answer: tuple[int, ...]
    samples: int
    rule: str
    statistic: float
    threshold: float
    pair: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Corrected:
    """The measurements of rows were mistakes, and were these values; any decision is made anew.

    Rows are counted from 0 over all measurements of the log. One that was void counts again.
    """

    rows: tuple[int, ...]
    values: tuple[float, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Voided:
    """The measurements of rows do not count any more; any decision is made anew."""

    rows: tuple[int, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Redeclared:
    """From here on this is assumed, of what came before as well; any decision is made anew.

    None leaves as it is what was declared before.
    """

    misspecification: float | None
    noise: tuple[float, ...] | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer is wanted for every misspecification up to this; a decision for it follows."""

    misspecification: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Added:
    """The question is about these candidates as well; any decision is made anew.

    `noise` and `cost` are theirs, where candidates differ in that. `informed` says whether they may
    have been chosen after a look at values of the study.
    """

    candidates: Candidates
    noise: tuple[float, ...] | None
    cost: tuple[float, ...] | None
    informed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Retired:
    """An arm cannot be measured any more; one that `leaves` is not in the question either.

    Any decision is then made anew. `informed` as for `Added`; one that stays has no use for it.
    """

    arm: int
    leaves: bool
    informed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Contradicted:
    """The first `samples` measurements contradict what was declared: "misspecification" or "noise".

    The logarithm of the evidence, `statistic`, exceeded `threshold`, which it ever does with
    probability at most `level` if the declaration is right. No less than `least` (a
    misspecification, or a factor of the noise) would not be contradicted.
    """

    what: str
    samples: int
    level: float
    statistic: float
    threshold: float
    least: float


Fact = (
    Created
    | Asked
    | Renewed
    | Told
    | Failed
    | Observed
    | Decided
    | Corrected
    | Voided
    | Redeclared
    | Accepted
    | Contradicted
    | Added
    | Retired
)
_KINDS: dict[str, type[Fact]] = {kind.__name__.lower(): kind for kind in get_args(Fact)}
# Facts with numbers that JSON does not have: infinity.
_UNBOUNDED: dict[type[Fact], tuple[str, ...]] = {
    Decided: ("statistic",),  # where no model reverses the pair
    Redeclared: ("misspecification",),
    Accepted: ("misspecification",),
}

# What reading something that is not an event may raise.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
# Entries that are read at once: enough to be fast, few enough to take little memory.
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: its place in the study's log, counted from 1, and when.

    `key` is that of the call which it came from, as `Request` writes it.
    """

    sequence: int
    time: float
    fact: Fact
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as a storage keeps it; `seal` is of itself and of the one before."""

    sequence: int
    time: float
    kind: str
    body: str
    seal: str = ""


def entry_of(event: Event) -> Entry:
    """Write an event down.

    >>> entry_of(Event(3, 12.5, Told(0, 0.7)))
    Entry(sequence=3, time=12.5, kind='told', body='{"trial":0,"value":0.7}', seal='')
    """
    fact = event.fact
    plain: dict[str, Any]
    if isinstance(fact, Created):
        plain = {"settings": fact.settings.plain(), "candidates": fact.candidates.written()}
    else:
        plain = {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
        if isinstance(fact, Told) and not fact.more:
            del plain["more"]
        if isinstance(fact, Asked) and fact.proposed is None:
            del plain["proposed"]
        if isinstance(fact, Added):
            plain["candidates"] = fact.candidates.written()
    if type(fact) in _UNBOUNDED:
        plain = as_plain(plain)
    if event.key is not None:
        plain["key"] = event.key
    body = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return Entry(event.sequence, event.time, type(fact).__name__.lower(), body)


def event_of(entry: Entry) -> Event:
    """Read what `entry_of` wrote.

    >>> event_of(Entry(3, 12.5, "told", '{"trial":0,"value":0.7}'))
    Event(sequence=3, time=12.5, fact=Told(trial=0, value=0.7, more=()), key=None)
    """
    try:
        return _event(entry, json.loads(entry.body))
    except _UNREADABLE:
        shown = f"{entry.kind} {entry.body}"[:80]
        raise CorruptStorageError(
            f"event {entry.sequence} of the study cannot be read, {shown!r}: restore the storage "
            "from a backup"
        ) from None


def events_of(entries: Sequence[Entry]) -> Iterator[Event]:
    """`event_of` for many, in a fraction of the time."""
    for begin in range(0, len(entries), _AT_ONCE):
        part = entries[begin : begin + _AT_ONCE]
        try:
            bodies = json.loads(f"[{','.join([entry.body for entry in part])}]")
            events = [_event(entry, plain) for entry, plain in zip(part, bodies, strict=True)]
        except _UNREADABLE:
            events = [event_of(entry) for entry in part]  # says which one it is
        yield from events


def _event(entry: Entry, plain: dict[str, Any]) -> Event:
    key = plain.pop("key", None)
    return Event(entry.sequence, entry.time, _fact(entry.kind, plain), key)


def _fact(kind: str, plain: dict[str, Any]) -> Fact:
    if kind == "created":
        return Created(Settings.of(plain["settings"]), Candidates.of(plain["candidates"]))
    fact = _KINDS[kind]
    for name in _UNBOUNDED.get(fact, ()):
        plain[name] = None if plain[name] is None else float(plain[name])
    if fact is Added:
        plain["candidates"] = Candidates.of(plain["candidates"])
    if fact is Decided:
        plain["rule"] = present_rule(plain["rule"])
    for name, value in plain.items():
        if isinstance(value, list):
            plain[name] = tuple(value)
    return fact(**plain)
