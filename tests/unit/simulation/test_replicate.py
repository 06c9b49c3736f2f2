"""Many runs: the same rows wherever they are done, kept on disk as they finish."""

import threading
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor

import numpy as np
import pytest

from helpers import fake_runs
from mislid import Instance, Model
from mislid.algorithms import LUCB
from mislid.errors import (
    FileFormatError,
    Interrupted,
    MislidError,
    ProblemError,
)
from mislid.simulation import replicate
from mislid.simulation.environments import Bernoulli
from mislid.simulation.replicate import replicate_rows, replicate_settings

pytestmark = pytest.mark.usefixtures("fake_job")
INSTANCE = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.4, 0.5, 0.8])


def rows(runs=20, instance=INSTANCE, **options):
    return replicate_rows(instance, 1, runs=runs, **options)


def untimed(found):
    return [row[:4] for row in found]


def test_a_run_depends_on_its_own_seed_alone():
    few, many = rows(5), rows(20)
    assert untimed(many)[:5] == untimed(few)
    assert untimed(rows(20, seed=1)) != untimed(many)
    expected = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(3,)))
    assert many[3].samples == expected.integers(100, 10_000)


def test_processes_give_the_same_rows():
    assert untimed(rows(jobs=2, wait=0.01)) == untimed(rows())


class Watched(ThreadPoolExecutor):
    """Threads that remember what was handed out, and the most that was unfinished at a time."""

    def __init__(self):
        super().__init__(3)
        self.most, self.futures = 0, []

    def submit(self, *call):
        self.futures.append(super().submit(*call))
        self.most = max(self.most, sum(not future.done() for future in self.futures))
        return self.futures[-1]


def test_an_executor_gives_the_same_rows_as_they_finish(monkeypatch, tmp_path):
    """No more than so many at a time are handed out, and it can be used again."""
    monkeypatch.setattr(replicate, "IN_FLIGHT", 5)
    kept = []

    def read(done, _):
        kept.append((tmp_path / "runs.csv").read_text().count("\n") - 1)

    with Watched() as threads:
        found = rows(executor=threads, wait=0.01, output=tmp_path, progress=read)
        assert 1 < threads.most <= 5
        assert kept == list(range(1, 21))
        assert untimed(found) == untimed(rows())
        assert untimed(rows(seed=1, executor=threads)) == untimed(rows(seed=1))


@pytest.mark.parametrize("problem", [BrokenExecutor, CancelledError])
def test_an_executor_that_breaks_is_reported(problem):
    class Broken(ThreadPoolExecutor):
        def submit(self, *call):
            future = Future()
            future.set_exception(problem())
            return future

    sentence = f"a worker ended before its run did, .*: {problem.__name__}"
    with Broken() as broken, pytest.raises(MislidError, match=sentence):
        rows(executor=broken)


class Unreadable:
    def __reduce__(self):
        return int, ("x",)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (threading.Lock(), r"options must be values .*: TypeError: cannot pickle '_thread\.lock'"),
        (Unreadable(), "or could not begin: ValueError: invalid literal for int"),
    ],
)
def test_what_cannot_travel_is_reported(option, sentence):
    with pytest.raises(MislidError, match=sentence):
        rows(algorithm=option, jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_run_says_which(jobs, tmp_path):
    with pytest.raises(ProblemError, match="this run fails") as caught:
        rows(12, fail_at=7, jobs=jobs, output=tmp_path)
    assert "in run 7 of seed 0" in caught.value.__notes__
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0] == "run,samples,correct,status,seconds"
    assert not any(line.startswith("7,") for line in lines)


def test_a_worker_that_dies_is_reported():
    with pytest.raises(MislidError, match="a worker ended before its run did"):
        rows(6, die_at=3, jobs=2)


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    with pytest.raises(Interrupted, match="interrupted after 7 of 20 runs") as caught:
        rows(output=tmp_path, interrupt_at=7)
    assert untimed(caught.value.rows) == untimed(rows(7))
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception)
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 8


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


def test_a_finished_replication_is_only_read(directory, monkeypatch):
    monkeypatch.setattr(fake_runs.FakeJob, "outcome", None)
    again = rows(10, output=directory.path)
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
        (
            "runs.csv",
            "a,b\n1,2\n",
            "below 'run,samples,correct,status,seconds'; got 'a,b'",
        ),
        ("runs.csv", "run,samples,correct,status,seconds\n0,x,,a,1\n", "got '0,x,,a,1' .*invalid"),
        ("settings.json", '{"colour": "red"}', "must be the settings of earlier runs"),
    ],
)
def test_files_of_something_else_are_refused(directory, name, text, sentence):
    (directory.path / name).write_text(text)
    with pytest.raises(FileFormatError, match=sentence):
        rows(10, output=directory.path)
    assert (directory.path / name).read_text() == text


def test_a_directory_in_use_is_refused(tmp_path):
    def intrude(done, _):
        with pytest.raises(ProblemError, match="which another process is filling"):
            rows(2, output=tmp_path)

    pytest.importorskip("fcntl")
    assert len(rows(2, output=tmp_path, progress=intrude)) == 2


class Own:
    """Its text names an address."""

    def __init__(self, width):
        self.widths = {"first": np.array([width]), "of": fake_runs.identify}


def test_settings_tell_composed_options_apart():
    def settings(**options):
        return replicate_settings(INSTANCE, 1, runs=3, **options)["options"]

    first = settings(environment=Bernoulli([0.4, 0.5, 0.8]))
    assert first == settings(environment=Bernoulli([0.4, 0.5, 0.8]))
    assert first != settings(environment=Bernoulli([0.4, 0.5, 0.7]))
    assert first["environment"].keys() == {"Bernoulli"}
    assert settings(tolerance=0.1, gamma=1.2) == {"tolerance": 0.1, "gamma": 1.2}
    assert settings(algorithm=LUCB(authors=True)) == {"algorithm": {"LUCB": {"authors": True}}}
    assert settings(algorithm=Own(1)) == settings(algorithm=Own(1))
    assert settings(algorithm=Own(1)) != settings(algorithm=Own(2))
    assert settings(max_samples=np.int64(5), delta=np.float64(0.1)) == {
        "delta": 0.1,
        "max_samples": 5,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"seed": -1}, "seed must be an integer at least 0; got -1"),
        (
            {"jobs": 2, "client": 5},
            "only one of jobs, client and .* got jobs=2, client=5",
        ),
        (
            {"client": 5, "executor": ThreadPoolExecutor(1)},
            "only one of jobs, client and executor .* client=5 and executor=<",
        ),
        ({"client": 5}, "client must be a distributed.Client; got int"),
        ({"instance": None}, "instance must be a mislid.Instance; got NoneType"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ProblemError, match=sentence):
        rows(**arguments)
