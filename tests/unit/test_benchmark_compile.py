from pathlib import Path

import pytest
from benchmarks import compile as benchmark
from benchmarks.compile import FIRST, SECOND, Version

ROOT = Path(__file__).resolve().parents[2]
CALL = "`characteristic_time`"


def fill(versions, repeats, quick):
    """Instead of measuring: the second version takes twice as long to compile."""
    for factor, version in enumerate(versions, start=1):
        version.seconds[CALL, FIRST] = [factor * seconds for seconds in (10.0, 11.0, 12.0)]
        version.seconds[CALL, SECOND] = [0.5] * repeats


@pytest.fixture
def filled(monkeypatch):
    monkeypatch.setattr(benchmark, "measure", fill)


def rows(text):
    return [line for line in text.splitlines() if line.startswith(f"| {CALL}")]


def test_a_table_has_medians_and_spreads(filled):
    (row,) = rows(benchmark.run(quick=False))
    assert row == f"| {CALL} | 11.0 s (10.5 to 11.5) | 500 ms (500 to 500) |  |  |"


def test_another_version_gets_its_table_and_the_ratios(filled):
    this, other, ratio = rows(benchmark.run(quick=False, against=ROOT))
    assert this.startswith(f"| {CALL} | 11.0 s")
    assert other.startswith(f"| {CALL} | 22.0 s")
    assert ratio == f"| {CALL} | 2.00 | 1.00 |  |  |"


@pytest.mark.parametrize(
    ("options", "repeats"), [({}, 3), ({"quick": True}, 1), ({"quick": True, "repeats": 5}, 5)]
)
def test_repeats_are_those_asked_for(monkeypatch, options, repeats):
    asked = []
    monkeypatch.setattr(benchmark, "measure", lambda _, repeats, quick: asked.append(repeats))
    benchmark.run(**{"quick": False, **options})
    assert asked == [repeats]


def test_a_package_from_elsewhere_is_not_taken_for_the_one_asked_for(tmp_path):
    elsewhere = Version(tmp_path)
    with pytest.raises(RuntimeError, match=f"the package in {tmp_path} was asked"):
        elsewhere.measure_round("`identify`", next(iter(benchmark.SIZES)), 20)
    assert elsewhere.spread("`identify`", next(iter(benchmark.SIZES))) is None
