import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("quadprog", "daqp", "piqp", "osqp", "clarabel")


def bench(*arguments):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def peers():
    for name in PEERS:
        pytest.importorskip(name)


@pytest.fixture
def document(tmp_path):
    copy = tmp_path / "benchmarks.md"
    copy.write_text("before\n<!-- pairs:begin -->\nold\n<!-- pairs:end -->\nafter\n")
    return copy


def test_a_quick_run_prints_tables_and_fills_its_section(peers, document):
    done = bench("pairs", "--quick", "--output", document)
    assert done.returncode == 0, done.stderr
    text = document.read_text()
    assert text.startswith("before\n<!-- pairs:begin -->\n")
    assert text.endswith("<!-- pairs:end -->\nafter\n")
    assert "old" not in text
    rows = [line for line in text.splitlines() if line.startswith("| K=")]
    # Times and ratios, each with and without setup, of every size.
    assert len(rows) == 8
    assert all(row in done.stdout for row in rows)
    assert "pairs: starts" in done.stderr
    assert str(ROOT) not in text


@pytest.mark.parametrize("name", ["closest", "warm", "time"])
def test_without_the_published_data_a_section_says_so(peers, name, tmp_path, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", str(tmp_path))
    done = bench(name, "--quick")
    assert done.returncode == 0, done.stderr
    assert "Skipped: the published instances are not there" in done.stdout


def test_an_unknown_benchmark_is_refused():
    done = bench("pears")
    assert done.returncode == 2
    assert "any of pairs, closest, warm, growth, time, studies; got pears" in done.stderr


def test_the_document_has_a_place_for_every_benchmark():
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("pairs", "closest", "warm", "growth", "time"):
        assert text.index(f"<!-- {name}:begin -->") < text.index(f"<!-- {name}:end -->")


def test_studies_are_measured_without_the_others():
    done = bench("studies", "--quick")
    assert done.returncode == 0, done.stderr
    assert "| mislid, SQLite |" in done.stdout
    assert "Opening a study replays its log" in done.stdout
