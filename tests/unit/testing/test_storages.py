"""The suite of storages catches broken ones; tests/unit/study has those of the package."""

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from mislid.study.events import Entry
from mislid.study.storage import Line, Log, MemoryStorage, Storage
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


class Unsorted(MemoryStorage):
    def lines(self) -> list[Line]:
        return super().lines()[::-1]


BROKEN = {
    Loses: "test_what_is_appended_is_there_at_the_end_of_the_block",
    KeepsHalf: "test_an_exception_undoes_the_whole_block",
    Careless: "test_writers_wait_for_each_other",
    GivesKeysAgain: "test_a_deleted_study_is_gone_and_its_key_too",
    Overwrites: "test_a_name_is_taken_once",
    KeepsOldSummaries: "test_a_line_has_the_summary_of_the_last_entry",
    Unsorted: "test_names_are_in_alphabetical_order",
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
    assert test in suite_of(kind).failures()


def test_a_place_of_its_own_for_every_handle_is_caught() -> None:
    class Apart(StorageSuite):
        def open_storage(self) -> Storage:
            return MemoryStorage()

    assert "test_another_handle_sees_them" in Apart.failures()


PAGE = Path(__file__).resolve().parents[3] / "docs" / "extending.md"
FILE_LOCK = """with Path(f"{self.path}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
"""
# For which other threads wait, and other processes do not.
THREAD_LOCK = "with ALONE:\n"


@pytest.fixture
def page_storage() -> str:
    """The module that the page about extending shows."""
    found = re.search(r"(?ms)^```python lab_storage\.py\n(.*?)^```", PAGE.read_text("utf-8"))
    assert found is not None
    return found[1]


def failures_of_module(
    name: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """What fails of its FileStorage, in a module that other processes can import."""
    folder.joinpath(f"{name}.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(folder)
    numbers = itertools.count()

    class Filed(StorageSuite):
        def setup_method(self) -> None:
            super().setup_method()
            path = folder / f"{next(numbers)}.json"
            self.opener: Callable[[], Storage] = partial(import_module(name).FileStorage, path)

        def open_storage(self) -> Storage:
            return self.opener()

        def open_elsewhere(self) -> Callable[[], Storage]:
            return self.opener

    return set(Filed.failures())


def test_the_storage_of_the_page_passes(
    page_storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failures_of_module("files_locked", page_storage, tmp_path, monkeypatch) == set()


def test_a_lock_that_other_processes_do_not_see_is_caught(
    page_storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert FILE_LOCK in page_storage
    changed = page_storage.replace(FILE_LOCK, THREAD_LOCK)
    text = f"{changed}\n\nimport threading\n\nALONE = threading.Lock()\n"
    found = failures_of_module("threads_locked", text, tmp_path, monkeypatch)
    assert found == {"test_processes_wait_for_each_other"}


def test_memory_says_that_it_is_not_shared() -> None:
    expected = "16 tests passed, test_processes_wait_for_each_other skipped: open_elsewhere gives"
    assert suite_of(MemoryStorage).check().startswith(expected)
