"""`mislid study add` and `retire`, and costs, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.study_calls import Call, refused


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
    assert "0.00313 of 0.05" in said
    assert "a decision: " in said
    assert study_command("retire", "s", "c", "--reason", "used up").status == 0
    assert "not measured now  c" in study_command("status", "s", "--no-forecast").out
    (folder / "more_values.csv").write_text("arm,value\n" + "d,1.6\nb,0.9\n" * 8)
    assert "decided" in study_command("import", "s", "more_values.csv").out
    found = json.loads(study_command("status", "s", "--no-forecast", "--format", "json").out)
    assert (found["added"], found["retired"], found["left"]) == (["d"], ["c"], [])
    assert (found["delta"], found["delta_left"]) == (0.05, 0.003125)
    assert study_command("export", "s", "--certificate", "c.json").status == 0
    assert study_command("verify", "c.json").status == 0
    done = study_command("retire", "s", "a", "--leave", "--format", "json")
    assert json.loads(done.out)["withdrawn"] is True


def test_trials_and_rows_keep_their_candidate_after_one_left(
    study_command: Call, folder: Path
) -> None:
    """Arms of the log are counted over all candidates, also those that left."""
    begun(study_command, folder, "--ignore", "price")
    study_command("ask", "s", "-n", 3)
    study_command("retire", "s", "a", "--leave")
    (folder / "wrong.csv").write_text("trial,arm,value\n0,a,0.5\n1,c,0.5\n")
    refused(study_command("tell", "s", "--csv", "wrong.csv"), 1, "trial 1 is of arm 'b'")
    (folder / "right.csv").write_text("trial,arm,value\n0,a,0.5\n1,b,0.5\n2,c,0.5\n")
    done = study_command("tell", "s", "--csv", "right.csv", "--format", "json")
    assert json.loads(done.out)["told"] == [0, 1, 2]
    events = json.loads(study_command("export", "s", "--events", "--format", "json").out)
    facts = {event["kind"]: event["fact"] for event in events}
    assert facts["retired"]["arm"] == "a"
    assert facts["asked"]["arms"] == ["a", "b", "c"]
    (folder / "few.csv").write_text("arm,value\nb,0.9\nc,0.4\n")
    for imported in (2, 0):
        done = study_command("import", "s", "few.csv", "--format", "json")
        assert json.loads(done.out)["imported"] == imported
