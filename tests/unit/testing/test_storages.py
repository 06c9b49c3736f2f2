"""The suite of storages catches broken ones; tests/unit/study has those of the package."""

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from helpers.suites import fails
from mislid.study.events import Entry
from mislid.study.storage import Log, MemoryStorage, Storage
from mislid.testing import StorageSuite


class Loses(MemoryStorage):
    """The last entry of every block."""

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        with super().locked(key) as log:
            yield log
            log.added[-1:] = []


class KeepsHalf(MemoryStorage):
    """What was appended before an exception."""

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        with super().locked(key) as log:
            try:
                yield log
            except Exception:
                self._logs[key] += log.added
                raise


class Careless(MemoryStorage):
    """Lets writers write at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = threading.Barrier(4)

    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        self._alone = threading.RLock()
        with super().locked(key) as log:
            yield log
            # All four writers have read before the first one writes.
            if threading.current_thread() is not threading.main_thread():
                self._meeting.wait(10)


class GivesKeysAgain(MemoryStorage):
    def delete(self, key: int) -> None:
        super().delete(key)
        self._next_key = itertools.count(key)


class Overwrites(MemoryStorage):
    def create(self, name: str, entries: Sequence[Entry]) -> int:
        self._keys.pop(name, None)
        return super().create(name, entries)


class KeepsOldSummaries(MemoryStorage):
    @contextmanager
    def locked(self, key: int) -> Iterator[Log]:
        before = self._summaries.get(key)
        with super().locked(key) as log:
            yield log
        self._summaries[key] = self._summaries.get(key) or before


BROKEN = {
    Loses: "test_what_is_appended_is_there_at_the_end_of_the_block",
    KeepsHalf: "test_an_exception_undoes_the_whole_block",
    Careless: "test_writers_wait_for_each_other",
    GivesKeysAgain: "test_a_deleted_study_is_gone_and_its_key_too",
    Overwrites: "test_names_are_unique_and_in_alphabetical_order",
    KeepsOldSummaries: "test_a_line_has_the_summary_of_the_last_entry",
}


def suite_of(kind: type[MemoryStorage]) -> type[StorageSuite]:
    class Broken(StorageSuite):
        def setup_method(self) -> None:
            super().setup_method()
            self.only = kind()

        def open_storage(self) -> Storage:
            return self.only

    return Broken


@pytest.mark.parametrize(("kind", "test"), BROKEN.items(), ids=[kind.__name__ for kind in BROKEN])
def test_broken_storages_are_caught(kind: type[MemoryStorage], test: str) -> None:
    assert fails(suite_of(kind), test)
