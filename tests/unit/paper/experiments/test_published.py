"""The published statistics in the package are those of the published runs."""

import pytest

from mislid.errors import FileFormatError
from mislid.paper.experiments.published import published_runs, published_statistics, statistics_of
from mislid.simulation.replicate import Row


def test_statistics_are_those_of_the_runs(shared_data):
    runs, statistics = published_runs(shared_data), published_statistics()
    assert set(statistics) - set(runs) == {
        ("D", "MisLid tricks Greedy"),
        ("E", "MisLid tricks Greedy"),
    }
    for name, rows in runs.items():
        found, kept = statistics_of(rows), statistics[name]
        assert (found.runs, found.wrong) == (kept.runs, kept.wrong)
        assert found.mean == pytest.approx(kept.mean, abs=5e-4)
        assert found.std == pytest.approx(kept.std, abs=5e-4)
        assert found.seconds == pytest.approx(kept.seconds, abs=5e-3)


def test_no_file_no_runs(tmp_path):
    assert published_runs(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "must begin with 'experiment,method,samples,error,seconds'; got 'a,b'"),
        ("", "must begin with"),
        ("experiment,method,samples,error,seconds\nA,x,many,0,1\n", "got 'A,x,many,0,1' in line 2"),
        ("experiment,method,samples,error,seconds\nA,x,3\n", "got 'A,x,3' in line 2"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "runs.csv").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        published_runs(tmp_path)


def test_runs_without_an_answer_are_counted_apart():
    rows = [Row(0, 5, None, "budget exhausted", 0.1), Row(1, 5, False, "stopped", 0.1)]
    statistics = statistics_of(rows)
    assert (statistics.wrong, statistics.unanswered) == (1, 1)


def test_one_run_has_no_spread():
    assert statistics_of([Row(0, 5, True, "stopped", 0.1)]).std == 0.0
