"""Other packages add algorithms by entry points."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from helpers.command_line import ENVIRONMENT, command
from helpers.scripts import run_script
from mislid.algorithms import as_algorithm
from mislid.errors import ProblemError

SOURCE = """
from mislid.algorithms import LUCB

class Coin:
    def propose(self, view):
        return int(view.rng.integers(view.question.K))

class Picky(Coin):
    def __init__(self, bias):
        self.bias = bias

ready = Coin()
eager = LUCB()  # stops by its own test
number = 7
"""
POINTS = """
[mislid.algorithms]
coin = lab_rules:Coin
ready-coin = lab_rules:ready
eager = lab_rules:eager
mislid = lab_rules:Coin
missing = lab_rules:Nobody
homeless = no_such_module:Coin
leaving = lab_leaves:Coin
picky = lab_rules:Picky
number = lab_rules:number
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder on the path in which the package `lab-rules` seems to be installed."""
    folder = tmp_path / "installed"
    about = folder / "lab_rules-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-rules\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "lab_rules.py").write_text(SOURCE)
    (folder / "lab_leaves.py").write_text("import sys\nsys.exit('no licence')\n")
    return folder


def path_with(folder: Path) -> str:
    return os.pathsep.join([str(folder), ENVIRONMENT["PYTHONPATH"]])


CANNOT = "cannot be loaded; repair that package or remove it ("
BROKEN = {
    "missing": ("lab_rules:Nobody", f"{CANNOT}AttributeError"),
    "homeless": ("no_such_module:Coin", f"{CANNOT}ModuleNotFoundError"),
    "leaving": ("lab_leaves:Coin", f"{CANNOT}SystemExit: no licence"),
    "picky": ("lab_rules:Picky", f"{CANNOT}TypeError"),
    "number": ("lab_rules:number", "must be composed, an object with propose(view), or the class"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_is_refused(package: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.syspath_prepend(package)
    place, fault = BROKEN[name]
    begin = f"algorithm {name!r}, which the package 'lab-rules' adds as {place!r}, {fault}"
    with pytest.raises(ProblemError, match=f"^{re.escape(begin)}"):
        as_algorithm(name)


def test_own_names_win_and_studies_find_the_others(package: Path) -> None:
    program = """
import mislid
from mislid.algorithms import ALGORITHMS, algorithm_names, as_algorithm
assert as_algorithm("mislid") is ALGORITHMS["mislid"]
assert algorithm_names().count("mislid") == 1
try:
    as_algorithm("nonsense")
except mislid.errors.ProblemError as problem:
    assert ", coin, ready-coin, " in str(problem), problem
study = mislid.create_study(
    candidates=["a", "b"], m=1, noise=0.1, algorithm="coin", storage="sqlite:///LAB"
)
study.optimize(lambda trial: {"a": 0.2, "b": 0.9}[trial.arm])
again = mislid.load_study(storage="sqlite:///LAB")
print(again.settings.algorithm, again.result.answer)
"""
    program = program.replace("LAB", str(package / "lab.db"))
    said, _ = run_script(program, PYTHONPATH=path_with(package))
    assert said == "coin ('b',)\n"


def test_a_study_is_read_without_the_package_that_chose(package: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "lab.db")
    program = """
import mislid
features = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
study = mislid.create_study(
    study_name="s", candidates=features, m=1, misspecification=0.5, noise=0.1, algorithm="coin",
    storage="sqlite:///LAB",
)
study.optimize(lambda trial: {"a": 0.2, "b": 0.9, "c": 0.3}[trial.arm])
"""
    run_script(program.replace("LAB", place), PYTHONPATH=path_with(package))

    def study(*words: str) -> subprocess.CompletedProcess[str]:
        return command("study", *words, "--storage", place, cwd=tmp_path)

    for word in ("status", "estimates", "check"):
        done = study(word, "s")
        assert done.returncode == 0, done.stderr
    assert "confirmed" in study("check", "s").stdout
    done = study("result", "s", "--certificate", "s.json")
    assert (done.returncode, "proven" in done.stdout) == (0, True), done.stderr
    assert command("study", "verify", tmp_path / "s.json").returncode == 0
    refused = study("ask", "s")
    assert refused.returncode == 1
    assert "'coin', with which this study was begun, is of a package that is not" in refused.stderr
