"""Event serialization, validation and hash chain.

The state of a study is a function of its log. A log may come from an untrusted source, so every
event is checked against the state before it.

Every entry has a seal: the SHA-256 of the entry and of the previous seal, without a secret key. The
first entry has the study's name in the place of a previous seal. Changing, adding, dropping or
swapping entries changes all later seals, including the last one, the head of the log.
docs/reliability.md says which changes this detects.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from mislid._formatting import shown
from mislid.errors import CorruptStorageError
from mislid.io import as_plain
from mislid.study.candidates import Candidates
from mislid.study.settings import Settings

if TYPE_CHECKING:
    from mislid.study.state import StudyState


class Created(NamedTuple):
    """Creation of a study, with its question."""

    settings: Settings
    candidates: Candidates


class Asked(NamedTuple):
    """Trials handed out, to a worker if named, until `expires` (seconds, None: forever).

    `again` has, for each trial, the id of the expired trial that it replaces, or None for a new
    trial. Without limits, the rule chose the arms of new trials. In a batch with limits, it chose
    `proposed`, one arm for each group of trials; all groups have the same size.
    """

    trials: tuple[int, ...]
    arms: tuple[int, ...]
    again: tuple[int | None, ...]
    worker: str | None
    expires: float | None
    proposed: tuple[int, ...] | None = None


class Renewed(NamedTuple):
    """New lease for the open trials of a worker who asked again."""

    trials: tuple[int, ...]
    worker: str
    expires: float | None


class Told(NamedTuple):
    """Value of a trial, with the user's sign; `more` has further values told in the same call."""

    trial: int
    value: float
    more: tuple[float, ...] = ()


class Failed(NamedTuple):
    """Failure of a trial, which has no value."""

    trial: int


class Observed(NamedTuple):
    """Measurements that no trial asked for, in order, added by one call."""

    arms: tuple[int, ...]
    values: tuple[float, ...]


class Decided(NamedTuple):
    """Decision of the stopping rule after the first `samples` measurements.

    `answer` has the arms, best first. The `pair` (challenger, incumbent) has the least evidence,
    and its `statistic` reached the `threshold`.
    """

    answer: tuple[int, ...]
    samples: int
    rule: str
    statistic: float
    threshold: float
    pair: tuple[int, int]


class Corrected(NamedTuple):
    """Corrected values of rows, which are counted from 0 over all measurements of the log.

    A void measurement that is corrected counts again.
    """

    rows: tuple[int, ...]
    values: tuple[float, ...]
    reason: str | None


class Voided(NamedTuple):
    """Rows whose measurements no longer count."""

    rows: tuple[int, ...]
    reason: str | None


class Redeclared(NamedTuple):
    """New declarations, which apply to earlier measurements too; None means unchanged."""

    misspecification: float | None
    noise: tuple[float, ...] | None
    reason: str | None


class Added(NamedTuple):
    """Candidates added to the question, with their costs if candidates have costs."""

    candidates: Candidates
    cost: tuple[float, ...] | None
    reason: str | None


class Retired(NamedTuple):
    """Arm that can no longer be measured; if it `leaves`, it is no longer in the question."""

    arm: int
    leaves: bool
    reason: str | None


