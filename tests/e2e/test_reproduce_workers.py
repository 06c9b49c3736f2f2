"""`mislid reproduce` by several workers, and interrupted: the same runs whoever does them."""

import csv
import json
import os
import signal
import time
import warnings
from dataclasses import replace

import pytest

from helpers.command_line import fake, slow
from mislid.cli import main
from mislid.paper.experiments import EXPERIMENTS, Method

RUNS = 6
pytestmark = pytest.mark.slow


@pytest.fixture
def brief(monkeypatch):
    """Experiment C, drawn by the recipe, with two methods that take little time."""
    experiment = EXPERIMENTS["C"]
    (case,) = experiment.cases
    methods = (Method("LUCB, standard width", "lucb"), Method("LinGapE", "lingape"))
    short = replace(experiment, cases=(replace(case, methods=methods),))
    monkeypatch.setitem(EXPERIMENTS, "C", short)


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("MISLID_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def reproduce(output, *arguments):
    asked = ["reproduce", "C", "--runs", RUNS, "--output", output, "--quiet", *arguments]
    assert main([*map(str, asked)]) == 0
    return untimed(output)


def untimed(output):
    """All runs but for the seconds that they took."""
    with (output / "C" / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: cell for name, cell in row.items() if name != "seconds"} for row in rows]


@pytest.mark.usefixtures("brief")
def test_a_cluster_of_two_workers_gives_the_same_runs(tmp_path):
    distributed = pytest.importorskip("distributed")
    alone = reproduce(tmp_path / "alone")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports and event loops, not ours
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            assert len(cluster.scheduler.workers) == 2
            done = reproduce(tmp_path / "cluster", "--dask", cluster.scheduler_address)
            asked = {str(entry[0]) for entry in cluster.scheduler.transition_log}
    assert done == alone
    # It was the cluster that did them.
    assert sum(key.startswith("measure") for key in asked) == 2 * RUNS


def files_below(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def rows_kept(output):
    """The finished runs of all methods, as they stand on disk."""
    return {
        (file.parent.name, line)
        for file in output.rglob("parts/**/runs.csv")
        for line in file.read_text().splitlines()
    }


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_interrupted_goes_on_and_ends_with_the_same_files(tmp_path, how):
    whole, output = tmp_path / "whole", tmp_path / "broken"
    ask = ("reproduce", "C", "--runs", RUNS, "--quiet", "--output")
    assert fake(*ask, whole).returncode == 0
    process = slow(*ask, output)
    second = output / "C" / "parts" / "C" / "aggressive" / "runs.csv"
    while process.poll() is None and not (second.exists() and second.read_text().count("\n") > 2):
        time.sleep(0.02)
    process.send_signal(how)
    _, said = process.communicate()
    kept = rows_kept(output)
    if how == signal.SIGINT:
        assert process.returncode == 1
        assert said.startswith("Error: interrupted after ")
        assert f"kept in '{second.parent}'" in said
    assert not (output / "C" / "report.md").exists()
    again = fake(*ask, output)
    assert again.returncode == 0, again.stderr
    assert f"Report: {output / 'C' / 'report.md'}" in again.stdout
    assert kept < rows_kept(output)
    assert files_below(output) == files_below(whole)
    assert untimed(output) == untimed(whole)
    settings = [
        json.loads((place / "C" / "settings.json").read_text()) for place in (output, whole)
    ]
    assert settings[0] == settings[1]
