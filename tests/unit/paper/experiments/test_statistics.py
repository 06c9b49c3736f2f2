"""Published statistics are those of the published runs; two samples side by side."""

import csv
from collections import defaultdict
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats

from mislid.paper.reproduce import (
    LEVEL,
    Comparison,
    Statistics,
    compare,
    published_statistics,
    statistics_of,
)
from mislid.simulation.replicate import Row


def test_statistics_are_those_of_the_runs(shared_data):
    runs = defaultdict(list)
    with (shared_data / "published" / "runs.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            row = 0, int(line["samples"]), line["error"] == "0", "stopped", float(line["seconds"])
            runs[line["experiment"], line["method"]].append(Row(*row))
    table = files("mislid.paper").joinpath("published.csv").read_text().splitlines()
    names = {
        (line["case"], line["method"]): (line["published_case"], line["published_method"])
        for line in csv.DictReader(table)
    }
    greedy = {("D", "MisLid tricks Greedy"), ("E", "MisLid tricks Greedy")}
    assert set(names.values()) == {*runs, *greedy}
    for name, kept in published_statistics().items():
        if names[name] in greedy:
            continue
        found = statistics_of(runs[names[name]])
        assert (found.runs, found.wrong) == (kept.runs, kept.wrong)
        assert found.mean == pytest.approx(kept.mean, abs=5e-4)
        assert found.std == pytest.approx(kept.std, abs=5e-4)
        assert found.seconds == pytest.approx(kept.seconds, abs=5e-3)


def statistics(samples, wrong=0):
    values = np.asarray(samples, dtype=float)
    return Statistics(values.size, values.mean(), values.std(ddof=1), wrong, 0.1)


def test_the_interval_is_welch_s(rng):
    one, other = rng.gamma(2.0, 300.0, 40), rng.gamma(2.0, 350.0, 90)
    expected = stats.ttest_ind(one, other, equal_var=False).confidence_interval(LEVEL)
    found = compare(statistics(one), statistics(other))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("relative", "low", "agrees"),
    [(0.09, 1.0, True), (0.11, 1.0, False), (0.5, -1.0, True), (-0.11, 1.0, False)],
)
def test_a_mean_agrees_within_the_margin_or_by_chance(relative, low, agrees):
    found = Comparison(relative, low, 9.0, 1.0)
    assert found.agrees(0.1) is agrees


def test_error_rates_are_told_apart():
    assert compare(
        statistics([5.0, 6.0] * 50, wrong=95), statistics([5.0, 6.0] * 50, 93)
    ).errors_agree
    found = compare(statistics([5.0, 6.0] * 50, wrong=20), statistics([5.0, 6.0] * 50))
    assert not found.errors_agree
