"""Forged logs of studies."""

from __future__ import annotations

from collections.abc import Sequence

from mislid.study import Study
from mislid.study.events import Chain, Entry, Event, Fact, entry_of
from mislid.study.session import Session
from mislid.study.storage import MemoryStorage


def entries_of(study: Study) -> list[Entry]:
    """As they are stored, sealed for a study called `forged`."""
    return Chain("forged").seal(study._session.storage.read(study._session.key))


def with_log(entries: Sequence[Entry], *, sealed: bool = False) -> Study:
    """A study with this log; with `sealed`, the seals are recomputed."""
    storage = MemoryStorage()
    plain = [Entry(one.sequence, one.time, one.kind, one.body) for one in entries]
    log = Chain("forged").seal(plain) if sealed else list(entries)
    storage._keys["forged"], storage._logs[1] = 1, log
    return Study(Session("forged", 1, storage))


def renumbered(entries: Sequence[Entry]) -> list[Entry]:
    """In this order."""
    return [Entry(k, e.time, e.kind, e.body, e.seal) for k, e in enumerate(entries, start=1)]


def entry(fact: Fact, time: float = 1e9) -> Entry:
    """One that can be inserted anywhere."""
    return entry_of(Event(0, time, fact))
