"""What every storage must do."""

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mislid.errors import CorruptStorageError, DuplicatedStudyError, UnknownStudyError
from mislid.study.events import Entry
from mislid.study.storage import Storage


def entries(first: int, last: int) -> list[Entry]:
    return [Entry(k, 0.1 * k, "told", f'{{"trial":{k}}}') for k in range(first, last + 1)]


def test_entries_come_back_as_they_were(storage: Storage) -> None:
    odd = [
        Entry(1, 1_700_000_000.123456789, "created", '{"labels":["ä\'\\"%","🧪"]}'),
        Entry(2, 1e-300, "told", "x" * 300_000),
    ]
    key = storage.create("ein Name, 'quoted' % 🧪", odd)
    assert storage.read(key) == odd
    assert storage.names() == {"ein Name, 'quoted' % 🧪": key}


def test_another_handle_sees_them(opener: Callable[[], Storage]) -> None:
    key = opener().create("first", entries(1, 3))
    other = opener()
    assert other.find("first") == key
    assert other.read(key) == entries(1, 3)


def test_reading_starts_after_what_is_known(storage: Storage) -> None:
    key = storage.create("first", entries(1, 5))
    assert storage.read(key, 3) == entries(4, 5)
    assert storage.read(key, 1, 2) == entries(2, 3)
    assert storage.read(key, 3, 9) == entries(4, 5)
    assert storage.read(key, 5) == []
    assert storage.read(key, 9) == []


def test_a_name_is_taken_once(storage: Storage) -> None:
    key = storage.create("first", entries(1, 2))
    with pytest.raises(DuplicatedStudyError, match=r"must be new; got 'first'.*load_if_exists"):
        storage.create("first", entries(1, 1))
    assert storage.read(key) == entries(1, 2)


def test_names_are_in_alphabetical_order(storage: Storage) -> None:
    for name in ("b", "c", "a"):
        storage.create(name, [])
    assert list(storage.names()) == ["a", "b", "c"]


def test_an_unknown_name_is_told_which_there_are(storage: Storage) -> None:
    with pytest.raises(UnknownStudyError, match="in this storage, none; got 'x'"):
        storage.find("x")
    for k in range(7):
        storage.create(f"s{k}", [])
    with pytest.raises(UnknownStudyError) as caught:
        storage.find("x")
    assert str(caught.value) == (
        "study_name must be of a study in this storage, 's0', 's1', 's2', 's3', 's4', ...; got 'x'"
    )


def test_what_is_appended_is_there_at_the_end_of_the_block(storage: Storage) -> None:
    key = storage.create("first", entries(1, 2))
    other = storage.create("second", entries(1, 1))
    with storage.locked(key) as log:
        assert log.read(1) == entries(2, 2)
        log.append(entries(3, 4))
        assert log.read(2) == entries(3, 4)
        log.append([])
        log.append(entries(5, 5))
        assert log.read(4) == entries(5, 5)
        assert log.read() == entries(1, 5)
        assert log.read(0, 3) == entries(1, 3)
        assert log.read(2, 2) == entries(3, 4)
    assert storage.read(key) == entries(1, 5)
    assert storage.read(other) == entries(1, 1)


def test_a_line_has_the_summary_of_the_last_entry(storage: Storage) -> None:
    key = storage.create("first", entries(1, 2))
    assert storage.lines() == [("first", key, 2, None)]
    with storage.locked(key) as log:
        log.append(entries(3, 4), "four, ä")
        log.append([], "nothing new")
    assert storage.lines() == [("first", key, 4, "four, ä")]
    with contextlib.suppress(RuntimeError), storage.locked(key) as log:
        log.append(entries(5, 5), "five")
        raise RuntimeError
    assert storage.lines() == [("first", key, 4, "four, ä")]
    with storage.locked(key) as log:
        log.append(entries(5, 5))
    assert storage.lines() == [("first", key, 5, None)]
    storage.delete(key)
    assert storage.lines() == []


def test_an_exception_undoes_the_whole_block(storage: Storage) -> None:
    key = storage.create("first", entries(1, 2))
    with contextlib.suppress(RuntimeError), storage.locked(key) as log:
        log.append(entries(3, 4))
        raise RuntimeError
    assert storage.read(key) == entries(1, 2)
    with storage.locked(key) as log:
        log.append(entries(3, 3))
    assert storage.read(key) == entries(1, 3)


@pytest.mark.parametrize("wrong", [(2, 2), (4, 4), (1, 3)])
def test_entries_must_go_on_from_the_last(storage: Storage, wrong: tuple[int, int]) -> None:
    key = storage.create("first", entries(1, 2))
    with (
        pytest.raises(CorruptStorageError, match="event 3 must come next"),
        storage.locked(key) as log,
    ):
        log.append(entries(*wrong))
    assert storage.read(key) == entries(1, 2)
    with pytest.raises(CorruptStorageError, match="event 1 must come next"):
        storage.create("second", entries(2, 3))
    assert list(storage.names()) == ["first"]


def test_a_deleted_study_is_gone_and_its_key_too(storage: Storage) -> None:
    key = storage.create("first", entries(1, 2))
    kept = storage.create("second", entries(1, 1))
    storage.delete(kept)
    storage.delete(key)
    assert storage.names() == {}
    with pytest.raises(UnknownStudyError, match="deleted meanwhile"):
        storage.read(key)
    with pytest.raises(UnknownStudyError, match="deleted meanwhile"), storage.locked(key):
        pass
    with pytest.raises(UnknownStudyError, match="deleted meanwhile"):
        storage.delete(key)
    again = storage.create("second", entries(1, 1))
    assert again not in (key, kept)
    assert storage.read(again) == entries(1, 1)


def test_readers_do_not_wait_for_a_writer(opener: Callable[[], Storage]) -> None:
    writer, reader = opener(), opener()
    key = writer.create("first", entries(1, 2))
    with writer.locked(key) as log:
        log.append(entries(3, 3))
        assert reader.read(key) == entries(1, 2)
        assert reader.find("first") == key
    assert reader.read(key) == entries(1, 3)


def test_writers_wait_for_each_other(opener: Callable[[], Storage]) -> None:
    first = opener()
    key = first.create("first", [])

    def write(storage: Storage) -> None:
        for _ in range(15):
            with storage.locked(key) as log:
                known = len(log.read())
                log.append(entries(known + 1, known + 2))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, [first, *(opener() for _ in range(3))]))
    assert first.read(key) == entries(1, 120)


def test_many_may_open_and_create_at_once(opener: Callable[[], Storage]) -> None:
    def create(_number: int) -> bool:
        try:
            opener().create("first", entries(1, 1))
        except DuplicatedStudyError:
            return False
        return True

    with ThreadPoolExecutor(5) as pool:
        assert sum(pool.map(create, range(5))) == 1


def test_a_closed_storage_opens_again(storage: Storage) -> None:
    key = storage.create("first", entries(1, 1))
    storage.close()
    assert storage.read(key) == entries(1, 1)
