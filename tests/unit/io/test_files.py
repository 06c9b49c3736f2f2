"""Files appear whole or not at all."""

import os
from pathlib import Path

import pytest

from mislid.io import Draft, write_whole


def test_a_draft_is_nothing_until_it_is_published(tmp_path):
    place = tmp_path / "sheet.csv"
    with Draft(place):
        assert not place.exists()
    assert list(tmp_path.iterdir()) == []
    with Draft(place) as draft:
        draft.publish(b"one", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.csv"]


def test_a_draft_keeps_what_came_first(tmp_path):
    place = tmp_path / "sheet.csv"
    with Draft(place) as draft:
        write_whole(place, b"theirs")
        with pytest.raises(FileExistsError):
            draft.publish(b"ours", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.csv"]
    assert place.read_bytes() == b"theirs"


def test_a_pipe_or_a_device_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    assert pipe.is_fifo()
    write_whole(Path("/dev/null"), b"content")
    assert Path("/dev/null").is_char_device()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
