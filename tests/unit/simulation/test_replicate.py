"""Many runs: the same rows wherever they are done, kept on disk as they finish."""

import json
import multiprocessing
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import fake_runs
from mislid import Instance, Model
from mislid.algorithms import LUCB
from mislid.errors import (
    FileFormatError,
    Interrupted,
    MislidError,
    MissingPackageError,
    ProblemError,
)
from mislid.simulation import _job
from mislid.simulation._job import Job, measure
from mislid.simulation.environments import Bernoulli
from mislid.simulation.replicate import Processes, replicate, replicate_rows, replicate_settings

INSTANCE = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.4, 0.5, 0.8])


def rows(runs=20, instance=INSTANCE, **options):
    options.setdefault("_identify", fake_runs.identify)
    return replicate_rows(instance, 1, runs=runs, **options)


def untimed(found):
    return [row[:4] for row in found]


def test_a_frame_has_one_row_per_run():
    frame = replicate(INSTANCE, 1, runs=30, _identify=fake_runs.identify)
    assert list(frame.columns) == ["run", "samples", "correct", "status", "seconds"]
    assert frame["run"].tolist() == list(range(30))
    assert (frame["correct"].isna() == (frame["status"] == "budget exhausted")).all()
    assert frame["samples"].tolist() == [row.samples for row in rows(30)]


def test_a_run_depends_on_its_own_seed_alone():
    few, many = rows(5), rows(20)
    assert untimed(many)[:5] == untimed(few)
    assert untimed(rows(20, seed=1)) != untimed(many)
    expected = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(3,)))
    assert many[3].samples == expected.integers(100, 10_000)


def test_processes_give_the_same_rows():
    assert untimed(rows(jobs=2, wait=0.01)) == untimed(rows())
    assert not multiprocessing.active_children()


def test_replications_can_share_their_processes():
    with Processes(2) as workers:
        assert untimed(rows(jobs=workers)) == untimed(rows())
        first = {process.pid for process in multiprocessing.active_children()}
        assert untimed(rows(seed=1, jobs=workers)) == untimed(rows(seed=1))
        assert {process.pid for process in multiprocessing.active_children()} == first
        with pytest.raises(ProblemError, match="this run fails"):
            rows(fail_at=7, jobs=workers)
        # They were stopped; others start.
        assert untimed(rows(jobs=workers)) == untimed(rows())
    assert not multiprocessing.active_children()


def test_workers_warm_up_once_for_every_job():
    """What is loaded then is no run's own time."""
    seen = []

    def watched(instance, m, *, seed, max_samples=None):
        seen.append(max_samples)
        return fake_runs.FakeIdentification(5, True, "stopped")

    jobs = [Job(INSTANCE, 1, 0, {}, watched) for _ in range(2)]
    for job in jobs:
        for run in range(3):
            measure(job, run)
    assert seen == [3, None, None, None] * 2


def test_seconds_are_the_processor_s(monkeypatch):
    """Waiting for others costs nothing."""
    clock = SimpleNamespace(thread_time=iter([1.0, 3.5]).__next__)
    monkeypatch.setattr(_job, "time", clock)
    (row,) = rows(1)
    assert row.seconds == 2.5


def test_options_reach_every_run():
    assert all(row.correct is not True for row in rows(jobs=2, delta=1.0))


@pytest.mark.parametrize(("option", "other"), [("tolerance", 0.4), ("gamma", 3.0)])
def test_tolerance_and_gamma_are_kept_and_taken_up(option, other, tmp_path):
    """With the true `identify`: they change the rows, and a directory knows which it holds."""

    def done(runs, value, output=None):
        options = {"_identify": None, option: value}
        return rows(
            runs, Instance(INSTANCE.model, INSTANCE.means, noise=0.5), **options, output=output
        )

    usual = 1.0 if option == "gamma" else 0.0
    assert untimed(done(3, usual)) != untimed(done(3, other))
    done(2, other, tmp_path)
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert settings["options"] == {option: other}
    assert untimed(done(3, other, tmp_path)) == untimed(done(3, other))
    message = f'where options was {{"{option}": {other}}} and now is {{"{option}": {usual}}}'
    with pytest.raises(ProblemError, match=message):
        done(3, usual, tmp_path)


