"""`mislid reproduce` from parsing to files, on instances that take few samples."""

import numpy as np
import pytest

from mislid.cli import main
from mislid.paper.experiments import EXPERIMENTS

FILES = {"parts", "report.md", "figure.png"}


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """Nothing in the cache directory."""
    monkeypatch.delenv("MISLID_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def easy(K, d, m):
    """An instance whose m best arms stand out."""
    rng = np.random.default_rng(K)
    features = rng.standard_normal((K, d))
    means = 0.1 * rng.uniform(-1.0, 1.0, K)
    means[:m] += 8.0
    features[:, 0] = means
    return {"features": features, "means": means}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "instances").mkdir(parents=True)
    for name, shape in {
        "A_eps0": (10, 5, 3),
        "A_eps5": (10, 5, 3),
        "B": (15, 8, 3),
        "D": (10, 5, 5),
        "E": (103, 8, 4),
    }.items():
        np.savez(folder / "instances" / f"{name}.npz", **easy(*shape))
    return folder


def reproduce(*arguments):
    return main(["reproduce", *map(str, arguments)])


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_from_end_to_end(name, data, tmp_path, capsys):
    output = tmp_path / "out"
    assert reproduce(name, "--runs", 2, "--data", data, "--output", output) == 0
    said = capsys.readouterr()
    assert f"Report: {output / name / 'report.md'}" in said.out
    assert {file.name for file in (output / name).iterdir()} >= FILES
    assert "Runs on the published instances; seed 0." in (output / name / "report.md").read_text()
    methods = sum(len(case.methods) for case in EXPERIMENTS[name].cases)
    runs = [len(file.read_text().splitlines()) for file in (output / name).rglob("runs.csv")]
    assert runs == [1 + 2] * methods


def test_without_data_the_paper_s_recipe_is_used(tmp_path, capsys):
    output = tmp_path / "out"
    assert reproduce("C", "--runs", 1, "--seed", 3, "--output", output) == 0
    said = (output / "C" / "report.md").read_text()
    assert "Runs on instances drawn by the paper's recipe" in said
    assert "seed 3." in said
    assert "another instance" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["D", "E"])
def test_real_data_that_are_missing_are_asked_for(name, tmp_path, capsys):
    assert reproduce(name, "--output", tmp_path / "out") == 1
    said = capsys.readouterr()
    assert not said.out
    assert f"Error: {name}: no instances/{name}.npz in" in said.err
    assert "get it with `mislid data fetch instances`" in said.err
    assert "come from the authors' https://github.com/clreda/misspecified-top-m" in said.err
    assert not (tmp_path / "out").exists()
