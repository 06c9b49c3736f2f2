"""`mislid study correct`, `void` and `redeclare`."""

import json
import re
from pathlib import Path

from helpers.study_calls import Call, refused


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
    status = created("status", "s", "--no-forecast").out
    assert re.search("(?m)^corrections +1, in the log$", status), status
    assert created("correct", "s", "--row", 0, -0.3).status == 0  # a negative value is no option


def test_a_refuted_declaration_and_its_mend(created: Call, folder: Path) -> None:
    (folder / "h.csv").write_text("arm,value\n" + "A12,0\nA12,1\nB07,0\nC33,0\nD01,0\n" * 4)
    done = created("import", "s", "h.csv")
    assert "contradicted, no proof" in done.out
    assert done.err.startswith("Warning: ")
    assert created("status", "s", "--no-forecast", "--exit-code").status == 4
    refused(created("result", "s"), 1, "has not decided", "data contradict what was declared")
    assert "nothing is proven" in created("ask", "s").err
    line = json.loads(created("list", "--format", "json").out)[0]
    assert (line["status"], line["guarantee"]) == ("contradicted", "no proof")
    found = json.loads(created("redeclare", "s", "--noise", 1, "--format", "json").out)
    assert found["status"] == "running"
    refused(created("redeclare", "s"), 1, "misspecification")
