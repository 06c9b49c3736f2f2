"""Test suite for storages."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from mislid.errors import CorruptStorageError, DuplicatedStudyError, UnknownStudyError
from mislid.study.events import Entry
from mislid.study.storage import Storage


def _entries(first: int, last: int) -> list[Entry]:
    return [
        Entry(k, 0.1 * k, "told", f'{{"trial":{k}}}', f"seal {k}") for k in range(first, last + 1)
    ]


def _refused(kind: type[Exception], part: str) -> Any:
    """Context manager: fail unless the block raises this error with `part` in its message."""
    import pytest

    return pytest.raises(kind, match=re.escape(part))


class _Undo(Exception):
    """Exception that ends a block after entries were appended."""


class StorageSuite:
    """Test suite for a storage; override `open_storage`.

    A subclass that overrides `setup_method` or `teardown_method` must call the base method. The
    suite covers neither crashes nor access from several processes.

    Examples
    --------
    >>> from mislid.study.storage import MemoryStorage
    >>> class TestMemory(StorageSuite):
    ...     def setup_method(self):
    ...         super().setup_method()
    ...         self.memory = MemoryStorage()
    ...
    ...     def open_storage(self):
    ...         return self.memory
    """

    def setup_method(self) -> None:
        """Start without open storages."""
        self._opened: list[Storage] = []

    def teardown_method(self) -> None:
        """Close all handles."""
        for storage in self._opened:
            storage.close()

    def open_storage(self) -> Storage:
        """Open the storage under test.

        Returns
        -------
        Storage
            A handle on the same storage throughout one test: a new handle, or always the same one.
            The storage is empty at the start of each test.
        """
        raise NotImplementedError("a suite for storages must override open_storage")

    def _open(self) -> Storage:
        self._opened.append(self.open_storage())
        return self._opened[-1]

    def _begun(self, last: int = 2) -> tuple[Storage, int]:
        """A storage with one study, and its key."""
        storage = self._open()
        return storage, storage.create("first", _entries(1, last))

    def test_entries_come_back_as_they_were(self) -> None:
        """Check that any text, time and seal is read back unchanged, also from another handle."""
        storage, name = self._open(), "ein Name, 'quoted' % 🧪"
        odd = [
            Entry(1, 1_700_000_000.123456789, "created", '{"labels":["ä\'\\"%","🧪"]}', "0f" * 32),
            Entry(2, 1e-300, "told", "x" * 300_000, "f0" * 32),
        ]
        key = storage.create(name, odd)
        other = self._open()
        assert storage.read(key) == other.read(key) == odd
        assert storage.names() == {name: key}
        assert other.find(name) == key

    def test_reading_starts_after_what_is_known(self) -> None:
        """Check that `after` and `most` select the entries to read."""
        storage, key = self._begun(5)
        assert storage.read(key, 3) == storage.read(key, 3, 9) == _entries(4, 5)
        assert storage.read(key, 1, 2) == _entries(2, 3)
        assert storage.read(key, 5) == storage.read(key, 9) == []

    def test_names_are_unique_and_in_alphabetical_order(self) -> None:
        """Check the order of names and the errors for taken and unknown names."""
        storage = self._open()
        with _refused(UnknownStudyError, "in this storage, none; got 'x'"):
            storage.find("x")
        keys = {name: storage.create(name, _entries(1, 2)) for name in "bfcagde"}
        assert list(storage.names().items()) == sorted(keys.items())
        with _refused(UnknownStudyError, "'a', 'b', 'c', 'd', 'e', ...; got 'x'"):
            storage.find("x")
        with _refused(DuplicatedStudyError, "load_if_exists=True"):
            storage.create("a", _entries(1, 1))
        assert storage.read(keys["a"]) == _entries(1, 2)

    def test_what_is_appended_is_there_at_the_end_of_the_block(self) -> None:
        """Check that the writer sees appended entries in the block, and others after it."""
        storage, key = self._begun()
        other = storage.create("second", _entries(1, 1))
        with storage.locked(key) as log:
            assert log.read(1) == _entries(2, 2)
            log.append(_entries(3, 4))
            assert log.read(2) == _entries(3, 4)
            log.append([])
            log.append(_entries(5, 5))
            assert log.read() == _entries(1, 5)
            assert log.read(2, 2) == _entries(3, 4)
        assert storage.read(key) == _entries(1, 5)
        assert storage.read(other) == _entries(1, 1)

    def test_a_line_has_the_summary_of_the_last_entry(self) -> None:
        """Check that an older summary is dropped when entries are appended without one."""
        storage, key = self._begun()
        assert storage.lines() == [("first", key, 2, None)]
        with storage.locked(key) as log:
            log.append(_entries(3, 4), "four, ä")
            log.append([], "nothing new")
        assert storage.lines() == [("first", key, 4, "four, ä")]
        with suppress(_Undo), storage.locked(key) as log:
            log.append(_entries(5, 5), "five")
            raise _Undo
        assert storage.lines() == [("first", key, 4, "four, ä")]
        with storage.locked(key) as log:
            log.append(_entries(5, 5))
        assert storage.lines() == [("first", key, 5, None)]
        storage.delete(key)
        assert storage.lines() == []

    def test_an_exception_undoes_the_whole_block(self) -> None:
        """Check that nothing of the block is kept, and that the next writer is not blocked."""
        storage, key = self._begun()
        with suppress(_Undo), storage.locked(key) as log:
            log.append(_entries(3, 4))
            raise _Undo
        assert storage.read(key) == _entries(1, 2)
        with storage.locked(key) as log:
            log.append(_entries(3, 3))
        assert storage.read(key) == _entries(1, 3)

    def test_entries_must_go_on_from_the_last(self) -> None:
        """Check that gaps and repetitions are refused, since they reveal a conflicting writer."""
        storage, key = self._begun()
        for wrong in ((2, 2), (4, 4), (1, 3)):
            with (
                _refused(CorruptStorageError, "event 3 must come next"),
                storage.locked(key) as log,
            ):
                log.append(_entries(*wrong))
            assert storage.read(key) == _entries(1, 2)
        with _refused(CorruptStorageError, "event 1 must come next"):
            storage.create("second", _entries(2, 3))
        assert list(storage.names()) == ["first"]

    def test_a_deleted_study_is_gone_and_its_key_too(self) -> None:
        """Check that a deleted study's key is never used again.

        A process that still has the study open must not write to another one.
        """
        (storage, key), words = self._begun(), "deleted meanwhile"
        kept = storage.create("second", _entries(1, 1))
        storage.delete(kept)
        storage.delete(key)
        assert storage.names() == {}
        with _refused(UnknownStudyError, words):
            storage.read(key)
        with _refused(UnknownStudyError, words), storage.locked(key):
            pass
        with _refused(UnknownStudyError, words):
            storage.delete(key)
        again = storage.create("second", _entries(1, 1))
        assert again not in (key, kept)
        assert storage.read(again) == _entries(1, 1)

    def test_readers_do_not_wait_for_a_writer(self) -> None:
        """Check that readers see the entries from before the block."""
        (writer, key), reader = self._begun(), self._open()
        with writer.locked(key) as log:
            log.append(_entries(3, 3))
            assert reader.read(key) == _entries(1, 2)
            assert reader.find("first") == key
        assert reader.read(key) == _entries(1, 3)

    def test_writers_wait_for_each_other(self) -> None:
        """Check that each writer sees all entries of the others."""
        storages = [self._open() for _ in range(4)]
        key = storages[0].create("first", [])

        def write(storage: Storage) -> None:
            for _ in range(15):
                with storage.locked(key) as log:
                    known = len(log.read())
                    log.append(_entries(known + 1, known + 2))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, storages))
        assert storages[0].read(key) == _entries(1, 120)

    def test_many_may_open_and_create_at_once(self) -> None:
        """Check that exactly one of several concurrent calls gets the name."""

        def create(_number: int) -> bool:
            try:
                self._open().create("first", _entries(1, 1))
            except DuplicatedStudyError:
                return False
            return True

        with ThreadPoolExecutor(5) as pool:
            created = sum(pool.map(create, range(5)))
        assert created == 1
