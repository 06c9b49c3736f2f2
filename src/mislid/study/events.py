"""Events as a log has them: written down, read again, found possible, and sealed in a chain.

A log may come from anywhere: a seal says that nobody changed it since, not that a study wrote it.
So whoever reads an event asks whether it can have happened after those before it.

Every entry carries a seal of itself and of the one before. A seal is a SHA-256, without a secret:
whoever changes, adds, drops or swaps entries has to write all later seals anew, and then the last
one, the head, is another. docs/reliability.md says what that detects.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from mislid.errors import CorruptStorageError
from mislid.io import as_plain
from mislid.study import facts
from mislid.study.candidates import Candidates
from mislid.study.settings import Settings, present_rule

if TYPE_CHECKING:
    from mislid.study.state import StudyState

_KINDS: dict[str, type[facts.Fact]] = {kind.__name__.lower(): kind for kind in get_args(facts.Fact)}
# Facts with numbers that JSON does not have: infinity.
_UNBOUNDED: dict[type[facts.Fact], tuple[str, ...]] = {
    facts.Decided: ("statistic",),  # where no model reverses the pair
    facts.Redeclared: ("misspecification",),
    facts.Accepted: ("misspecification",),
}

# What reading something that is not an event may raise.
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
# Entries that are read at once: enough to be fast, few enough to take little memory.
_AT_ONCE = 1_000
# States of trials that can be told.
_OPEN_STATES = ("open", "replaced")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a study; `Study.events` gives all of it.

    Attributes
    ----------
    sequence, time
        Its place in the study's log, counted from 1, and when it came, in seconds since 1970.
    fact
        What happened: a record whose class says what, such as `Told` or `Decided`. Arms in it are
        places in `Study.register`.
    key
        The key of the call that it came from, and a digest of what was wanted; None where the call
        had none.
    """

    sequence: int
    time: float
    fact: facts.Fact
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as a storage keeps it.

    Attributes
    ----------
    sequence
        Its number in the log, from 1.
    time
        When it was written, in seconds since 1970.
    kind, body
        What happened, and its values as JSON.
    seal
        SHA-256 of this entry and of the seal before it.
    """

    sequence: int
    time: float
    kind: str
    body: str
    seal: str = ""


def entry_of(event: Event) -> Entry:
    """Write an event down.

    >>> entry_of(Event(3, 12.5, facts.Told(0, 0.7)))
    Entry(sequence=3, time=12.5, kind='told', body='{"trial":0,"value":0.7}', seal='')
    """
    fact = event.fact
    plain: dict[str, Any]
    if isinstance(fact, facts.Created):
        plain = {"settings": fact.settings.plain(), "candidates": fact.candidates.written()}
    else:
        plain = {field.name: getattr(fact, field.name) for field in dataclasses.fields(fact)}
        if isinstance(fact, facts.Told) and not fact.more:
            del plain["more"]
        if isinstance(fact, facts.Asked) and fact.proposed is None:
            del plain["proposed"]
        if isinstance(fact, facts.Added):
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


def _fact(kind: str, plain: dict[str, Any]) -> facts.Fact:
    if kind == "created":
        return facts.Created(Settings.of(plain["settings"]), Candidates.of(plain["candidates"]))
    fact = _KINDS[kind]
    for name in _UNBOUNDED.get(fact, ()):
        plain[name] = None if plain[name] is None else float(plain[name])
    if fact is facts.Added:
        plain["candidates"] = Candidates.of(plain["candidates"])
    if fact is facts.Decided:
        plain["rule"] = present_rule(plain["rule"])
    for name, value in plain.items():
        if isinstance(value, list):
            plain[name] = tuple(value)
    return fact(**plain)


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
    if isinstance(fact, facts.Created) != (event.sequence == 1):
        return "begins a study" if isinstance(fact, facts.Created) else "comes before the settings"
    match fact:
        case facts.Told(trial, value, more):
            return _not_open(state, trial) or _not_values(state, (value, *more))
        case facts.Failed(trial):
            return _not_open(state, trial)
        case facts.Asked():
            return _unaskable(state, fact)
        case facts.Renewed(trials, _, expires):
            return _first(_not_waiting(state, trial) for trial in trials) or _not_time(expires)
        case facts.Observed(arms, values):
            if len(arms) != len(values):
                return "has more arms than values, or fewer"
            return _not_among(arms, state.census.register.K, "arm") or _not_values(state, values)
        case facts.Corrected(rows, values):
            if len(rows) != len(values):
                return "has more rows than values, or fewer"
            return _unmendable(state, rows) or _not_values(state, values)
        case facts.Voided(rows):
            return _unmendable(state, rows)
        case facts.Decided():
            return _undecidable(state, fact)
        case facts.Redeclared(_, noise) if noise is not None:
            return None if len(noise) in (1, state.candidates.K) else "has noise for other arms"
        case facts.Added():
            return _unaddable(state, fact)
        case facts.Retired():
            return _unretirable(state, fact)
        case facts.Contradicted(what=what) if what not in ("misspecification", "noise"):
            return f"contradicts {what!r}, which is never declared"
    return None


def _unaskable(state: StudyState, asked: facts.Asked) -> str | None:
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


def _undecidable(state: StudyState, decided: facts.Decided) -> str | None:
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


def _unaddable(state: StudyState, added: facts.Added) -> str | None:
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


def _unretirable(state: StudyState, retired: facts.Retired) -> str | None:
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
    if state.trials[trial].state not in _OPEN_STATES:
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


def seal_of(before: str, entry: Entry) -> str:
    """The seal of an entry that follows one with the seal `before`, which is empty for none.

    >>> seal_of("", Entry(1, 12.5, "told", '{"trial":0,"value":0.7}'))[:12]
    '86b0ee57c5bf'
    """
    line = f"{before}\n{entry.sequence} {entry.time!r} {entry.kind} {entry.body}"
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


class Chain:
    """Follows a log from its beginning, or from a seal that is known.

    Entries of a storage that kept no seals have none. They may begin a log, and none may follow one
    that has a seal.

    Attributes
    ----------
    sequence, head
        Number and seal of the last entry.
    first
        Seal of the first entry: the study's identity, which its copies share.
    """

    def __init__(self, sequence: int = 0, head: str = "", first: str = "") -> None:
        self.sequence, self.head, self.first = sequence, head, first
        self._sealed = bool(head)

    def take_in(self, entries: Sequence[Entry]) -> list[Entry]:
        """The next entries of the log, with their seals; refuses what was not written so."""
        return [self._checked(entry) for entry in entries]

    def seal(self, entries: Sequence[Entry]) -> list[Entry]:
        """New entries, with their seals."""
        return [self._link(entry) for entry in entries]

    def _checked(self, entry: Entry) -> Entry:
        if entry.sequence != self.sequence + 1:
            raise broken(
                f"event {self.sequence + 1} of the study is missing, event {entry.sequence!r} was "
                "found in its place"
            )
        given, linked = entry.seal, self._link(entry)
        if given != linked.seal and (given or self._sealed):
            found = "its seal is missing" if not given else "its seal is of something else"
            raise broken(f"event {entry.sequence} of the study is not what was written: {found}")
        self._sealed = bool(given)
        return linked

    def _link(self, entry: Entry) -> Entry:
        self.head = seal_of(self.head, entry)
        self.sequence = entry.sequence
        self.first = self.first or self.head
        return entry if entry.seal == self.head else replace(entry, seal=self.head)


def broken(found: str) -> CorruptStorageError:
    """The error for a log that was changed.

    Parameters
    ----------
    found
        What is wrong, as the beginning of a sentence.

    Returns
    -------
    CorruptStorageError
        To be raised.
    """
    return CorruptStorageError(
        f"{found}. Nothing is decided from it: `mislid study check` looks at the whole log; "
        "restore the storage from a backup"
    )


def refuse_gap(last: int, entries: Sequence[Entry]) -> None:
    """Refuse entries that do not go on from the last one.

    Parameters
    ----------
    last
        Sequence number of the last entry that is stored, 0 where there is none.
    entries
        What is to be added.

    Raises
    ------
    CorruptStorageError
        If their sequence numbers are not last + 1, last + 2, ...

    Examples
    --------
    >>> refuse_gap(6, [Entry(7, 12.5, "told", "{}"), Entry(9, 13.0, "told", "{}")])
    Traceback (most recent call last):
    ...
    mislid.errors.CorruptStorageError: event 8 must come next; got event 9: the log was cut off
    meanwhile, or not read before adding to it
    """
    for place, entry in enumerate(entries, start=last + 1):
        if entry.sequence != place:
            raise CorruptStorageError(
                f"event {place} must come next; got event {entry.sequence}: the log was cut off "
                "meanwhile, or not read before adding to it"
            )


def refuse_holes(after: int, until: int, entries: Sequence[Entry]) -> None:
    """Refuse entries of a database in which one is missing, or has lost its seal.

    Parameters
    ----------
    after, until
        Sequence numbers: all entries above the first, up to the second, must be there.
    entries
        What was found, in order.

    Raises
    ------
    CorruptStorageError
        If an entry is missing, or one has no seal.
    """
    for place, entry in zip(range(after + 1, until + 1), entries, strict=False):
        if entry.sequence != place:
            raise broken(f"event {place} of the study is missing")
        if not entry.seal:
            raise broken(f"event {place} of the study is not what was written: it has no seal")
    if len(entries) != until - after:
        raise broken(
            f"event {after + len(entries) + 1} of the study is missing, of {until} or more that "
            "were written"
        )


class Log(ABC):
    """One study's log, while nobody else can add to it.

    Examples
    --------
    >>> from mislid.study.storage import Entry, MemoryStorage
    >>> storage = MemoryStorage()
    >>> key = storage.create("assay", [])
    >>> with storage.locked(key) as log:
    ...     written = Entry(1, log.now(), "observed", '{"arms":[0],"values":[0.7]}')
    ...     log.append([written])
    ...     [entry.sequence for entry in log.read()]
    [1]
    >>> storage.read(key) == [written]
    True

    What goes wrong in the block leaves nothing behind:

    >>> with storage.locked(key) as log:
    ...     log.append([Entry(3, log.now(), "observed", '{"arms":[0],"values":[0.9]}')])
    Traceback (most recent call last):
    ...
    mislid.errors.CorruptStorageError: event 2 must come next; got event 3: ...
    """

    def now(self) -> float:
        """The time, in seconds since 1970: this computer's, unless the storage has a clock.

        Returns
        -------
        float
            The same clock for all who write, where that can be.
        """
        return time.time()

    @abstractmethod
    def read(self, after: int = 0, most: int | None = None) -> list[Entry]:
        """The entries whose sequence number is above `after`, in order.

        Parameters
        ----------
        after
            A sequence number; 0 for all entries.
        most
            How many at most, the first ones; None for no limit.

        Returns
        -------
        list of Entry
            Empty where there are none.

        Raises
        ------
        StorageError
            If they cannot be read; a `CorruptStorageError` if one of them is missing.
        """

    @abstractmethod
    def append(self, entries: Sequence[Entry], summary: str | None = None) -> None:
        """Add entries, numbered on from the last one; `refuse_gap` otherwise.

        Parameters
        ----------
        entries
            In order; where there are none, nothing changes.
        summary
            Of all entries by then, for `Storage.lines`; one of fewer is dropped.

        Raises
        ------
        CorruptStorageError
            If another entry would have to come next.
        """
