"""What a study knows of every candidate."""

import math

import numpy as np
import pytest

import mislid
from mislid.stopping.intervals import mean_intervals
from mislid.study import Study

LINE = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0]}
MEANS = {"a": 1.0, "b": 2.1, "c": 2.9, "d": 4.0}


def study_with(n: int, **changes: object) -> Study:
    given = {
        "candidates": LINE,
        "intercept": False,
        "m": 2,
        "misspecification": 0.2,
        "noise": 0.5,
        **changes,
    }
    study = mislid.create_study(**given)  # type: ignore[arg-type]
    rng = np.random.default_rng(n)
    rows = [
        (arm, mean + 0.5 * rng.standard_normal()) for _ in range(n) for arm, mean in MEANS.items()
    ]
    study.add_observations([(arm, study.settings.sign * value) for arm, value in rows])
    return study


def test_a_row_for_every_candidate() -> None:
    study = study_with(40)
    rows = {row.label: row for row in study.estimate_rows()}
    assert list(rows) == list(LINE)
    values = {
        arm: [row.value for row in study.observation_rows() if row.arm == arm] for arm in LINE
    }
    model = mislid.Model(list(LINE.values()), 0.2)
    means = np.array([np.mean(values[arm]) for arm in LINE])
    ends = mean_intervals(model, np.full(4, 40.0), means, np.full(4, 0.5), 0.05)
    nearest = mislid.project(model, means, np.full(4, 160.0)).means
    for k, (arm, row) in enumerate(rows.items()):
        assert row.count == 40
        assert row.mean == pytest.approx(means[k])
        assert (row.lower, row.upper) == pytest.approx(tuple(ends[k]))
        assert row.lower < MEANS[arm] < row.upper
        assert row.model == pytest.approx(nearest[k], abs=1e-6)
        assert row.residual == pytest.approx(means[k] - nearest[k], abs=1e-6)
        assert row.in_answer == (arm in ("c", "d"))
        assert row.threshold == -math.log(0.05)
