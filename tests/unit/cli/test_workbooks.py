"""A study from candidates to measurements and back, by Excel workbooks alone."""

from pathlib import Path
from typing import Any

import pytest

from helpers.study_calls import Call, printed

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
    done = begun("ask", "s", "-n", 3, "--csv", "plate.xlsx")
    assert done.err == "Trials in plate.xlsx: 3.\n"
    sheet = rows_of(folder / "plate.xlsx")
    assert sheet[0] == ["trial", "arm", "mass", "charge", "value", "state", "study"]
    assert [row[1] for row in sheet[1:]] == [trial.arm for trial in opened().pending]
    assert all(type(row[0]) is int for row in sheet[1:])
    arms = [row[1] for row in sheet[1:]]
    sheet[1][4], sheet[2][5] = 0.25, "fail"
    save(folder / "plate.xlsx", sheet)
    told = printed(begun("tell", "s", "--csv", "plate.xlsx"))
    assert told[:3] == ["told          1  (trials 0)", "failed        1  (trials 1)",
                        "empty         1  (trials 2)"]  # fmt: skip
    (row,) = opened().observations().itertuples(index=False)
    assert (row.arm, row.value) == (arms[0], 0.25)