class Contradicted(NamedTuple):
    """Refutation of the declared "misspecification" or "noise" by the first `samples` measurements.

    The log evidence `statistic` exceeded `threshold`. If the declaration is correct, this ever
    happens with probability at most `level`. `least` is the smallest value (a misspecification, or
    a factor of the noise) that the data do not refute.
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
    | Contradicted
    | Added
    | Retired
)
_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Fact)}
# Fields of facts that may be infinite, which JSON cannot represent.
_UNBOUNDED: dict[type[Any], tuple[str, ...]] = {
    Decided: ("statistic",),  # infinite if no model reverses the pair
    Redeclared: ("misspecification",),
}
# Exceptions that reading an invalid event may raise.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)
# Entries whose bodies are parsed at once.
_AT_ONCE = 1_000
# States of trials that can be told.
_OPEN_STATES = ("open", "replaced")


class Event(NamedTuple):
    """Event in a study's log; `Study.events` returns all of them.

    Attributes
    ----------
    sequence, time
        Its number in the log, from 1, and its time, in seconds since 1970.
    fact
        A record of the event, of a class such as `Told` or `Decided`. Its arms are indices in
        `Study.register`.
    key
        Key of the call that caused the event, and a digest of the call's arguments; None if the
        call had no key.
    """

    sequence: int
    time: float
    fact: Fact
    key: str | None = None


class Entry(NamedTuple):
    """An event as a storage keeps it.

    Attributes
    ----------
    sequence
        Its number in the log, from 1.
    time
        When it was written, in seconds since 1970.
    kind, body
        Kind of the event, and its values as JSON.
    seal
        SHA-256 of this entry and of the seal before it.
    """

    sequence: int
    time: float
    kind: str
    body: str
    seal: str = ""


def entry_of(event: Event) -> Entry:
    """Convert an event to an entry, without its seal.

    >>> entry_of(Event(3, 12.5, Told(0, 0.7)))
    Entry(sequence=3, time=12.5, kind='told', body='{"trial":0,"value":0.7}', seal='')
    """
    fact = event.fact
    plain: dict[str, Any] = fact._asdict()
    match fact:
        case Created(settings, candidates):
            plain = {"settings": settings.plain(), "candidates": candidates.written()}
        case Added(candidates):
            plain["candidates"] = candidates.written()
        case Told(more=()):
            del plain["more"]
        case Asked(proposed=None):
            del plain["proposed"]
    if type(fact) in _UNBOUNDED:
        plain = as_plain(plain)
    if event.key is not None:
        plain["key"] = event.key
    body = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return Entry(event.sequence, event.time, type(fact).__name__.lower(), body)


def event_of(entry: Entry) -> Event:
    """Convert an entry to an event.

    >>> event_of(Entry(3, 12.5, "told", '{"trial":0,"value":0.7}'))
    Event(sequence=3, time=12.5, fact=Told(trial=0, value=0.7, more=()), key=None)
    """
    try:
        return _event(entry, json.loads(entry.body))
    except _UNREADABLE:
        found = f"{entry.kind} {entry.body}"[:80]
        raise CorruptStorageError(
            f"event {entry.sequence} of the study cannot be read, {found!r}: restore the storage "
            "from a backup"
        ) from None


def events_of(entries: Sequence[Entry]) -> Iterator[Event]:
    """Convert many entries to events, much faster than `event_of`."""
    for begin in range(0, len(entries), _AT_ONCE):
        part = entries[begin : begin + _AT_ONCE]
        try:
            bodies = json.loads(f"[{','.join([entry.body for entry in part])}]")
            events = [_event(entry, plain) for entry, plain in zip(part, bodies, strict=True)]
        except _UNREADABLE:
            events = [event_of(entry) for entry in part]  # its error names the invalid entry
        yield from events


def _event(entry: Entry, plain: dict[str, Any]) -> Event:
    key = plain.pop("key", None)
    return Event(entry.sequence, entry.time, _fact(entry.kind, plain), key)


def _fact(kind: str, plain: dict[str, Any]) -> Fact:
    fact = _KINDS[kind]
    if fact is Created:
        return Created(Settings.of(plain["settings"]), Candidates.of(plain["candidates"]))
    if fact is Added:
        plain["candidates"] = Candidates.of(plain["candidates"])
    for name in _UNBOUNDED.get(fact, ()):
        plain[name] = None if plain[name] is None else float(plain[name])
    for name, value in plain.items():
        if type(value) is list:
            plain[name] = tuple(value)
    found: Fact = fact(**plain)
    return found


def check(state: StudyState, event: Event) -> None:
    """Refuse an event that cannot follow the state."""
    try:
        wrong = _complaint(state, event)
    except (TypeError, OverflowError, ValueError, AttributeError):
        wrong = "does not hold what such an event holds"
    if wrong is not None:
        raise CorruptStorageError(
            f"event {event.sequence} of the study {wrong}. Nothing is decided from it: restore "
            "the storage from a backup"
        )


def _complaint(state: StudyState, event: Event) -> str | None:
    sequence, time, fact, key = event
    if sequence != state.sequence + 1:
        return f"was found in the place of event {state.sequence + 1}"
    if not math.isfinite(time):
        return f"is of the time {time!r}, which is none"
    if key is not None and key.rpartition(" ")[0] in state.keys:
        return f"has the key {key!r}, which was used before"
    if isinstance(fact, Created) != (sequence == 1):
        return "begins a study" if isinstance(fact, Created) else "comes before the settings"
    match fact:
        case Asked():
            return _unaskable(state, fact)
        case Told(trial, value, more):
            return _not_open(state, trial) or _not_values(state, (value, *more))
        case Failed(trial):
            return _not_open(state, trial)
        case Renewed(trials, _, expires):
            return _not_waiting(state, trials) or _not_time(expires)
        case Observed(arms, values):
            if len(arms) != len(values):
                return "has more arms than values, or fewer"
            return _not_among(arms, state.roster.register.K, "arm") or _not_values(state, values)
        case Corrected(rows, values):
            if len(rows) != len(values):
                return "has more rows than values, or fewer"
            return _not_rows(state, rows) or _not_values(state, values)
        case Voided(rows):
            return _not_rows(state, rows)
        case Decided():
            return _undecidable(state, fact)
        case Redeclared(_, noise) if noise is not None:
            return None if len(noise) in (1, state.candidates.K) else "has noise for other arms"
        case Added():
            return _unaddable(state, fact)
        case Retired(arm, leaves):
            if leaves and len(state.roster.arms) - 1 <= state.roster.settings.m:
                return "leaves too few candidates in the question"
            return _not_asked_about(state, (arm,))
        case Contradicted(what) if what not in ("misspecification", "noise"):
            return f"contradicts {what!r}, which is never declared"
    return None


def _unaskable(state: StudyState, asked: Asked) -> str | None:
    trials, arms, handed, _, expires, proposed = asked
    first, count = len(state.trials), len(trials)
    if trials != tuple(range(first, first + count)):
        return f"hands out other trials than {first}, which is the next"
    if not count == len(arms) == len(handed):
        return "has more arms than trials, or fewer"
    again = [one for one in handed if one is not None]
    fresh = count - len(again)
    if len(set(again)) != len(again) or (proposed and (not fresh or fresh % len(proposed))):
        return "asks again for one trial twice, or has proposals without trials"
    return (
        _not_asked_about(state, (*arms, *(proposed or ())))
        or _not_waiting(state, again)
        or _not_time(expires)
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


def _unaddable(state: StudyState, added: Added) -> str | None:
    register, settings, more = state.roster.register, state.roster.settings, added.candidates
    shapes = [None if one.features is None else one.features.shape[1] for one in (register, more)]
    if (
        more.K < 1
        or shapes[0] != shapes[1]
        or not register.positions.keys().isdisjoint(more.positions)
    ):
        return "adds candidates that do not fit the others"
    if len(settings.noise) > 1:
        return "adds candidates where each has its own noise"
    costs = (1.0,) * more.K if added.cost is None else added.cost
    if (
        (added.cost is None) != (settings.cost is None)
        or len(costs) != more.K
        or not all(math.isfinite(cost) and cost > 0.0 for cost in costs)
    ):
        return "has costs that do not fit its candidates"
    return None


def _not_asked_about(state: StudyState, arms: Sequence[Any]) -> str | None:
    """A complaint if an arm is not in the register or has left the question, else None."""
    roster = state.roster
    wrong = _not_among(arms, roster.register.K, "arm")
    if wrong is None and not roster.gone.isdisjoint(arms):
        return f"names an arm that left the question, {min(roster.gone.intersection(arms))}"
    return wrong


def _not_rows(state: StudyState, rows: Sequence[Any]) -> str | None:
    if not rows or len(set(rows)) != len(rows):
        return "mends nothing, or one row twice"
    return _not_among(rows, len(state.rows), "row")


def _not_open(state: StudyState, trial: Any) -> str | None:
    if type(trial) is not int or not 0 <= trial < len(state.trials):
        return f"is about trial {trial!r}, which was not asked"
    if state.trials[trial].state not in _OPEN_STATES:
        return f"tells trial {trial}, which has been told before"
    return None


def _not_waiting(state: StudyState, trials: Iterable[Any]) -> str | None:
    for trial in trials:
        if type(trial) is not int or trial not in state.waiting:
            return f"is about trial {trial!r}, which was not asked or is not open"
    return None


def _not_among(indices: Iterable[Any], size: int, what: str) -> str | None:
    for one in indices:
        if type(one) is not int or not 0 <= one < size:
            return f"names {what} {one!r}, which is not among the {size}"
    return None


def _not_values(state: StudyState, values: Sequence[Any]) -> str | None:
    if not all(map(math.isfinite, values)):
        return "has a value that is no finite number"
    bounds = state.settings.reward_range
    if bounds is not None and values and not bounds[0] <= min(values) <= max(values) <= bounds[1]:
        return f"has a value outside of {bounds[0]!r} to {bounds[1]!r}"
    return None


def _not_time(expires: Any) -> str | None:
    return None if expires is None or expires > 0 else f"has a lease until {expires!r}"


def seal_of(before: str, entry: Entry) -> str:
    """The seal of an entry, given the seal of the previous one (the study's name for the first).

    >>> seal_of("assay", Entry(1, 12.5, "told", '{"trial":0,"value":0.7}'))[:12]
    'ce869dcad86a'
    """
    line = f"{before}\n{entry.sequence} {entry.time!r} {entry.kind} {entry.body}"
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


class Chain:
    """Hash chain of a log, from its beginning or from a known seal.

    Attributes
    ----------
    name
        Of the study, part of the first seal.
    sequence, head
        Number and seal of the last entry.
    first
        Seal of the first entry: the study's identity, which copies of the same name share.
    """

    def __init__(self, name: str, sequence: int = 0, head: str = "", first: str = "") -> None:
        self.name = name
        self.sequence, self.head, self.first = sequence, head, first

    def take_in(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Check the seals of the next entries of the log, and return the entries."""
        for entry in entries:
            if entry.sequence != self.sequence + 1:
                raise broken(
                    f"event {self.sequence + 1} of the study is missing, event {entry.sequence!r} "
                    "was found in its place"
                )
            seal = seal_of(self.head or self.name, entry)
            if entry.seal != seal:
                found = "its seal is of something else" if entry.seal else "its seal is missing"
                if entry.seal and entry.sequence == 1:
                    found += ", such as a study of another name"
                raise broken(
                    f"event {entry.sequence} of the study is not what was written: {found}"
                )
            self._link(entry.sequence, seal)
        return entries

    def seal(self, entries: Sequence[Entry]) -> list[Entry]:
        """Add seals to new entries."""
        sealed = []
        for entry in entries:
            self._link(entry.sequence, seal_of(self.head or self.name, entry))
            sealed.append(entry._replace(seal=self.head))
        return sealed

    def _link(self, sequence: int, seal: str) -> None:
        self.sequence, self.head, self.first = sequence, seal, self.first or seal


@contextmanager
def naming(study: str) -> Iterator[None]:
    """Name the study in errors about its rows."""
    try:
        yield
    except CorruptStorageError as problem:
        named = CorruptStorageError(f"study {shown(study)} is damaged: {problem}")
        named.study = study
        raise named from problem


def broken(found: str) -> CorruptStorageError:
    """The error for a log that was changed.

    Parameters
    ----------
    found
        The problem, as the beginning of a sentence.

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
    """Refuse new entries that do not follow the last one without a gap.

    Parameters
    ----------
    last
        Sequence number of the last stored entry, 0 if there is none.
    entries
        The new entries.

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
    """Refuse entries from a database unless they include all from `after` + 1 to `until`.

    Parameters
    ----------
    after, until
        Sequence numbers.
    entries
        The entries that were read.

    Raises
    ------
    CorruptStorageError
        If an entry is missing.
    """
    for place, entry in enumerate(entries, start=after + 1):
        if entry.sequence != place:
            raise broken(f"event {place} of the study is missing")
    if after + len(entries) < until:
        raise broken(f"event {after + len(entries) + 1} of the study is missing")


class Log(ABC):
    """One study's log, locked for one writer.

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

    An exception in the block leaves the log unchanged:

    >>> with storage.locked(key) as log:
    ...     log.append([Entry(3, log.now(), "observed", '{"arms":[0],"values":[0.9]}')])
    Traceback (most recent call last):
    ...
    mislid.errors.CorruptStorageError: event 2 must come next; got event 3: ...
    """

    def now(self) -> float:
        """The storage's clock if it has one, else that of this computer.

        Returns
        -------
        float
            Seconds since 1970.
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
            The most entries to read, from the first; None for no limit.

        Returns
        -------
        list of Entry
            The entries; empty if there are none.

        Raises
        ------
        StorageError
            If the entries cannot be read; a `CorruptStorageError` if one is missing.
        """

    @abstractmethod
    def append(self, entries: Sequence[Entry], summary: str | None = None) -> None:
        """Append entries, which must be numbered from the last one on (`refuse_gap`).

        Parameters
        ----------
        entries
            The entries, in order. An empty sequence changes nothing.
        summary
            Summary of all entries including the new ones, for `Storage.lines`; None drops the old
            one.

        Raises
        ------
        CorruptStorageError
            If the numbers do not follow the last entry.
        """
