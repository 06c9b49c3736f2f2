"""`mislid run` in shards, `mislid merge`, and what the table says of a stopping rule."""

import json
from pathlib import Path

import numpy as np
import pytest

from mislid.cli import main
from mislid.simulation.replicate import replicate_rows
from mislid.stopping.rules import STOPPING_RULES


@pytest.fixture
def run(fake_job, tmp_path, monkeypatch, capsys):
    """Call `mislid` in a directory, with runs that are quick and known; what it printed."""
    monkeypatch.chdir(tmp_path)
    features, means = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.4, 0.5, 0.8]
    np.savez("arms.npz", features=features, means=means)

    def call(line, status=0):
        command, *rest = line.split()
        ask = (
            ["arms.npz", "--m", "1", "--misspecification", "0.1", "--quiet"]
            if command == "run"
            else []
        )
        assert main([command, *ask, *rest]) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return call


@pytest.mark.parametrize("rule", STOPPING_RULES.values(), ids=list(STOPPING_RULES))
def test_the_table_says_which_rules_have_no_guarantee(run, rule):
    said = run(f"run --runs 2 --stopping {rule.name}")
    assert f"\nstopping                     {rule.name}, error rate 0.05" in said
    assert ("no guarantee" in said) is not rule.guaranteed


def test_shards_are_merged(run, tmp_path):
    for number in (1, 2, 3):
        said = run(f"run --runs 8 --shard {number}/3 --output parts/{number} --format json")
        assert json.loads(said)["runs"] == (3 if number < 3 else 2)
    merged = json.loads(run("merge parts/1 parts/2 parts/3 --output all --format json"))
    assert merged == json.loads(run("run --runs 8 --format json"))
    names = sorted(place.name for place in (tmp_path / "all").iterdir())
    assert names == ["figure.png", "runs.csv", "settings.json"]
    again = json.loads(run("run --runs 8 --output all --format json"))
    assert again == merged
    assert run("merge all --output twice --format csv").startswith("run,samples,correct,")


def test_what_cannot_be_merged_is_one_sentence(run):
    run("run --runs 4 --shard 1/2 --output one")
    run("run --runs 4 --shard 2/2 --output two --seed 5")
    said = run("merge one two --output all", status=1)
    assert said.startswith("Error: directories to merge must have the same settings; seed is 0 in")
    said = run("merge one --output all", status=1)
    assert said.startswith("Error: directories to merge must hold all 4 runs; missing: 1, 3 (2 in")
    assert "\nruns                         2\n" in run("merge one --output all --partial")
    said = run("run --runs 4 --shard 5/4 --output three", status=1)
    assert said.startswith("Error: shard must be (i, n) with whole numbers 1 <= i <= n <= runs=4;")


def test_runs_of_python_are_merged(run):
    """Their settings name only the options that were given."""
    from mislid import load_instance

    instance = load_instance("arms.npz", 0.1)
    replicate_rows(instance, 1, runs=3, stopping="heuristic", output="made")
    said = run("merge made --output all")
    assert "heuristic, error rate 0.05, no guarantee" in said
    assert "\nalgorithm                    mislid\n" in said


def test_only_one_kind_of_workers(run):
    said = run("run --runs 2 --jobs 2 --dask tcp://127.0.0.1:9", status=2)
    assert "only one of --jobs and --dask may be given; got --jobs 2" in said


def test_the_table_says_what_is_assumed_of_the_noise(run):
    assert "\nnoise                        assumed unknown\n" in run(
        "run --runs 2 --assume-noise unknown"
    )
    assert "\nnoise                        assumed unknown-equal\n" in run(
        "run --runs 2 --assume-noise unknown-equal"
    )
    assert "\nnoise                        assumed 0.7\n" in run("run --runs 2 --assume-noise 0.7")
    assert "\nnoise  " not in run("run --runs 2")


def test_directories_of_earlier_releases_go_on(run):
    run("run --runs 2 --output there")
    settings = json.loads(Path("there/settings.json").read_text())
    assert "assume_noise" not in settings["options"]
