"""`mislid study result --now`, `threshold` and `ranking`."""

import csv
import io
import json
from pathlib import Path

import pytest

from helpers.study_calls import Call, printed


@pytest.fixture
def measured(created: Call, folder: Path) -> Call:
    rows = "A12,-0.3\nB07,0.5\nC33,0.9\nD01,0.2\n" * 4
    (folder / "h.csv").write_text(f"arm,value\n{rows}")
    created("import", "s", "h.csv")
    return created


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_best_so_far(measured: Call, opened) -> None:
    found = opened().result_now()
    table = dict(line.split("  ", 1) for line in printed(measured("result", "s", "--now")))
    assert table["best so far"].strip() == "C33"
    assert table["p-value"].strip() == f"{found.p_value:.3g}"
    said = json.loads(measured("result", "s", "--now", "--format", "json").out)
    assert said == {"study": "s", **found.to_dict()}
    (row,) = rows_of(measured("result", "s", "--now", "--format", "csv").out)
    assert (row["answer"], row["samples"]) == ("C33", "16")
    assert row["pairs"] == "; ".join(f"{one} against {other}" for one, other in found.pairs)


@pytest.mark.parametrize("value", ["-0.1"])
def test_thresholds(measured: Call, opened, value: str) -> None:
    found = opened().threshold(float(value))
    said = json.loads(measured("threshold", "s", value, "--format", "json").out)
    assert said == {"study": "s", **found.to_dict()}
    sides = {
        (row["candidate"], row["side"])
        for row in rows_of(measured("threshold", "s", value, "--format", "csv").out)
    }
    expected = {(arm, side) for side in ("above", "below", "open") for arm in said[side]}
    assert sides == expected
    assert len(sides) == 4
    lines = dict(line.split(None, 1) for line in printed(measured("threshold", "s", value)))
    assert lines["above"] == (", ".join(said["above"]) or "-")
