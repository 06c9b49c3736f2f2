"""`mislid study status`, `result`, `verify`, `export`, and what other parts of a release give."""

import json
from pathlib import Path

import pytest

from helpers.report_studies import ruled_by_objects
from helpers.study_calls import POTENCY, Call, question, refused
from mislid.forecast import StudyProgress
from mislid.forecast.overview import Overview


@pytest.fixture
def foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is simulated."""
    found = StudyProgress(1234, 20, None, "", pair=("B07", "C33"), best_now=("C33",))
    monkeypatch.setattr(Overview, "progress", property(lambda _: found))


@pytest.fixture
def decided(created: Call, opened) -> Call:
    opened().optimize(lambda trial: POTENCY[trial.arm])
    return created


@pytest.fixture
def unproven(study_command: Call, opened) -> Call:
    study_command("create", "s", *question("heuristic"))
    opened().optimize(lambda trial: POTENCY[trial.arm])
    return study_command


def test_the_exit_code_says_whether_it_has_decided(decided: Call, foreseen) -> None:
    assert decided("status", "s", "--exit-code").status == 0
    decided("create", "t", *question())
    assert decided("status", "t", "--exit-code").status == 3
    assert decided("status", "t").status == 0


def test_a_study_without_an_answer_has_no_result(created: Call, opened) -> None:
    refused(created("result", "s"), 1, "has no answer yet, after 0 measurements.")
    assert "proved for no misspecification" in created("what-if", "s").out
    opened().add_observations(list(POTENCY.items()))
    refused(
        created("result", "s"),
        1,
        "study 's' has not decided and has no answer yet, after 4 measurements; "
        "best now, which is no answer: C33",
    )
    refused(created("export", "s", "--certificate", "c.json"), 1, "has not decided")
    found = opened().result_now()
    said = json.loads(created("result", "s", "--now", "--format", "json").out)
    assert said == {"study": "s", **found.to_dict()}
    assert f"open pairs    {len(found.pairs)}\n" in created("result", "s", "--now").out


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_an_answer_without_proof_is_labelled_everywhere(
    unproven: Call, foreseen, form: str
) -> None:
    for words in (["result", "s"], ["status", "s"], ["list"]):
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
    assert "CONTRADICTED" in done.out
    status = " ".join(decided("status", "s").out.split())
    assert "guarantee no proof (the data contradict what was declared)" in status
    assert "answer C33 best now B07 forecast" in status
    assert "forecast no forecast: the data contradict what was declared" in status
    assert "evidence" not in status
    found = json.loads(decided("result", "s", "--format", "json").out)
    assert (found["agrees"], found["proven"], len(found["contradictions"])) == (False, False, 2)


def test_a_certificate_is_written_and_holds(decided: Call, folder: Path) -> None:
    done = decided("export", "s", "--certificate", "one.json")
    assert done == (0, "", "Certificate in one.json.\n")
    refused(decided("export", "s", "--certificate", "no/c.json"), 1, "path must name")
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


def test_a_study_whose_rules_are_objects_is_shown(study_command: Call, folder: Path) -> None:
    ruled_by_objects("both", 30, folder, study_name="s")._session.storage.close()
    said = json.loads(study_command("status", "s", "--format", "json").out)
    assert (said["status"], said["proven"]) == ("decided", False)
    (row,) = json.loads(study_command("list", "--format", "json").out)
    assert row["guarantee"] == "no proof"
    done = study_command("export", "s", "--html", "report.html")
    assert (done.status, done.err) == (0, "Report in report.html.\n")
    refused(study_command("ask", "s"), 1, "must be given to load_study")
