"""`mislid study status`, `result`, `verify`, `export`, and what other parts of a release give."""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from helpers.report_studies import OBJECTS, ruled_by_objects
from helpers.study_calls import POTENCY, Call, printed, question, refused
from mislid.cli.study import status
from mislid.forecast import (
    Sensitivity,
    SensitivityRow,
    StudyProgress,
    StudyWarning,
    WhatIf,
    overview,
)
from mislid.forecast.overview import Overview
from mislid.forecast.simulate import Forward
from mislid.study import Study

PROGRESS = StudyProgress(
    *(2, 1234, 20, None, ""),
    pair=("B07", "C33"),
    statistic=3.25,
    threshold=12.5,
    lower_bound=99.0,
    best_now=("C33",),
)
NOISE = StudyWarning("noise", "the noise is larger than declared", 0.01, 5.0, 4.0)
WHAT_IF = WhatIf(
    *(40, 30, 60, ""),
    m=2,
    delta=0.1,
    tolerance=0.0,
    misspecification=math.inf,
    changed=("m",),
    decided_now=False,
    answer_now=("C33", "B07"),
)


@pytest.fixture
def forecast(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Parts that say what is wanted."""

    def saying(progress: StudyProgress = PROGRESS, warnings: tuple[StudyWarning, ...] = ()) -> None:
        monkeypatch.setattr(Overview, "progress", property(lambda _: progress))
        monkeypatch.setattr(overview, "_warnings", lambda _, known: warnings)

    return saying


@pytest.fixture
def decided(created: Call, opened) -> Call:
    opened().optimize(lambda trial: POTENCY[trial.arm])
    return created


@pytest.fixture
def unproven(study_command: Call, opened) -> Call:
    study_command("create", "s", *question("heuristic"))
    opened().optimize(lambda trial: POTENCY[trial.arm])
    return study_command


def row(text: str) -> dict[str, str]:
    (only,) = csv.DictReader(io.StringIO(text))
    return only


def told_some(call: Call, values: dict[str, float] = POTENCY) -> None:
    """Measurements of every candidate, too few to decide."""
    sheet = "".join(f"{arm},{value}\n" for arm, value in values.items())
    Path("some.csv").write_text(f"arm,value\n{sheet}")
    assert call("import", "s", "some.csv").status == 0


class TestWithoutAForecast:
    def test_nothing_is_simulated(self, created: Call, monkeypatch: pytest.MonkeyPatch) -> None:
        told_some(created)
        known = json.loads(created("status", "s", "--format", "json").out)
        monkeypatch.setattr(Forward, "run", None)  # to call it would be an error
        rows = printed(created("status", "s", "--no-forecast"))
        assert "forecast          no forecast: it was not asked for" in rows
        said = json.loads(created("status", "s", "--no-forecast", "--format", "json").out)
        assert (said["more"], said["more_low"], said["more_high"]) == (None, 0, None)
        simulated = {"more", "more_low", "more_high", "note"}
        assert known["more"] is not None
        assert all(said[name] == known[name] for name in known.keys() - simulated)

    def test_watching(self, created: Call, opened, monkeypatch: pytest.MonkeyPatch) -> None:
        told_some(created)
        monkeypatch.setattr(Forward, "run", None)
        monkeypatch.setattr(status, "pause", lambda _: _interrupt())
        done = created("status", "s", "--watch", "--no-forecast")
        assert done.status == 0
        assert "no forecast" in done.out


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_status_says_what_is_known_and_what_is_expected(created: Call, forecast) -> None:
    forecast(warnings=(NOISE,))
    created("ask", "s", "-n", 3)
    created("tell", "s", 0, 0.3)
    assert printed(created("status", "s")) == [
        "study             s",
        "status            running",
        "question          the best of 4 candidates",
        "guarantee         wrong with probability at most 0.05, proven",
        "measurements      1",
        "pending trials    2",
        "best now          C33 (no answer yet)",
        "limiting pair     B07 against C33",
        "evidence          3.25 of 12.5",
        "forecast          about 1,234 more measurements (at least 20)",
        "any method needs  about 99 in all",
        "proved for        no misspecification",
        "refuted           any below 0",
        "warning           the noise is larger than declared",
    ]
    said = json.loads(created("status", "s", "--format", "json").out, parse_constant=pytest.fail)
    assert said["pair"] == ["B07", "C33"]
    assert said["more_high"] is None
    assert said["warnings"][0]["kind"] == "noise"
    line = row(created("status", "s", "--format", "csv").out)
    assert line["pair"] == "B07; C33"
    assert line["warnings"] == "the noise is larger than declared"
    assert list(line) == list(said)


def test_the_exit_code_says_whether_it_has_decided(decided: Call, forecast) -> None:
    forecast()
    assert decided("status", "s", "--exit-code").status == 0
    decided("create", "t", *question())
    assert decided("status", "t", "--exit-code").status == 3
    assert decided("status", "t").status == 0


def test_a_study_without_an_answer_has_no_result(created: Call, opened) -> None:
    refused(created("result", "s"), 1, "has no answer yet, after 0 measurements.")
    opened().add_observations(list(POTENCY.items()))
    refused(
        created("result", "s"),
        1,
        "study 's' has not decided and has no answer yet, after 4 measurements; "
        "best now, which is no answer: C33",
    )
    refused(created("export", "s", "--certificate", "c.json"), 1, "has not decided")


def test_the_result_in_three_formats(decided: Call, opened) -> None:
    result = opened().result
    table = decided("result", "s").out
    assert "answer            C33\n" in table
    assert "guarantee         wrong with probability at most 0.05, proven\n" in table
    assert "noise             0.1\n" in table
    assert "misspecification  up to 0.2\n" in table
    said = json.loads(decided("result", "s", "--format", "json").out)
    assert said["answer"] == ["C33"]
    assert (said["proven"], said["agrees"]) == (True, True)
    assert said["statistic"] == result.statistic
    line = row(decided("result", "s", "--format", "csv").out)
    assert (line["rank"], line["arm"], line["proven"]) == ("1", "C33", "true")
    assert float(line["threshold"]) == result.threshold


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_an_answer_without_proof_is_labelled_everywhere(
    unproven: Call, forecast, form: str
) -> None:
    forecast()
    for words in (["result", "s"], ["status", "s"], ["status", "s", "--watch"], ["list"]):
        done = unproven(*words, "--format", form)
        assert done.status == 0, done.err
        assert "no proof" in done.out
    # Where only counts are printed, a truth value or a word says so.
    told = unproven("tell", "s", 0, POTENCY["A12"], "--format", form).out
    assert form == "csv" or ("no proof" in told) or ('"proven": false' in told)


def test_later_data_that_disagree_are_reported(decided: Call, folder: Path) -> None:
    (folder / "h.csv").write_text("arm,value\n" + "B07,9\n" * 40)
    assert "status        contradicted, no proof" in decided("import", "s", "h.csv").out
    done = decided("result", "s")
    assert done.status == 4
    assert "B07: they disagree" in done.out
    assert "CONTRADICTED" in done.out
    status = " ".join(decided("status", "s").out.split())
    assert "answer C33, no proof best now B07 forecast" in status
    assert "forecast no forecast: the data contradict what was declared" in status
    assert "evidence" not in status
    found = json.loads(decided("result", "s", "--format", "json").out)
    assert (found["agrees"], found["proven"], len(found["contradictions"])) == (False, False, 2)


def test_a_certificate_is_written_and_holds(decided: Call, folder: Path) -> None:
    done = decided("result", "s", "--certificate", "one.json")
    assert (done.status, done.err) == (0, "Certificate in one.json.\n")
    assert "answer" in done.out
    done = decided("export", "s", "--certificate", "two.json")
    assert (done.status, done.out) == (0, "")
    assert (folder / "one.json").read_text() == (folder / "two.json").read_text()
    refused(decided("export", "s", "--certificate", "no/c.json"), 1, "--certificate must name")
    done = decided("verify", "one.json")
    assert done.status == 0
    assert done.out.endswith("answer  C33\n")
    forged = json.loads((folder / "one.json").read_text())
    forged["data"]["sums"][0] += 0.1
    (folder / "forged.json").write_text(json.dumps(forged))
    done = decided("verify", "forged.json")
    assert done.status == 1
    assert "FAILS  evidence[0].evidence must be" in done.out
    assert done.err.startswith("Error: 'forged.json' does not hold: evidence[0].evidence")


def test_what_is_no_certificate(study_command: Call) -> None:
    refused(study_command("verify", "no.json"), 1, "FILE must be readable; got 'no.json'")
    refused(study_command("verify", "compounds.csv"), 1, "it is not JSON")
    refused(study_command("verify", "."), 1, "FILE must be readable")


def test_estimates(created: Call, folder: Path) -> None:
    (folder / "h.csv").write_text("arm,value\nA12,0.3\nB07,0.8\nC33,0.9\nC33,0.7\n")
    created("import", "s", "h.csv")
    table = created("estimates", "s").out.splitlines()
    assert table[0].split()[:5] == ["label", "count", "mean", "lower", "upper"]
    rows = json.loads(created("estimates", "s", "--format", "json").out)
    assert [row["label"] for row in rows] == ["A12", "B07", "C33", "D01"]
    assert (rows[2]["count"], rows[2]["mean"]) == (2, pytest.approx(0.8))
    assert (rows[3]["count"], rows[3]["mean"]) == (0, None)
    lines = list(csv.DictReader(io.StringIO(created("estimates", "s", "--format", "csv").out)))
    assert [line["count"] for line in lines] == ["1", "1", "2", "0"]
    assert lines[3]["mean"] == ""


def test_observations_and_events_for_other_programs(decided: Call, folder: Path, opened) -> None:
    study = opened()
    lines = list(csv.DictReader(io.StringIO(decided("export", "s").out)))
    assert [float(line["value"]) for line in lines] == [r.value for r in study.observation_rows()]
    assert lines[0]["arm"] == "A12"
    done = decided("export", "s", "--events", "--format", "json", "--output", "log.json")
    assert (done.out, done.err) == ("", f"{len(study.events())} events in log.json.\n")
    log = json.loads((folder / "log.json").read_text())
    assert [event["kind"] for event in log[:3]] == ["created", "asked", "told"]
    assert log[1]["fact"]["arms"] == ["A12"]
    assert log[-1]["fact"]["answer"] == ["C33"]
    text = decided("export", "s", "--events").out
    assert json.loads(list(csv.DictReader(io.StringIO(text)))[2]["fact"])["trial"] == 0
    assert decided("export", "s", "--format", "table").out.splitlines()[0].split() == [
        "event",
        "time",
        "trial",
        "arm",
        "value",
        "row",
    ]


ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z")


def test_times_are_in_iso_8601(decided: Call, folder: Path, opened) -> None:
    study = opened()
    rows = json.loads(decided("export", "s", "--format", "json").out)
    known = [row.time for row in study.observation_rows()]
    assert [datetime.fromisoformat(row["time"]).timestamp() for row in rows] == pytest.approx(
        known, abs=1e-6
    )
    decided("ask", "s", "--lease", "2d")
    times = [line["time"] for line in csv.DictReader(io.StringIO(decided("export", "s").out))]
    times += [row.split()[1] for row in printed(decided("export", "s", "--format", "table"))[1:]]
    log = json.loads(decided("export", "s", "--events", "--format", "json").out)
    times += [event["time"] for event in log]
    leased = [event["fact"]["expires"] for event in log if event["fact"].get("expires")]
    (asked,) = json.loads(decided("ask", "s", "--pending", "--format", "json").out)
    (line,) = json.loads(decided("list", "--format", "json").out)
    times += [*leased, asked["expires"], line["created"], line["updated"]]
    assert leased
    assert all(ISO.fullmatch(time) for time in times), times


def test_watching_ends_with_ctrl_c(created: Call, forecast, monkeypatch) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    forecast()
    monkeypatch.setattr(status, "pause", interrupted)
    done = created("status", "s", "--watch")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("study             s\nstatus            running\n")
    assert created("status", "s", "--watch", "1.5", "--exit-code").status == 3
    refused(created("status", "s", "--watch", "0"), 2)


@pytest.mark.parametrize("rules", OBJECTS)
@pytest.mark.parametrize("n_trials", [0, 30])
def test_a_study_whose_rules_are_objects_is_shown(
    rules: str, n_trials: int, study_command: Call, folder: Path
) -> None:
    ruled_by_objects(rules, n_trials, folder, study_name="s")._session.storage.close()
    lines = printed(study_command("status", "s"))
    said = json.loads(study_command("status", "s", "--format", "json").out)
    assert said["status"] == ("decided" if n_trials == 30 and rules != "sampling" else "running")
    assert said["proven"] is (rules == "sampling")
    if said["status"] == "running":
        assert f"forecast        {said['note']}" in lines
        assert said["note"].startswith("no forecast")
    (row,) = json.loads(study_command("list", "--format", "json").out)
    assert row["guarantee"] == ("proven" if rules == "sampling" else "no proof")
    done = study_command("export", "s", "--html", "report.html")
    assert (done.status, done.err) == (0, "Report in report.html.\n")
    refused(study_command("ask", "s"), 1, "must be given to load_study")


def test_watching_prints_every_change_until_it_has_decided(
    created: Call, opened, forecast, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecast()
    study = opened()
    left = iter([lambda: study.ask(2), lambda: None, lambda: study.tell(0, 0.3), None])

    def meanwhile(seconds: float) -> None:
        assert seconds == 2.5
        act = next(left)
        (act or (lambda: study.optimize(lambda trial: POTENCY[trial.arm])))()

    monkeypatch.setattr(status, "pause", meanwhile)
    lines = created("status", "s", "--watch", "2.5", "--format", "json").out.splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["running"] * 3 + ["decided"]


def test_what_if_without_another_question(created: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        SensitivityRow(0.0, ("C33",), 20.5, 12.0, decided=True, contradicted=True),
        SensitivityRow(math.inf, ("C33",), 3.0, 12.0, decided=False, contradicted=False),
    )
    found = Sensitivity(0.2, 0.35, ("C33",), 0.05, 0.01, rows, proven=True)
    monkeypatch.setattr(Study, "sensitivity", lambda study: found)
    monkeypatch.setattr(overview.Overview, "what_ifs", (WHAT_IF,))
    table = created("what-if", "s").out
    assert "proved up to   0.35\n" in table
    assert "refuted below  0.05\n" in table
    assert found.statement in table
    assert "m 2       about 40 more measurements (30 to 60)" in table
    said = json.loads(created("what-if", "s", "--format", "json").out)
    assert said["largest"] == 0.35
    assert said["table"][1]["misspecification"] == "inf"
    assert said["questions"][0]["more"] == 40
    assert created("what-if", "s", "--format", "csv").out.count("\n") == 3