def test_progress_is_told_of_every_row():
    told = []
    rows(4, progress=lambda done, all_: told.append((done, all_)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_bar_shows_the_remaining_time_on_stderr(capsys):
    rows(4, progress=True)
    said = capsys.readouterr()
    assert not said.out
    assert "4/4" in said.err
    assert "run/s" in said.err


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_run_says_which(jobs, tmp_path):
    with pytest.raises(ProblemError, match="this run fails") as caught:
        rows(12, fail_at=7, jobs=jobs, output=tmp_path)
    assert "in run 7 of seed 0" in caught.value.__notes__
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0] == "run,samples,correct,status,seconds"
    assert not any(line.startswith("7,") for line in lines)
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_reported():
    with pytest.raises(MislidError, match="a worker process ended before its run did"):
        rows(6, die_at=3, jobs=2)


def test_bad_arguments_are_refused_before_workers_start():
    with pytest.raises(ProblemError, match="algorithm must be a known name; got 'nonsense'"):
        rows(6, algorithm="nonsense", jobs=2)


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    with pytest.raises(Interrupted, match="interrupted after 7 of 20 runs") as caught:
        rows(output=tmp_path, interrupt_at=7)
    assert untimed(caught.value.rows) == untimed(rows(7))
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception)
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 8


def test_a_run_that_reports_its_interruption_ends_the_rest(tmp_path):
    with pytest.raises(Interrupted) as caught:
        rows(output=tmp_path, _identify=fake_runs.interrupted_at_third)
    assert [row.run for row in caught.value.rows] == [0, 1, 2]


class Directory:
    """A directory of ten runs, of which some were lost."""

    def __init__(self, path):
        self.path = path
        self.whole = rows(10, output=path)
        self.file = path / "runs.csv"
        self.lines = self.file.read_text().splitlines(keepends=True)


@pytest.fixture
def directory(tmp_path):
    return Directory(tmp_path)


def test_rows_are_kept_in_order(directory):
    assert [int(line.partition(",")[0]) for line in directory.lines[1:]] == list(range(10))
    settings = json.loads((directory.path / "settings.json").read_text())
    assert settings == replicate_settings(INSTANCE, 1, runs=10)
    assert settings["versions"].keys() == {"mislid", "numpy", "numba"}
    assert sorted(place.name for place in directory.path.iterdir()) == ["runs.csv", "settings.json"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_missing_runs_are_done_and_others_are_not(directory, jobs):
    kept = [directory.lines[at] for at in (0, 5, 2, 9)]
    directory.file.write_text("".join(kept) + "6,12")
    done = []
    again = rows(10, output=directory.path, jobs=jobs, progress=lambda n, _: done.append(n))
    assert len(done) == 7
    assert untimed(again) == untimed(directory.whole)
    after = directory.file.read_text().splitlines(keepends=True)
    assert [line.split(",")[:4] for line in after] == [
        line.split(",")[:4] for line in directory.lines
    ]
    assert all(line in after for line in kept)


def test_a_finished_replication_is_only_read(directory):
    again = rows(10, output=directory.path, _identify=None)
    assert again == directory.whole


def test_runs_can_be_added(directory):
    more = rows(15, output=directory.path)
    assert more[:10] == directory.whole
    assert untimed(more) == untimed(rows(15))
    with pytest.raises(ProblemError, match=r"runs must be at least 15, .* got 4"):
        rows(4, output=directory.path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 1}, "where seed was 0 and now is 1"),
        ({"delta": 0.1}, 'where options was {} and now is {"delta": 0.1}'),
        ({"instance": Instance(INSTANCE.model, [0.4, 0.5, 0.9])}, "where instance was"),
    ],
)
def test_other_settings_are_refused(directory, change, sentence):
    with pytest.raises(ProblemError, match=sentence):
        rows(10, output=directory.path, **change)
    assert directory.file.read_text() == "".join(directory.lines)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("runs.csv", "a,b\n1,2\n", "must begin with 'run,samples,correct,status,seconds'"),
        ("runs.csv", "run,samples,correct,status,seconds\n0,x,,a,1\n", "got '0,x,,a,1' in line 2"),
        ("settings.json", "{", "must be the settings of earlier runs"),
        ("settings.json", '{"colour": "red"}', "must be the settings of earlier runs"),
    ],
)
def test_files_of_something_else_are_refused(directory, name, text, sentence):
    (directory.path / name).write_text(text)
    with pytest.raises(FileFormatError, match=sentence):
        rows(10, output=directory.path)
    assert (directory.path / name).read_text() == text


