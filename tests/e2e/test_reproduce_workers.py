"""`mislid reproduce` by several workers, and interrupted: the same runs whoever does them."""

import csv
import json
import os
import signal
import time

import pytest

from helpers.command_line import fake, slow

RUNS = 6
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("MISLID_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def untimed(output):
    """All runs but for the seconds that they took."""
    with (output / "C" / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: cell for name, cell in row.items() if name != "seconds"} for row in rows]


def files_below(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def rows_kept(output):
    """The finished runs of all methods, as they stand on disk."""
    return {
        (file.parent.name, line)
        for file in output.rglob("parts/**/runs.csv")
        for line in file.read_text().splitlines()
    }


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_interrupted_goes_on_and_ends_with_the_same_files(tmp_path, how):
    whole, output = tmp_path / "whole", tmp_path / "broken"
    ask = ("reproduce", "C", "--runs", RUNS, "--quiet", "--output")
    assert fake(*ask, whole).returncode == 0
    process = slow(*ask, output)
    second = output / "C" / "parts" / "C" / "aggressive" / "runs.csv"
    while process.poll() is None and not (second.exists() and second.read_text().count("\n") > 2):
        time.sleep(0.02)
    process.send_signal(how)
    _, said = process.communicate()
    kept = rows_kept(output)
    if how == signal.SIGINT:
        assert process.returncode == 1
        assert said.strip().startswith("Error: interrupted after ")
        assert f"kept in '{second.parent}'" in said
    assert not (output / "C" / "report.md").exists()
    again = fake(*ask, output)
    assert again.returncode == 0, again.stderr
    assert f"Report: {output / 'C' / 'report.md'}" in again.stdout
    assert kept < rows_kept(output)
    assert files_below(output) == files_below(whole)
    assert untimed(output) == untimed(whole)
    settings = [
        json.loads((place / "C" / "settings.json").read_text()) for place in (output, whole)
    ]
    assert settings[0] == settings[1]
