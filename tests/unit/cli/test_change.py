"""`mislid study add` and `retire`, and costs, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.study_calls import Call, refused

pytestmark = pytest.mark.parametrize("backend", ["sqlite", "postgresql"])


def begun(call: Call, folder: Path, *more: object) -> None:
    (folder / "arms.csv").write_text("name,price\na,1\nb,2\nc,20\n")
    (folder / "more.csv").write_text("name,price\nd,5\n")
    (folder / "h.csv").write_text("arm,value\n" + "a,0.2\nb,0.9\nc,0.4\n" * 8)
    given = ("--candidates", "arms.csv", "--m", 1, "--noise", 0.2, *more)
    assert call("create", "s", *given).status == 0


def test_candidates_come_and_go(study_command: Call, folder: Path) -> None:
    begun(study_command, folder, "--ignore", "price")
    assert "decided" in study_command("import", "s", "h.csv").out
    added = ("--candidates", "more.csv", "--ignore", "price", "--reason", "second plate")
    done = study_command("add", "s", *added)
    assert done.status == 0, done.err
    assert "withdrawn, and there is none now" in done.out
    said = study_command("status", "s", "--no-forecast").out
    assert "0.00625 of 0.05" in said
    assert "the decision for b after" in said
    assert study_command("retire", "s", "c", "--reason", "used up").status == 0
    assert "not measured now  c" in study_command("status", "s", "--no-forecast").out
    (folder / "more_values.csv").write_text("arm,value\n" + "d,1.6\nb,0.9\n" * 8)
    assert "decided" in study_command("import", "s", "more_values.csv").out
    found = json.loads(study_command("status", "s", "--no-forecast", "--format", "json").out)
    assert (found["added"], found["retired"], found["left"]) == (["d"], ["c"], [])
    assert (found["delta"], found["delta_left"]) == (0.05, 0.00625)
    assert study_command("result", "s", "--certificate", "c.json").status == 0
    assert study_command("verify", "c.json").status == 0
    done = study_command("retire", "s", "a", "--leave", "--uninformed", "--format", "json")
    assert json.loads(done.out)["withdrawn"] is True


def test_costs_are_read_and_reported(study_command: Call, folder: Path) -> None:
    begun(study_command, folder, "--cost", "price")
    (folder / "few.csv").write_text("arm,value\na,0.2\nb,0.9\nc,0.4\n")
    study_command("import", "s", "few.csv")
    assert "23 by now, about" in study_command("status", "s").out
    refused(
        study_command("add", "s", "--candidates", "more.csv", "--ignore", "price"),
        1,
        "cost must be given for new candidates",
    )
    assert study_command("add", "s", "--candidates", "more.csv", "--cost", "price").status == 0


def test_what_cannot_be_is_refused(study_command: Call, folder: Path) -> None:
    begun(study_command, folder, "--ignore", "price")
    refused(study_command("retire", "s", "zz"), 1, "arm must be one of the 3 candidates")
    refused(study_command("retire", "s", "a"), 1, "arm must be one that was measured")
    refused(study_command("add", "s", "--candidates", "none.csv"), 1, "none.csv")
    refused(study_command("add", "s", "--candidates", "more.csv"), 1, "no features, as the others")
    refused(
        study_command("add", "s", "--candidates", "arms.csv", "--ignore", "price"),
        1,
        "must be new to the study",
    )