def test_a_call_that_failed_at_once_does_not_stand_in_the_way(tmp_path, capsys):
    with pytest.raises(ProblemError, match="algorithm must be a known name"):
        rows(2, output=tmp_path, algorithm="nonsense", progress=True)
    assert not capsys.readouterr().err
    assert len(rows(2, output=tmp_path, algorithm="mislid")) == 2


def test_a_table_without_settings_is_left_alone(tmp_path):
    (tmp_path / "runs.csv").write_text("someone's own\n")
    with pytest.raises(ProblemError, match=r"has a runs\.csv but no settings\.json"):
        rows(output=tmp_path)


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ProblemError, match="output must be a directory that can be made"):
        rows(output=tmp_path / "file")


def test_a_directory_in_use_is_refused(tmp_path):
    def intrude(done, _):
        with pytest.raises(ProblemError, match="which another process is filling"):
            rows(2, output=tmp_path)

    pytest.importorskip("fcntl")
    assert len(rows(2, output=tmp_path, progress=intrude)) == 2


def test_settings_tell_composed_options_apart():
    def settings(**options):
        return replicate_settings(INSTANCE, 1, runs=3, **options)["options"]

    first = settings(environment=Bernoulli([0.4, 0.5, 0.8]))
    assert first == settings(environment=Bernoulli([0.4, 0.5, 0.8]))
    assert first != settings(environment=Bernoulli([0.4, 0.5, 0.7]))
    assert first["environment"].startswith("Bernoulli ")
    assert settings(tolerance=0.1, gamma=1.2) == {"tolerance": 0.1, "gamma": 1.2}
    assert settings(algorithm=LUCB(authors=True)) == {"algorithm": "LUCB(authors=True)"}
    assert settings(max_samples=np.int64(5), delta=np.float64(0.1), slack=np.inf) == {
        "delta": 0.1,
        "max_samples": 5,
        "slack": "inf",
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"runs": 0}, "runs must be an integer at least 1; got 0"),
        ({"runs": 2.5}, "runs must be an integer at least 1; got 2.5"),
        ({"runs": True}, "runs must be an integer at least 1; got True"),
        ({"jobs": 0}, "jobs must be an integer at least 1; got 0"),
        ({"seed": -1}, "seed must be an integer at least 0; got -1"),
        ({"callback": print}, "callback and every are for one run of identify"),
        ({"every": 5}, "callback and every are for one run of identify"),
        ({"instance": None}, "instance must be a mislid.Instance; got NoneType"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ProblemError, match=sentence):
        rows(**arguments)


@pytest.mark.parametrize(
    ("package", "call", "sentence"),
    [
        ("pandas", lambda: replicate(INSTANCE, 1, runs=1), "replicate needs pandas"),
        ("tqdm", lambda: rows(1, progress=True), "progress needs tqdm"),
        ("distributed", lambda: rows(1, client=object()), "client needs the package distributed"),
    ],
)
def test_missing_packages_are_named(monkeypatch, package, call, sentence):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=sentence):
        call()
