"""Other packages add algorithms by entry points."""

import re
from pathlib import Path

import pytest

import mislid
from mislid.algorithms import ALGORITHMS, algorithm_names, as_algorithm
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


def test_own_names_win_and_studies_find_the_others(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log can be read where the package is missing, and is not continued there."""
    storage = f"sqlite:///{package / 'lab.db'}"
    with monkeypatch.context() as installed:
        installed.syspath_prepend(package)
        assert as_algorithm("mislid") is ALGORITHMS["mislid"]
        assert algorithm_names().count("mislid") == 1
        with pytest.raises(ProblemError, match=", coin, ready-coin, "):
            as_algorithm("nonsense")
        means = {"a": 0.2, "b": 0.9}
        study = mislid.create_study(
            candidates=list(means), m=1, noise=0.1, algorithm="coin", storage=storage
        )
        study.optimize(lambda trial: means[trial.arm])
    again = mislid.load_study(storage=storage)
    assert (again.settings.algorithm, again.result.answer) == ("coin", ("b",))
    assert again.estimates()["count"].sum() == study.estimates()["count"].sum()
    assert mislid.verify(again.result.certificate.to_dict()).proven
    with pytest.raises(ProblemError, match="'coin', with which this study was begun, is of a pack"):
        again.ask()
