"""`mislid study create`, and where studies are."""

import json
import sys
from pathlib import Path

import numpy as np
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


def test_labels_noise_and_other_columns(study_command: Call, folder: Path, opened) -> None:
    (folder / "arms.csv").write_text("day;sd;x;id\n3;0,5;1,25;007\n4;0,25;2;008\n")
    done = study_command(
        *("create", "s", "--candidates", "arms.csv", "--m", 1, "--misspecification", 0),
        *("--label-column", "id", "--noise", "sd", "--ignore", "day", "--no-intercept"),
    )
    assert done.status == 0, done.err
    assert "noise             0.25 to 0.5\n" in done.out
    study = opened()
    assert study.candidates.labels == ("007", "008")
    assert study.candidates.features.tolist() == [[1.25], [2]]
    assert study.settings.noise == (0.5, 0.25)


def test_an_instance(study_command: Call, folder: Path, opened) -> None:
    np.savez(
        folder / "arms.npz",
        features=np.eye(3),
        means=[1.0, 2, 3],
        names=["x", "y", "z"],
        noise=[0.1, 0.2, 0.3],
        misspecification=0.25,
    )
    assert study_command("create", "s", "--candidates", "arms.npz", "--m", 1).status == 0
    study = opened()
    assert study.candidates.labels == ("x", "y", "z")
    assert study.settings.noise == (0.1, 0.2, 0.3)
    assert study.settings.misspecification == 0.25
    assert (
        study_command("create", "t", "--candidates", "arms.npz", "--m", 1, "--noise", 2).status == 0
    )
    assert opened("t").settings.noise == (2.0,)


def test_a_study_is_made_once(created: Call) -> None:
    refused(created("create", "s", *question()), 1, "study_name must be new; got 's'")
    assert created("create", "s", *question(), "--load-if-exists").status == 0
    other = created("create", "s", *question("paper"), "--load-if-exists")
    refused(other, 1, "stopping was 'guaranteed' and now is 'paper'")


def test_a_rule_without_proof_is_labelled(study_command: Call) -> None:
    table = study_command("create", "s", *question("heuristic")).out
    assert "no proof (stopping rule 'heuristic')" in table
    for form in ("json", "csv"):
        done = study_command("create", form, *question("heuristic"), "--format", form)
        assert "no proof" in done.out
    assert "no proof" not in study_command("create", "t", *question()).out


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        ("id,mean,x\na,1,2\nb,2,3\n", [], "has a column 'mean', which is hardly a feature"),
        ("id,noise,x\na,1,2\nb,2,3\n", [], "use it with --noise noise"),
        ("id,x\na,1\n,3\n", [], "line 3, column 'id' is empty"),
        ("id,x\na,1\nb,n/a\n", [], "line 3, column 'x': a finite number is needed; got 'n/a'"),
        ("id,x\na,1\nb,2\na,3\n", [], "must be distinct; got 'a'"),
        ("id,x\na,1\nb,3\n", ["--noise", "sd"], "or a column of 'arms.csv', one of 'id'"),
        ("id,x\na,1\nb,3\n", ["--noise", "-1"], "noise must be a finite number above 0"),
        ("id,x\na,1\nb,3\n", ["--label-column", "y"], "--label-column must be a column"),
        ("id,x\na,1\nb,3\n", ["--ignore", "y"], "--ignore must be a column"),
        ("id,x\na,1\nb,3\n", ["--m", "2"], "m must be an integer from 1 to 1"),
        ("# names=integers\nid,x\n1,1\nb,3\n", [], "integers for names, as its first lines say"),
        ("id\na\nb\n", ["--noise", "1", "--algorithm", "lingape"], "algorithm must be one of"),
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


def test_a_misspecification_may_be_unknown_but_not_the_noise(study_command: Call, opened) -> None:
    words = ("create", "s", "--candidates", "compounds.csv", "--m", 1)
    refused(study_command(*words), 1, "noise must be given")
    done = study_command(*words, "--noise", 0.1)
    assert "misspecification  unknown" in done.out
    assert opened().settings.declared == "unknown"
    done = study_command("create", "t", *words[2:], "--noise", 0.1, "--format", "json")
    assert json.loads(done.out)["misspecification"] == "unknown"


@pytest.mark.parametrize("noise", ["unknown", "unknown-equal"])
def test_a_noise_may_be_unknown(study_command: Call, opened, noise: str) -> None:
    words = ("create", "s", "--candidates", "compounds.csv", "--m", 1, "--noise", noise)
    done = study_command(*words, "--format", "json")
    assert json.loads(done.out)["noise"] == noise
    assert opened().settings.noise_model == noise
    refused(study_command(*words[:-1], "unknwon"), 1, "did you mean 'unknown'?")


