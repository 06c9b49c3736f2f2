import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_quick_runs_print_tables(tmp_path):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    places = {"MISLID_RUNS": str(tmp_path), "MISLID_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path} | places,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in BENCHMARKS:
        assert f"{name}: starts" in done.stderr
    assert "over the best rival" in done.stdout
    assert len(list(tmp_path.rglob("runs.csv"))) > 3
