"""`mislid study correct`, `void`, `redeclare` and `accept`."""

import json
from pathlib import Path

from helpers.study_calls import Call, question, refused


def told(call: Call) -> None:
    call("ask", "s", "-n", 4)
    for trial, value in enumerate((0.3, 0.5, 0.9, 0.31)):
        assert call("tell", "s", trial, value).status == 0


def test_a_value_is_corrected_and_both_stay_in_the_log(created: Call) -> None:
    told(created)
    done = created("correct", "s", 1, 0.52, "--reason", "wrong column")
    assert done.status == 0, done.err
    assert "changed       yes" in done.out
    assert "changed       no" in created("correct", "s", 1, 0.52).out
    log = json.loads(created("export", "s", "--events", "--format", "json").out)
    fact = next(event["fact"] for event in log if event["kind"] == "corrected")
    assert (fact["values"], fact["reason"]) == ([0.52], "wrong column")
    assert "0.5 is now 0.52 (wrong column)" in created("status", "s", "--no-forecast").out
    assert created("correct", "s", "--row", 0, -0.3).status == 0  # a negative value is no option


def test_a_void_value_counts_no_more(created: Call) -> None:
    told(created)
    found = json.loads(created("void", "s", 2, "--format", "json").out)
    assert (found["changed"], found["samples"]) == (True, 3)
    refused(created("void", "s", 99), 1, "trial must be one that was asked")
    refused(created("void", "s"), 2, "give TRIAL, or --row ROW")
    refused(created("correct", "s", 2), 2, "give TRIAL and VALUE")
    refused(created("correct", "s", 2, "much"), 2, "VALUE")


def test_a_refuted_declaration_and_its_mend(created: Call, folder: Path) -> None:
    (folder / "h.csv").write_text("arm,value\n" + "A12,0\nA12,1\nB07,0\nC33,0\nD01,0\n" * 4)
    done = created("import", "s", "h.csv")
    assert "contradicted, no proof" in done.out
    assert done.err.startswith("Warning: ")
    assert created("status", "s", "--no-forecast", "--exit-code").status == 4
    refused(created("result", "s"), 1, "has not decided")
    assert "nothing is proven" in created("ask", "s").err
    line = json.loads(created("list", "--format", "json").out)[0]
    assert (line["status"], line["guarantee"]) == ("contradicted", "no proof")
    found = json.loads(created("redeclare", "s", "--noise", 1, "--format", "json").out)
    assert found["status"] == "running"
    refused(created("redeclare", "s"), 2, "give --misspecification, --noise, or both")


def test_what_is_proved_is_accepted(study_command: Call, folder: Path) -> None:
    words = [str(word) for word in question()]
    at = words.index("--misspecification")
    study_command("create", "s", *words[:at], *words[at + 2 :])
    (folder / "h.csv").write_text("arm,value\n" + "A12,0.3\nB07,0.5\nC33,0.9\nD01,0.4\n" * 2)
    assert "running" in study_command("import", "s", "h.csv").out
    refused(study_command("accept", "s", "--misspecification", 9), 1, "only up to")
    assert "decided" in study_command("accept", "s").out
    assert study_command("result", "s", "--certificate", "c.json").status == 0
    assert study_command("verify", "c.json").status == 0
