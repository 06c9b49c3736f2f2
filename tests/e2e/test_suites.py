"""`mislid reproduce --suite` from parsing to files, on instances that take few samples."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.cli import main
from mislid.cli.reproduce import SUITES as NAMES
from mislid.paper.experiments import suites


@dataclass(frozen=True)
class Easy:
    """Three arms far apart."""

    def draw(self, seed: int, misspecification: float) -> Instance:
        return Instance(Model(np.eye(3), misspecification), [3.0, 1.0, 0.0])


@pytest.fixture
def small(monkeypatch):
    """The suites, with two of the rows on an easy instance."""
    full = suites.ELIMINATION
    case = replace(full.cases[0], methods=full.cases[0].methods[1:3], recipe=Easy())
    monkeypatch.setitem(suites.SUITES, full.name, replace(full, cases=(case,)))
    race = suites.PEPS
    easy = replace(race, instance=Easy().draw(0, 0.0), m=1, horizon=200, racers=race.racers[:2])
    monkeypatch.setitem(suites.RACES, race.name, easy)


def test_names_are_those_of_the_records():
    assert set(NAMES) == {*suites.SUITES, *suites.RACES}


def test_a_table_with_ours_beside_theirs(small, tmp_path, capsys):
    call = [
        "reproduce",
        "--suite",
        "elimination",
        "--runs",
        "3",
        "--output",
        str(tmp_path),
        "--quiet",
    ]
    assert main(call) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "| best-arm | LinGapE, glr-selective | 3 |" in shown
    assert "| 33,110 ± 870 |" in shown
    report = (tmp_path / "elimination" / "report.md").read_text()
    assert report.count("samples against") == 2
    assert "**differs**" in report
    before = (tmp_path / "elimination" / "runs.csv").read_text()
    assert main(call) == 0
    assert (tmp_path / "elimination" / "runs.csv").read_text() == before


def test_a_race(small, tmp_path, capsys):
    call = ["reproduce", "--suite", "peps", "--runs", "4", "--output", str(tmp_path), "--quiet"]
    assert main(call) == 0
    text = (tmp_path / "peps" / "report.md").read_text()
    assert text.strip() in capsys.readouterr().out
    assert "PEPS at delta 0.05: 100 samples against 22,518 published" in text


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (["reproduce"], 2, "Name one experiment"),
        (["reproduce", "A", "--suite", "peps"], 2, "Name one experiment"),
        (["reproduce", "--suite", "peps", "--page", "x.md"], 1, "page must not be given"),
    ],
)
def test_wrong_calls_say_what_is_right(call, status, message, capsys):
    assert main(call) == status
    assert message in capsys.readouterr().err
