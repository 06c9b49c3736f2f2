"""In-memory storage, for tests and experiments."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mislid._validation import as_text
from mislid.study.events import Entry, Log, refuse_gap
from mislid.study.storage.interface import Line, Storage, name_taken_error, study_deleted_error


class _MemoryLog(Log):
    def __init__(self, kept: Sequence[Entry]) -> None:
        self.kept = kept
        self.added: list[Entry] = []
        self.summary: str | None = None

    def read(self, after: int = 0, most: int | None = None) -> list[Entry]:
        entries = [*self.kept[after:], *self.added[max(0, after - len(self.kept)) :]]
        return entries[:most]

    def append(self, entries: Sequence[Entry], summary: str | None = None) -> None:
        if entries:
            refuse_gap(len(self.kept) + len(self.added), entries)
            self.added += entries
            self.summary = summary


class MemoryStorage(Storage):
    """Storage in the memory of one process, for any number of threads.

    Examples
    --------
    The log of a study can be found and read:

    >>> from mislid import create_study
    >>> lab = MemoryStorage()
    >>> study = create_study(
    ...     study_name="assay", candidates=["a", "b"], m=1, noise=1.0, storage=lab
    ... )
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> key = lab.find("assay")
    >>> [entry.kind for entry in lab.read(key)]
    ['created', 'observed']
    >>> lab.lines()[0].last, lab.faults(key)
    (2, [])
    >>> with lab.locked(key) as log:  # the study has to wait
    ...     [entry.kind for entry in log.read(after=1)]
    ['observed']

    Keys are never reused, so a process that has a deleted study open cannot write to a new one:

    >>> lab.delete(key)
    >>> lab.create("assay", []), lab.names()
    (2, {'assay': 2})
    >>> lab.close()
    """

    def __init__(self) -> None:
        self._logs: dict[int, list[Entry]] = {}
        self._keys: dict[str, int] = {}
        self._summaries: dict[int, str | None] = {}
        self._next_key = itertools.count(1)
        self._alone = threading.RLock()

    def create(self, name: str, entries: Sequence[Entry]) -> int:
        as_text(name, "study_name")
        refuse_gap(0, entries)
        with self._alone:
            if name in self._keys:
                raise name_taken_error(name)
            key = next(self._next_key)
            self._keys[name], self._logs[key] = key, list(entries)
            return key

    def lines(self) -> list[Line]:
        with self._alone:
            return [
                Line(name, key, len(self._logs[key]), self._summaries.get(key))
                for name, key in sorted(self._keys.items())
            ]

    def read(self, key: int, after: int = 0, most: int | None = None) -> list[Entry]:
        return self._log(key)[after : None if most is None else after + most]

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        with self._alone:
            kept = self._log(key)
            log = _MemoryLog(kept)
            yield log
            if log.added:
                kept += log.added
                self._summaries[key] = log.summary

    def delete(self, key: int) -> None:
        with self._alone:
            self._log(key)
            del self._logs[key]
            self._summaries.pop(key, None)
            self._keys = {name: other for name, other in self._keys.items() if other != key}

    def _log(self, key: int) -> list[Entry]:
        if key not in self._logs:
            raise study_deleted_error()
        return self._logs[key]
