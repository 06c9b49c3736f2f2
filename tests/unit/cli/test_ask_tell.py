"""`mislid study ask`, `tell` and `import`: sheets go out and come back."""

import csv
import io
import json
from pathlib import Path

import pytest

from helpers.rows import rows_of
from helpers.study_calls import Call, printed, question, refused


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def filled(path: Path, values: dict[int, str], column: str = "value") -> None:
    """Write into a sheet as the lab does."""
    lines = rows(path.read_text())
    for line in lines:
        line[column] = values.get(int(line["trial"]), "")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


@pytest.fixture
def sheet(created: Call, folder: Path) -> Path:
    """A sheet of four trials."""
    done = created("ask", "s", "-n", 4, "--worker", "lab", "--csv", "plate.csv")
    assert (done.status, done.err) == (0, "Trials in plate.csv: 4.\n")
    return folder / "plate.csv"


def test_a_sheet_is_not_overwritten(sheet: Path, created: Call, opened) -> None:
    before = sheet.read_bytes()
    refused(created("ask", "s", "--csv", "plate.csv"), 1, "'plate.csv' is there already")
    assert sheet.read_bytes() == before
    assert len(opened().pending) == 4


@pytest.mark.parametrize("name", ["no/plate.csv", ".", "compounds.csv/plate.csv"])
def test_a_sheet_that_cannot_be_is_refused_before_asking(created: Call, opened, name: str) -> None:
    refused(created("ask", "s", "--csv", name), 1, "--csv must name")
    assert opened().pending == []


def test_trials_of_a_sheet_that_failed_are_named(
    created: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mislid.io.write_whole", full)
        done = created("ask", "s", "-n", 2, "--worker", "lab", "--csv", "plate.csv")
    refused(
        done,
        1,
        "No space left on device",
        "trials 0-1 were handed out",
        "`mislid study ask s --pending --worker lab --csv FILE`",
    )
    assert not (folder / "plate.csv").exists()
    again = created("ask", "s", "--pending", "--worker", "lab", "--csv", "plate.csv")
    assert again.status == 0
    assert [row["arm"] for row in rows((folder / "plate.csv").read_text())] == ["A12", "B07"]


def test_a_sheet_filled_in_in_part(sheet: Path, created: Call, opened) -> None:
    filled(sheet, {0: "0.31", 1: " 0.5 "})
    assert printed(created("tell", "s", "--csv", "plate.csv")) == [
        "told          2  (trials 0-1)",
        "empty         2  (trials 2-3)",
        "measurements  2",
        "status        running",
    ]
    assert [row[2:5] for row in rows_of(opened())] == [(0, "A12", 0.31), (1, "B07", 0.5)]
    filled(sheet, {0: "0.31", 1: "0.5", 2: "9e-1"})
    said = json.loads(created("tell", "s", "--csv", "plate.csv", "--format", "json").out)
    assert {name: said[name] for name in ("told", "unchanged", "empty")} == {
        "told": [2],
        "unchanged": [0, 1],
        "empty": [3],
    }


def test_conflicts_keep_the_first_value_and_the_rest_is_told(
    sheet: Path, created: Call, opened
) -> None:
    assert created("tell", "s", 1, 0.5).status == 0
    filled(sheet, {0: "0.31", 1: "0.6", 2: "0.9"})
    done = created("tell", "s", "--csv", "plate.csv", "--format", "json")
    assert done.status == 1
    said = json.loads(done.out)
    assert (said["told"], said["conflict"]) == ([0, 2], [1])
    assert done.err == (
        "Error: conflicts: line 3: trial 1 has been told the value 0.5, which stays; "
        "got the value 0.6; correct() mends a mistake.\n"
    )
    assert [row.value for row in rows_of(opened())] == [0.5, 0.31, 0.9]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["9,A12,1"], "line 3: trial must be one that was asked, 0 to 3; got 9"),
        ([",A12,1"], "line 3: trial must be the number of one that was asked; got ''"),
        (["1,B07,nan"], "line 3: a finite number is needed; got 'nan'"),
        (["1,A12,1"], "line 3: trial 1 is of arm 'B07'; got 'A12'"),
        (["1,B07,1", "1,B07,2"], "line 4: trial 1 is told something else in line 3"),
    ],
)
def test_a_sheet_with_anything_wrong_tells_nothing(
    sheet: Path, created: Call, opened, lines: list[str], complaint: str
) -> None:
    sheet.write_text("\n".join(["trial,arm,value", "0,A12,0.3", *lines, ""]))
    refused(created("tell", "s", "--csv", "plate.csv"), 1, "nothing was told", complaint)
    assert opened().samples == 0


def test_a_sheet_of_another_study_is_refused(sheet: Path, created: Call) -> None:
    created("create", "t", *question())
    created("ask", "t", "-n", 4)
    filled(sheet, {0: "0.31"})
    done = created("tell", "t", "--csv", "plate.csv")
    refused(done, 1, "line 2: it is of study 's', not 't'")


@pytest.mark.parametrize(
    "words",
    [["0", "1", "--fail"], ["0", "1", "--csv", "plate.csv"], ["0", "x"], ["0", "--typo"]],
)
def test_wrong_calls(sheet: Path, created: Call, opened, words: list[str]) -> None:
    refused(created("tell", "s", *words), 2)
    assert opened().samples == 0


@pytest.mark.parametrize("key", [[], ["--key", "plate 7"]])
def test_an_import_counts_once(created: Call, folder: Path, opened, key: list[str]) -> None:
    (folder / "h.csv").write_text("arm,value\nA12,0.5\nB07,0.25\n")
    for imported in (2, 0):
        done = created("import", "s", "h.csv", *key, "--format", "json")
        assert json.loads(done.out)["imported"] == imported
    assert created("import", "s", "h.csv", "--key", "once more").status == 0
    assert opened().samples == 4


def test_a_key_names_one_import(created: Call, folder: Path) -> None:
    (folder / "h.csv").write_text("arm,value\nA12,0.5\n")
    created("import", "s", "h.csv", "--key", "plate 7")
    (folder / "h.csv").write_text("arm,value\nA12,0.75\n")
    refused(created("import", "s", "h.csv", "--key", "plate 7"), 1, "key must be new")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("arm,value\nA12,1\nA13,2\n", "got 'A13'; did you mean 'A12'? (observation 0 is in line 2"),
        ("arm,value\nA12,1\nB07,nan\n", "line 3, column 'value': a finite number is needed"),
    ],
)
def test_bad_history_is_refused_as_a_whole(
    created: Call, folder: Path, opened, content: str, complaint: str
) -> None:
    (folder / "h.csv").write_text(content)
    refused(created("import", "s", "h.csv"), 1, complaint)
    assert opened().samples == 0
