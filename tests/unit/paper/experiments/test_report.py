"""What a report says and shows, from runs that were made up."""

import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from mislid import Instance, Model
from mislid.paper.experiments import GUARANTEED, Case, Experiment, Method
from mislid.paper.report import report_text, table_text
from mislid.paper.reproduce import Outcome, Result
from mislid.simulation.replicate import Row

INSTANCE = Instance(Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1), [0.1, 0.5, 0.9])
# Their published means are 577, 25,804 and 890.
SAME = Method("LinGapE", "lingape")
FAR = Method("LUCB", "lucb-authors", remark="Nobody knows why.")
OWN = Method("our default", "mislid", GUARANTEED)


def rows(mean, wrong=0):
    """Forty runs around a mean."""
    samples = mean * np.linspace(0.5, 1.5, 40)
    return [Row(run, round(n), run >= wrong, "stopped", 0.25) for run, n in enumerate(samples)]


def made_up(tmp_path, runs, exact=True):
    case = Case("A_eps0", "A_eps0", 1, 0.1, tuple(runs))
    experiment = Experiment("A", "Made up", 40, (case,), notes="Read this.")
    outcomes = [Outcome(case, method, INSTANCE, found) for method, found in runs.items()]
    return Result(experiment, tmp_path, 7, exact, outcomes)


RUNS = {SAME: rows(577), FAR: rows(577, wrong=30), OWN: rows(1900)}


@pytest.fixture
def result(tmp_path):
    return made_up(tmp_path, RUNS)


def row_of(result, method):
    (row,) = [line for line in table_text(result).splitlines() if line.startswith(f"| {method} ")]
    return closed_up(row)


def test_a_mean_that_is_met_agrees(result):
    row = row_of(result, "LinGapE")
    assert "| 40 | 577 ± 173 | 0.0% [0.0%, 12.4%] | 0.25 | 577 ± 348 |" in row
    assert row.endswith("]: agrees |")


def test_a_mean_that_is_missed_differs_and_why(result):
    row = row_of(result, "LUCB")
    assert "-97.8% [" in row
    assert row.endswith("]: **differs**, **other error rate** |")
    assert "- LUCB (A_eps0): Nobody knows why." in report_text(result)
    assert "Read this." in report_text(result)


def test_a_mean_within_the_margin_agrees_whatever_chance_says(tmp_path):
    near = [Row(run, 27_000 + run, True, "stopped", 0.1) for run in range(40)]
    assert row_of(made_up(tmp_path, {FAR: near}), "LUCB").endswith("]: agrees |")


def test_another_instance_gets_no_verdict(tmp_path):
    text = report_text(made_up(tmp_path, RUNS, exact=False))
    assert ": agrees" not in text
    assert "differs" not in text
    assert "| another instance |" in closed_up(text)
    assert "instances drawn by the paper's recipe, not the published ones" in text


def test_what_is_not_comparable_gets_no_verdict(tmp_path):
    method = replace(SAME, margin=None, remark="Another file.")
    text = report_text(made_up(tmp_path, {method: rows(9999)}))
    assert "- LinGapE (A_eps0): Another file." in text
    assert ": agrees" not in text


def closed_up(text):
    """Tables without the spaces that align them."""
    return re.sub(" +", " ", text)
