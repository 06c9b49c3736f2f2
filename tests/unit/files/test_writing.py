"""Files appear whole or not at all."""

import pytest

from mislid.files import Draft, write_whole


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
