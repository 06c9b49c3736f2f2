import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]


def bench(*arguments, **environment):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name != "proof"])
def test_a_quick_run_prints_tables(name, tmp_path):
    done = bench(name, "--quick", MISLID_RUNS=str(tmp_path), MISLID_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert f"{name}: starts" in done.stderr
    assert len(done.stdout.splitlines()) > 2


def test_finished_runs_are_kept(tmp_path):
    environment = {"MISLID_RUNS": str(tmp_path), "MISLID_DATA": str(tmp_path)}
    first = bench("proof", "--quick", **environment)
    assert first.returncode == 0, first.stderr
    assert "over the best rival" in first.stdout
    kept = {path: path.read_text() for path in tmp_path.rglob("runs.csv")}
    assert len(kept) == 3
    assert bench("proof", "--quick", **environment).stdout == first.stdout
    assert {path: path.read_text() for path in kept} == kept


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["pears"], f"any of {', '.join(BENCHMARKS)}; got pears"),
        (["compile", "--against", "docs"], "must be a directory with src/mislid; got docs"),
        (["compile", "--repeats", "0"], "--repeats must be at least 1; got 0"),
    ],
)
def test_wrong_calls_are_refused(arguments, refusal):
    done = bench(*arguments)
    assert done.returncode == 2
    assert refusal in done.stderr


def test_tables_of_the_documents_are_there():
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("proof", "rivals-guaranteed", "rounds", "noise", "studies", "compile"):
        assert f"(tables/{name}.csv)" in text
        assert (ROOT / "docs" / "tables" / f"{name}.csv").is_file()
