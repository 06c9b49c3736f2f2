import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
PEERS = ("quadprog", "daqp", "piqp", "osqp", "clarabel")


def bench(*arguments):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
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


@pytest.mark.parametrize(
    ("place", "said"), [("none.md", "can be read"), ("benchmarks.md", "markers <!-- warm:begin")]
)
def test_a_document_without_the_section_is_refused_first(document, place, said):
    done = bench("pairs", "warm", "--quick", "--output", document.with_name(place))
    assert done.returncode == 2
    assert said in done.stderr
    assert "starts" not in done.stderr


def cells(text, first):
    """The cells of the table rows that begin with this."""
    lines = [line for line in text.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_rounds_by_brute_force_are_ours(peers, shared_data):
    done = bench("rounds", "--quick")
    assert done.returncode == 0, done.stderr
    rows = [row for row in cells(done.stdout, "A_eps5, `") if len(row) == 10]
    assert len(rows) == 4
    assert all(row[-3:] == ["2 of 2", "2 of 2", "0 of 84"] for row in rows)


def test_whole_runs_and_their_growth_are_measured(peers, shared_data):
    done = bench("runs", "sizes", "--quick")
    assert done.returncode == 0, done.stderr
    assert [row[1:5] for row in cells(done.stdout, "D, `mislid`")] == [
        ["2", "0", "0", "500"],
        ["1", "0", "0", "500"],
    ]
    assert len(cells(done.stdout, "`mislid-paper`, `guaranteed` ")) == 2
    # Only the game solves pairs at weights of its own.
    assert [row[5] for row in cells(done.stdout, "`mislid`, `heuristic` ")] == ["0.00", "0.00"]
    assert all(float(row[5]) > 0.5 for row in cells(done.stdout, "`mislid-paper`, "))
    assert "A round grows like K^" in done.stdout


@pytest.mark.parametrize("name", ["closest", "warm", "time", "rounds", "runs"])
def test_without_the_published_data_a_section_says_so(peers, name, tmp_path, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", str(tmp_path))
    done = bench(name, "--quick")
    assert done.returncode == 0, done.stderr
    assert "Skipped: the published instances are not there" in done.stdout


def test_sample_counts_are_compared_and_go_on_where_they_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("MISLID_RUNS", str(tmp_path))
    first = bench("samples", "--quick")
    assert first.returncode == 0, first.stderr
    rows = [line.split(" | ") for line in first.stdout.splitlines() if line.startswith("| ")]
    compared = [row for row in rows if len(row) == 9 and row[1].startswith("`")]
    # Two families, six algorithms.
    assert len(compared) == 12
    assert {row[1] for row in compared} >= {"`mislid`", "`mislid-paper`", "`lucb`", "`oracle`"}
    kept = sorted(tmp_path.glob("*/runs.csv"))
    assert len(kept) == 12
    before = [file.read_text() for file in kept]
    kept[0].unlink()
    again = bench("samples", "--quick")
    assert again.stdout == first.stdout
    # Rows hold the seconds that a run took, which another one would not repeat.
    assert [file.read_text() for file in kept[1:]] == before[1:]
    assert kept[0].exists()


def test_an_unknown_benchmark_is_refused():
    done = bench("pears")
    assert done.returncode == 2
    assert f"any of {', '.join(BENCHMARKS)}; got pears" in done.stderr


def test_the_document_has_a_place_for_every_benchmark():
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in BENCHMARKS:
        assert text.index(f"<!-- {name}:begin -->") < text.index(f"<!-- {name}:end -->")


def test_studies_are_measured_without_the_others():
    done = bench("studies", "--quick")
    assert done.returncode == 0, done.stderr
    assert "| mislid, SQLite |" in done.stdout
    opened = cells(done.stdout, "mislid, SQLite, ")
    assert [row[0] for row in opened] == ["mislid, SQLite, 0", "mislid, SQLite, 20"]
    assert all(row[-1].endswith(" MiB") for row in opened)


@pytest.mark.slow
def test_first_calls_and_rounds_are_measured():
    done = bench("compile", "--quick")
    assert done.returncode == 0, done.stderr
    (call,) = cells(done.stdout, "`closest_alternative`")
    assert call[3:] == ["", ""]
    # The first process compiles, the second one loads.
    assert seconds(call[1]) > 2.0 * seconds(call[2])
    rounds = cells(done.stdout, "`identify`")
    assert len(rounds) == 2
    assert all(row[1:3] == ["", ""] and row[3] and row[4] for row in rounds)


def seconds(cell):
    """The median of a cell."""
    value, unit, *_ = cell.split()
    return float(value) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


@pytest.mark.parametrize(
    ("option", "value", "refusal"),
    [
        ("--against", "docs", "--against must be a directory with src/mislid; got docs"),
        ("--repeats", "0", "--repeats must be at least 1; got 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(option, value, refusal):
    done = bench("compile", option, value)
    assert done.returncode == 2
    assert refusal in done.stderr
