"""Our runs of the published algorithms on the published instances agree with the published runs.

A few runs each, with wide intervals, unless MISLID_REPRODUCED names a directory of `mislid
reproduce all` (as `make reproduce` does), whose finished runs are then judged.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mislid.paper.experiments import EXPERIMENTS
from mislid.paper.reproduce import compare, published_statistics, run_experiment

REPRODUCED = os.environ.get("MISLID_REPRODUCED")
FEW = {"A": 40, "B": 20, "C": 20, "D": 6, "E": 4}
JUDGED = [
    (experiment.name, case.name, method.slug)
    for experiment in EXPERIMENTS.values()
    for case in experiment.cases
    for method in case.methods
    if (case.name, method.label) in published_statistics() and method.margin is not None
]


def outcome_of(name, case_name, slug, data, folder):
    """The runs of one method alone: a few, or those that were reproduced."""
    experiment = EXPERIMENTS[name]
    (case,) = (case for case in experiment.cases if case.name == case_name)
    (method,) = (method for method in case.methods if method.slug == slug)
    only = replace(experiment, cases=(replace(case, methods=(method,)),))
    place, runs = (Path(REPRODUCED) / name, None) if REPRODUCED else (folder, FEW[name])
    (outcome,) = run_experiment(only, place, runs=runs, data=data).outcomes
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case", "slug"), JUDGED)
def test_our_runs_agree_with_the_published(name, case, slug, shared_data, tmp_path):
    outcome = outcome_of(name, case, slug, shared_data, tmp_path)
    found = compare(outcome.statistics, outcome.published)
    assert found.agrees(outcome.method.margin), found
    assert found.errors_agree, found


@pytest.mark.slow
def test_a_broken_twin_disagrees(shared_data, tmp_path):
    """Forty runs tell the standard LUCB from the one that was published."""
    outcome = outcome_of("A", "A_eps0", "lucb-standard-width", shared_data, tmp_path)
    published = published_statistics()["A_eps0", "LUCB"]
    assert not compare(outcome.statistics, published).agrees(0.1)
