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


@pytest.mark.slow
def test_finished_runs_are_kept(tmp_path):
    environment = {"MISLID_RUNS": str(tmp_path), "MISLID_DATA": str(tmp_path)}
    first = bench("proof", "--quick", **environment)
    assert first.returncode == 0, first.stderr
    assert "over the best rival" in first.stdout
    kept = {path: path.read_text() for path in tmp_path.rglob("runs.csv")}
    assert len(kept) == 3
    assert bench("proof", "--quick", **environment).stdout == first.stdout
    assert {path: path.read_text() for path in kept} == kept
