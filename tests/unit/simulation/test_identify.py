"""One identification: answers, statuses, seeds and units."""

from dataclasses import replace

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.algorithms import ALGORITHMS
from mislid.errors import ProblemError
from mislid.simulation.identify import identify

FEATURES = np.random.default_rng(2).normal(size=(8, 3))
MEANS = np.array([2.0, 1.6, 0.9, 0.7, 0.4, 0.1, -0.3, -0.8])
MODEL = Model(FEATURES, 3.0)
INSTANCE = Instance(MODEL, MEANS)
STOPPING = ("guaranteed", "paper", "heuristic")


@pytest.mark.slow
@pytest.mark.parametrize("stopping", STOPPING)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "lingame"])
def test_every_algorithm_stops_by_every_rule(algorithm: str, stopping: str) -> None:
    """Rules that trust the linear model may starve arms that a proof needs, and never stop."""
    found = identify(INSTANCE, 2, algorithm=algorithm, stopping=stopping, max_samples=50_000)
    rival = ALGORITHMS[algorithm].own_test
    own = rival and stopping == "heuristic"
    if rival and not own and found.status == "budget exhausted":
        return
    assert found.status == "stopped"
    assert found.samples == found.counts.sum()
    assert len(found.answer) == 2
    if not own or algorithm.startswith("lucb"):
        assert found.correct
        assert found.answer == (0, 1)
    if not own:
        evidence = found.certificate
        assert evidence.rule == stopping
        assert evidence.proven == (stopping != "heuristic")
        assert evidence.statistic >= evidence.threshold


def test_a_budget_claims_no_answer() -> None:
    found = identify(INSTANCE, 2, max_samples=20)
    assert found.status == "budget exhausted"
    assert (found.answer, found.correct, found.certificate) == (None, None, None)
    assert found.samples == found.counts.sum() == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 0}, "m must be"),
        ({"delta": 0.0}, "delta must"),
        ({"algorithm": "best"}, "algorithm must be one of mislid, .*; got 'best'"),
        ({"stopping": "soon"}, "stopping must be one of .*; got 'soon'"),
        ({"max_samples": 0}, "max_samples must be an integer at least 1; got 0"),
        ({"gamma": 0.5}, "gamma must"),
    ],
)
def test_bad_input(change: dict, message: str) -> None:
    options = {"m": 2, **change}
    with pytest.raises(ProblemError, match=message):
        identify(INSTANCE, **options)


@pytest.mark.parametrize("budget", [None, 40])
def test_intervals_hold_the_means_whatever_ended_the_run(budget: int | None) -> None:
    found = identify(INSTANCE, 2, max_samples=budget)
    low, high = found.intervals.T
    assert np.all((low < MEANS) & (high > MEANS))
    wider = replace(found, question=found.question.replace(delta=1e-4)).intervals
    assert np.all(wider[:, 0] < low)
    assert np.all(wider[:, 1] > high)
