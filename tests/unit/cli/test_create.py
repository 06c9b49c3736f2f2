"""`mislid study create`, and where studies are."""

import json
from pathlib import Path

import pytest

from helpers.study_calls import Call, question, refused


def test_the_question_reaches_the_study(study_command: Call, opened) -> None:
    done = study_command(
        *("create", "s", "--candidates", "compounds.csv", "--m", 2, "--delta", 0.1),
        *("--misspecification", 0.3, "--noise", 0.2, "--tolerance", 0.05, "--seed", 7),
        *("--direction", "minimize", "--algorithm", "lingape", "--stopping", "paper"),
        *("--format", "json", "--no-intercept"),
    )
    assert (done.status, done.err) == (0, "")
    said = json.loads(done.out)
    study = opened()
    assert study.candidates.labels == ("A12", "B07", "C33", "D01")
    assert study.candidates.features.tolist() == [[1, 0], [0, 1], [1, 1], [0.5, 0.5]]
    expected = {
        "m": 2,
        "delta": 0.1,
        "misspecification": 0.3,
        "noise": (0.2,),
        "tolerance": 0.05,
        "direction": "minimize",
        "algorithm": "lingape",
        "stopping": "paper",
        "seed": 7,
    }
    assert {name: getattr(study.settings, name) for name in expected} == expected
    assert said["study"] == "s"
    assert {name: said[name] for name in expected} == expected | {"noise": 0.2}


def test_a_study_is_made_once(created: Call) -> None:
    refused(created("create", "s", *question()), 1, "study_name must be new; got 's'")
    assert created("create", "s", *question(), "--load-if-exists").status == 0
    other = created("create", "s", *question("paper"), "--load-if-exists")
    refused(other, 1, "stopping was 'guaranteed' and now is 'paper'")


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        ("id,noise,x\na,1,2\nb,2,3\n", [], "has a column 'noise', which is hardly a feature"),
        ("id,x\na,1\nb,n/a\n", [], "line 3, column 'x': a finite number is needed; got 'n/a'"),
        ("id,x\na,1\nb,2\na,3\n", [], "must be distinct; got 'a'"),
        ("id,x\na,1\nb,3\n", ["--noise", "-1"], "noise must be a finite number above 0"),
    ],
)
def test_bad_candidates_leave_no_storage_behind(
    study_command: Call, folder: Path, content: str, words: list[str], sentence: str
) -> None:
    (folder / "arms.csv").write_text(content)
    misspecification = ["--misspecification", "0.1"] if ",x" in content else []
    ask = ["create", "s", "--candidates", "arms.csv", "--m", "1", *misspecification, *words]
    refused(study_command(*ask), 1, sentence)
    assert not (folder / "lab.db").exists()


def test_without_a_storage_the_way_out_is_named(
    study_command: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISLID_STORAGE")
    for words in (["list"], ["ask", "s"], ["create", "s", *question()]):
        refused(study_command(*words), 2, "give --storage, or set MISLID_STORAGE, such as lab.db")


def test_a_mistyped_storage_makes_no_file(created: Call, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    for address in ("lap.db", "sqlite:///lap.db"):
        for words in (["list"], ["status", "s"]):
            done = created(*words, "--storage", address)
            refused(done, 1, f"storage must be there; got {address!r}")
    refused(created("status", "S"), 1, "study_name must be of a study in this")
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://host/lab", "storage must be an address such as 'sqlite:///lab.db'"),
        ("postgresql://u:secret@host:port/lab", "'postgresql://u:***@host:port/lab' cannot be"),
        ("compounds.csv", "is damaged or no database"),
    ],
)
def test_a_bad_storage_is_one_sentence(study_command: Call, address: str, sentence: str) -> None:
    refused(study_command("list", "--storage", address), 1, sentence)


def test_a_feature_with_the_name_of_a_column_of_sheets(study_command: Call, folder: Path) -> None:
    (folder / "arms.csv").write_text("name,value,state\na,1,2\nb,2,1\nc,3,4\nd,5,5\n")
    study_command("create", "s", "--candidates", "arms.csv", "--m", 1, "--noise", 0.1)
    done = study_command("ask", "s", "--csv", "plate.csv")
    assert done.status == 0, done.err
    heading, line = (folder / "plate.csv").read_text().splitlines()
    assert heading == "trial,arm,feature value,feature state,value,state,study"
    assert line == "0,a,1.0,2.0,,,s"
    assert study_command("tell", "s", "--csv", "plate.csv").status == 0
