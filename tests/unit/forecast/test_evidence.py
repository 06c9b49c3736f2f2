"""Evidence and intervals at any moment; warnings of NumPy would fail these tests."""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import mislid
from mislid.errors import MislidError
from mislid.forecast.evidence import estimate_rows, pair_evidence
from mislid.stopping.evidence import by_two_arms
from mislid.stopping.intervals import mean_intervals
from mislid.study import Study

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [-1.0, 0.5]}
VALUES = {"a": 0.0, "b": 1.0, "c": 1.0, "d": 0.0}
LOOKS = (
    *("status", "result_now", "ranking", "sensitivity", "progress", "warnings", "overview"),
    *("estimates", "features_check", "budget_check"),
)


def stages(**question: Any) -> Iterator[Study]:
    """A study before its first measurement, with some candidates measured, and with all."""
    study = mislid.create_study(**question)
    yield study
    for arms in ("a", "a", "bb", "abcd", "abcd" * 5):
        study.add_observations([(arm, VALUES[arm]) for arm in arms])
        yield study


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_sides_are_those_of_the_intervals(direction: str) -> None:
    question = {"candidates": list("abcd"), "m": 1, "noise": 0.3, "direction": direction}
    for study in stages(**question):
        rows = {row.label: row for row in estimate_rows(study.overview())}
        for at in (-1.5, 0.4, 7.0):
            found = study.threshold(at)
            assert set(found.above) == {arm for arm, row in rows.items() if row.lower > at}
            assert set(found.below) == {arm for arm, row in rows.items() if row.upper < at}
            assert sorted((*found.above, *found.below, *found.open)) == list("abcd")
            lows = [rows[arm].lower for arm in found.above]
            assert lows == sorted(lows, reverse=True)


@pytest.mark.parametrize(
    "declared",
    [
        {"noise": 0.3},
        {"noise": np.array([0.3, 0.2, 0.3, 0.4])},
        {"noise": "unknown"},
        {"noise": "unknown-equal"},
        {"noise": (0.0, 1.0)},
        {"noise": "bernoulli"},
        {"noise": 0.3, "stopping": "heuristic"},
        {"noise": 0.3, "misspecification": 0.6, "budget": 40},
    ],
    ids=str,
)
def test_one_may_look_at_any_time(declared: dict[str, Any]) -> None:
    for study in stages(candidates=FEATURES, m=1, **declared):
        for name in LOOKS:
            with suppress(MislidError):  # such as before there is an estimate
                look = getattr(study, name)
                assert repr(look() if callable(look) else look)


LINE = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0]}


def rising(rounds: int, **changes: Any) -> Study:
    """A study of a line with tilted values."""
    given = {"candidates": LINE, "intercept": False, "m": 1, "misspecification": 0.3, "noise": 1.0}
    study = mislid.create_study(**{**given, **changes})
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        rows = [(arm, x + rng.standard_normal()) for arm, (x,) in LINE.items()]
        study.add_observations([(arm, study.settings.sign * value) for arm, value in rows])
    return study


def test_a_row_for_every_candidate() -> None:
    study = rising(40, m=2)
    rows = {row.label: row for row in estimate_rows(study.overview())}
    assert list(rows) == list(LINE)
    observed = study.observations().groupby("arm").value
    means = observed.mean().to_numpy()
    model = mislid.Model(list(LINE.values()), 0.3)
    ends = mean_intervals(model, np.full(4, 40.0), means, np.full(4, 1.0), 0.05)
    nearest = mislid.project(model, means, np.full(4, 40.0)).means
    for k, (arm, row) in enumerate(rows.items()):
        assert (row.count, row.mean) == (40, pytest.approx(means[k]))
        assert (row.lower, row.upper) == pytest.approx(tuple(ends[k]))
        assert row.model == pytest.approx(nearest[k], abs=1e-6)
        assert row.residual == pytest.approx(means[k] - nearest[k], abs=1e-6)
        assert row.in_answer == (arm in ("c", "d"))
        assert row.threshold == -math.log(0.05)


def test_two_arms_at_the_best_of_all_times_after_events() -> None:
    seen = rising(30).overview()
    assert seen.looks.tolist() == list(range(4, 124, 4))
    now = pair_evidence(seen, (3,), structured=True)
    family, best = now.data.families.two_arms, np.full(3, -math.inf)
    for time in seen.looks.tolist():
        counts = np.bincount(seen.arms[:time], minlength=4).astype(float)
        means = np.bincount(seen.arms[:time], seen.values[:time], 4) / counts
        last = np.full(3, counts[3])
        best = np.maximum(best, by_two_arms(family, means[3] - means[:3], counts[:3], last))
    np.testing.assert_allclose(now.always, best)


def test_what_was_settled_is_known_up_to_the_declared_misspecification() -> None:
    seen = rising(6, noise=1.5).overview()
    settled = seen.engine.settled()
    assert 0 < len(settled) < 3
    found = pair_evidence(seen, seen.leaders, structured=True)
    known = {tuple(pair) for pair in found.pairs[found.known > -math.inf].tolist()}
    assert known == set(settled)
    assert found.declared == 0.3
    # By another M nothing of it is known.
    assert pair_evidence(seen, seen.leaders, structured=False).known is None
