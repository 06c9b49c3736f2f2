"""Directories of shards, joined: the rows of one replication, or a sentence about what is wrong."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mislid import Instance, Model
from mislid.errors import FileFormatError, ProblemError
from mislid.simulation.ledger import merge
from mislid.simulation.replicate import replicate_rows

pytestmark = pytest.mark.usefixtures("fake_job")
INSTANCE = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.4, 0.5, 0.8])


def rows(runs, output=None, **options):
    return replicate_rows(INSTANCE, 1, runs=runs, output=output, **options)


def untimed(found):
    return [row[:4] for row in found]


def shard(place, number, of=3, runs=10, **options):
    folder = place / f"{number}of{of}{''.join(options)}"
    rows(runs, folder, shard=(number, of), **options)
    return folder


@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_merged_shards_are_the_whole(data, tmp_path_factory):
    """In any order, some of them twice, some done before, and used by later calls."""
    place = tmp_path_factory.mktemp("shards")
    runs = data.draw(st.integers(1, 12))
    count = data.draw(st.integers(1, runs))
    folders = [shard(place, number, count, runs) for number in range(1, count + 1)]
    again = data.draw(st.sampled_from([1, 2, runs])), data.draw(st.booleans())
    if again[1]:
        folders.append(shard(place, 1, again[0], runs))
    folders = data.draw(st.permutations(folders))
    whole, merged = rows(runs, place / "whole"), place / "merged"
    found, asked = merge(folders, merged)
    assert untimed(found) == untimed(whole)
    kept = [
        [line.split(",")[:4] for line in (folder / "runs.csv").read_text().splitlines()]
        for folder in (merged, place / "whole")
    ]
    assert kept[0] == kept[1]
    for folder in (merged, place / "whole"):
        assert json.loads((folder / "settings.json").read_text()) == asked
    assert rows(runs, merged) == found
    assert untimed(rows(runs + 2, merged)) == untimed(rows(runs + 2))


def test_missing_runs_are_named_or_allowed(tmp_path):
    first, third, merged = shard(tmp_path, 1), shard(tmp_path, 3), tmp_path / "merged"
    sentence = r"must hold all 10 runs; missing: 1, 4, 7 \(3 in all\); finish their shards"
    with pytest.raises(ProblemError, match=sentence):
        merge([first, third], merged)
    assert not merged.exists()
    found, _ = merge([first, third], merged, partial=True)
    assert [row.run for row in found] == [0, 2, 3, 5, 6, 8, 9]
    # The rest comes later, by a shard or by a call for all.
    second = shard(tmp_path, 2)
    assert untimed(merge([second], merged)[0]) == untimed(rows(10))


def test_of_two_numbers_of_runs_the_larger_counts(tmp_path):
    folders = [shard(tmp_path, 1, 2, runs=4), tmp_path / "more"]
    rows(6, folders[1], shard=(2, 2))
    with pytest.raises(ProblemError, match="all 6 runs; missing: 4 "):
        merge(folders, tmp_path / "merged")


@pytest.mark.parametrize(
    "change",
    [
        {"misspecification": None},
        {"K": "3"},
        {"options": {"delta": "x"}},
        {"options": {"stopping": 1}},
    ],
)
def test_settings_that_are_none_are_refused(tmp_path, change):
    rows(2, tmp_path / "a")
    place = tmp_path / "a" / "settings.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | change))
    with pytest.raises(FileFormatError, match="must be the settings of earlier runs"):
        merge([tmp_path / "a"], tmp_path / "b")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 1}, "seed is 0 in '.*1of3' and 1 in '.*2of3seed'"),
        ({"delta": 0.1}, r'options is {} in \S* and {"delta": 0.1} in '),
    ],
)
def test_other_settings_are_refused(tmp_path, change, sentence):
    folders = [shard(tmp_path, 1), shard(tmp_path, 2, **change)]
    with pytest.raises(ProblemError, match=f"must have the same settings; {sentence}"):
        merge(folders, tmp_path / "merged", partial=True)
    with pytest.raises(ProblemError, match="must have the same settings"):
        merge(folders[:1], folders[1], partial=True)
    assert not (tmp_path / "merged").exists()


def test_two_outcomes_of_a_run_are_refused(tmp_path):
    folders = [shard(tmp_path, 1), tmp_path / "other"]
    rows(10, folders[1])
    merge(folders, tmp_path / "merged")
    file = folders[1] / "runs.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:4]) + "3,17,True,stopped,0.5\n" + "".join(lines[5:]))
    with pytest.raises(ProblemError, match=r"run 3 is '3,.*' in '.*1of3' and '3,17,True,stopped"):
        merge(folders, tmp_path / "second")


def test_what_is_no_directory_of_runs_is_refused(tmp_path):
    good, empty = shard(tmp_path, 1), tmp_path / "empty"
    empty.mkdir()
    for other in (empty, tmp_path / "none"):
        with pytest.raises(FileFormatError, match=r"earlier runs; it has no settings\.json"):
            merge([good, other], tmp_path / "merged")
    with pytest.raises(ProblemError, match="at least one directory; got none"):
        merge([], tmp_path / "merged")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"folders": "results"}, "folders must be a sequence of directories; got 'results'"),
        ({"folders": None}, "folders must be a sequence of directories; got None"),
        ({"folders": [5]}, "folders must be a string or a path; got 5"),
        ({"output": None}, "output must be a string or a path; got None"),
        ({"partial": "no"}, "partial must be True or False; got 'no'"),
    ],
)
def test_bad_arguments(arguments, sentence, tmp_path):
    right = {"folders": [shard(tmp_path, 1)], "output": tmp_path / "merged", "partial": True}
    with pytest.raises(ProblemError, match=sentence):
        merge(**(right | arguments))
    assert not (tmp_path / "merged").exists()


def test_rows_that_cannot_be_read_are_refused(tmp_path):
    folder = shard(tmp_path, 1)
    (folder / "runs.csv").unlink()
    (folder / "runs.csv").mkdir()
    with pytest.raises(FileFormatError, match=r"runs\.csv' must be a file that can be read"):
        merge([folder], tmp_path / "merged", partial=True)