def test_a_range_of_rewards_takes_the_place_of_noise(
    study_command: Call, folder: Path, opened
) -> None:
    np.savez(folder / "arms.npz", features=np.eye(2), means=[1.0, 2], noise=[0.1, 0.2])
    words = ["--candidates", "arms.npz", "--m", 1, "--misspecification", 0]
    words += ["--noise", "-1:3"]
    assert study_command("create", "s", *words).status == 0
    assert opened().settings.reward_range == (-1.0, 3.0)
    study_command("ask", "s", "-n", 2, "--csv", "plate.csv")
    (folder / "plate.csv").write_text("trial,value\n0,2.5\n1,3.5\n")
    done = study_command("tell", "s", "--csv", "plate.csv")
    refused(done, 1, "line 3: a value must be from -1 to 3, as was declared; got 3.5")
    assert opened().samples == 0
    (folder / "h.csv").write_text("arm,value\n0,3.5\n")
    refused(study_command("import", "s", "h.csv"), 1, "line 2: a value must be from -1 to 3")


def test_without_a_storage_the_way_out_is_named(
    study_command: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISLID_STORAGE")
    for words in (["list"], ["ask", "s"], ["create", "s", *question()]):
        refused(study_command(*words), 2, "give --storage, or set MISLID_STORAGE, such as lab.db")


def test_a_mistyped_storage_makes_no_file(created: Call, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    for address in ("lap.db", "sqlite:///lap.db"):
        for words in (["list"], ["status", "s"], ["copy", "s", "--to", "x.db"]):
            done = created(*words, "--storage", address)
            refused(done, 1, f"storage must be there; got {address!r}")
    refused(created("copy", "no", "--to", "x.db"), 1, "study_name must be of a study in this")
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://host/lab", "storage must be an address such as 'sqlite:///lab.db'"),
        ("sqlite://", "storage must name a file"),
        ("postgresql://host:port/lab", "cannot be opened: check the address"),
        ("postgresql://u:secret@host:port/lab", "'postgresql://u:***@host:port/lab' cannot be"),
        ("compounds.csv", "is damaged or no database"),
    ],
)
def test_a_bad_storage_is_one_sentence(study_command: Call, address: str, sentence: str) -> None:
    refused(study_command("list", "--storage", address), 1, sentence)


def test_without_the_database_package_the_way_out_is_named(
    created: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "mislid.study.storage.sql", raising=False)
    refused(created("list"), 1, "needs sqlalchemy (pip install 'mislid[study]')")


def test_a_common_level_and_names_of_features(study_command: Call, opened) -> None:
    words = ("--candidates", "compounds.csv", "--m", 1, "--misspecification", 0.2, "--noise", 0.1)
    done = study_command("create", "s", *words)
    assert done.status == 0, done.err
    assert "4 (A12, B07, C33, D01), with 2 features each and a common level\n" in done.out
    assert (
        "\nfeatures          to tell apart two candidates whose means differ by 0.1, the noise, it"
        in done.out
    )
    assert opened().candidates.columns == ("mass", "charge", "(ones)")
    said = json.loads(study_command("create", "t", *words, "--format", "json").out)
    assert said["columns"] == ["mass", "charge", "(ones)"]
    assert said["check"]["samples_without"] > 10
    assert said["check"]["statement"] in done.out
    done = study_command("create", "u", *words, "--no-intercept", "--format", "csv")
    assert opened("u").candidates.columns == ("mass", "charge")
    assert "two candidates whose means differ by 0.1" in done.out.splitlines()[1]


def test_a_feature_with_the_name_of_a_column_of_sheets(study_command: Call, folder: Path) -> None:
    (folder / "arms.csv").write_text("name,value,state\na,1,2\nb,2,1\nc,3,4\nd,5,5\n")
    study_command("create", "s", "--candidates", "arms.csv", "--m", 1, "--noise", 0.1)
    done = study_command("ask", "s", "--csv", "plate.csv")
    assert done.status == 0, done.err
    heading, line = (folder / "plate.csv").read_text().splitlines()
    assert heading == "trial,arm,feature value,feature state,value,state,study"
    assert line == "0,a,1.0,2.0,,,s"
    assert study_command("tell", "s", "--csv", "plate.csv").status == 0


def test_a_budget(study_command: Call, folder: Path, opened) -> None:
    (folder / "names.csv").write_text("name\na\nb\nc\n")
    words = ("--candidates", "names.csv", "--m", 1, "--noise", 1, "--budget", 12)
    done = study_command("create", "s", *words)
    assert done.status == 0, done.err
    assert "\nbudget            12 measurements can be expected to tell" in done.out
    said = json.loads(study_command("create", "t", *words, "--format", "json").out)
    assert said["budget"] == said["expected"]["budget"] == 12
    assert said["expected"]["statement"] in done.out
    assert opened().settings.budget == 12
    (folder / "h.csv").write_text("arm,value\na,0\nb,0\nc,0.1\n" + "a,0.2\n" * 8)
    assert study_command("import", "s", "h.csv").status == 0
    (line,) = [
        line for line in study_command("status", "s").out.splitlines() if line.startswith("budget")
    ]
    assert line.split() == ["budget", "12,", "1", "left"]
    seen = json.loads(study_command("status", "s", "--format", "json", "--no-forecast").out)
    assert (seen["budget"], seen["budget_left"]) == (12, 1)
    assert study_command("ask", "s").err == ""
    study_command("tell", "s", 0, 0.3)
    assert (
        "12, used up: `mislid study result --now`"
        in study_command("status", "s", "--no-forecast").out
    )
    assert "Note: the budget is used up" in study_command("ask", "s").err
    refused(study_command("create", "u", *words[:-1], 0), 2, "--budget")
