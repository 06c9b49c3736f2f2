"""A study from candidates to measurements and back, by Excel workbooks alone."""

from pathlib import Path
from typing import Any

import pytest

from helpers.study_calls import Call, printed, refused
from mislid.io import workbooks

openpyxl = pytest.importorskip("openpyxl")
WORDS = ("--candidates", "arms.xlsx", "--m", 1, "--noise", 0.1, "--no-intercept")


def rows_of(place: Path) -> list[list[Any]]:
    sheet = openpyxl.load_workbook(place).active
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def save(place: Path, rows: list[list[Any]]) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(place)


@pytest.fixture
def begun(study_command: Call, folder: Path) -> Call:
    heading = ["compound", "mass", "charge"]
    save(folder / "arms.xlsx", [heading, ["007", 1, 0], ["8", 0, 1.5], ["C", 1, 1], ["D", 2, 0.5]])
    done = study_command("create", "s", *WORDS)
    assert done.status == 0, done.err
    return study_command


def test_out_and_back(begun: Call, folder: Path, opened) -> None:
    assert opened().candidates.labels == ("007", "8", "C", "D")
    assert opened().candidates.columns == ("mass", "charge")
    done = begun("ask", "s", "-n", 3, "--sheet", "plate.xlsx")
    assert done.err == "3 trials in plate.xlsx.\n"
    sheet = rows_of(folder / "plate.xlsx")
    assert sheet[0] == ["trial", "arm", "mass", "charge", "value", "state", "study"]
    assert [row[1] for row in sheet[1:]] == [trial.arm for trial in opened().pending]
    assert all(type(row[0]) is int for row in sheet[1:])
    arms = [row[1] for row in sheet[1:]]
    sheet[1][4], sheet[2][5] = 0.25, "fail"
    save(folder / "plate.xlsx", sheet)
    told = printed(begun("tell", "s", "--sheet", "plate.xlsx"))
    assert told[:3] == ["told          1  (trials 0)", "failed        1  (trials 1)",
                        "empty         1  (trials 2)"]  # fmt: skip
    (row,) = opened().observation_rows()
    assert (row.arm, row.value) == (arms[0], 0.25)


def test_history_in_and_data_out(begun: Call, folder: Path) -> None:
    save(folder / "h.xlsx", [["arm", "value"], ["007", 0.5], [8, 0.25], ["C", 1]])
    assert printed(begun("import", "s", "h.xlsx"))[0] == "imported      3"
    assert begun("export", "s", "--output", "data.xlsx").err == "3 observations in data.xlsx.\n"
    data = rows_of(folder / "data.xlsx")
    assert data[0] == ["event", "time", "trial", "arm", "value", "row"]
    assert [row[3:5] for row in data[1:]] == [["007", 0.5], ["8", 0.25], ["C", 1]]
    begun("create", "again", *WORDS)
    assert printed(begun("import", "again", "data.xlsx"))[0] == "imported      3"
    assert begun("export", "s", "--events", "--output", "log.xlsx").status == 0
    assert rows_of(folder / "log.xlsx")[1][2] == "created"


def test_what_is_refused(
    begun: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, opened
) -> None:
    save(folder / "h.xlsx", [["arm", "value"], ["007", "much"]])
    refused(begun("import", "s", "h.xlsx"), 1, "line 2: a finite number is needed; got 'much'")
    words = ("export", "s", "--output", "d.xlsx", "--format", "json")
    refused(begun(*words), 1, "--format must be left out for a workbook")
    monkeypatch.setattr(workbooks, "find_spec", lambda _: None)
    refused(begun("ask", "s", "--csv", "p.xlsx"), 1, "mislid[xlsx]")
    refused(begun("export", "s", "--output", "d.xlsx"), 1, "mislid[xlsx]")
    refused(begun("tell", "s", "--csv", "h.xlsx"), 1, "mislid[xlsx]")
    assert opened().pending == []
    assert not {"p.xlsx", "d.xlsx"} & {place.name for place in folder.iterdir()}
