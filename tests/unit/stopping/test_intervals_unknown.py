"""Intervals of unknown noise against the processes that they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mislid import Model
from mislid.stopping.bounded_noise import Tilted, tilted_log, tilts_of
from mislid.stopping.intervals import bounded_intervals, unknown_intervals
from mislid.stopping.unknown_noise import Sample, log_of_shifts, shifts

FREE = Model(np.eye(3), math.inf)


def test_ends_are_where_single_arms_refute() -> None:
    counts, means = np.array([40.0, 200.0, 3.0]), np.array([1.0, -5.0, 0.0])
    scatter, target = np.array([30.0, 500.0, 2.0]), math.log(2 * 3 / 0.1)
    ends = unknown_intervals(counts, means, scatter, 0.1)
    for k in range(2):
        arm, r = Sample(counts[k], means[k], scatter[k]), ends[k, 1] - means[k]
        assert means[k] - ends[k, 0] == pytest.approx(r)
        assert log_of_shifts(shifts(), arm, r * (1 - 1e-6)) < target
        assert log_of_shifts(shifts(), arm, r * (1 + 1e-6)) >= target
    assert ends[2].tolist() == [-math.inf, math.inf]


@pytest.mark.parametrize("model", ["bernoulli", "bounded"])
def test_ends_of_bounded_values(model: str) -> None:
    counts, means = np.array([500.0, 80.0, 0.0]), np.array([0.04, 1.0, 0.0])
    scatter, target = np.array([19.2, 0.0, 0.0]), math.log(2 * 3 / 0.1)
    ends = bounded_intervals(FREE, model, (0, 1), counts, means, scatter, 0.1)
    arm, tilts = Tilted(500.0, 20.0, 19.2), tilts_of(model)
    assert tilted_log(tilts, 1.0, arm, ends[0, 0])[0] == pytest.approx(target, abs=1e-6)
    assert tilted_log(tilts, -1.0, arm, ends[0, 1])[0] == pytest.approx(target, abs=1e-6)
    assert ends[1, 1] == 1.0
    assert 0.8 < ends[1, 0] < 1.0
    assert ends[2].tolist() == [0.0, 1.0]
    stretched = bounded_intervals(FREE, model, (10, 30), counts, 10 + 20 * means, scatter, 0.1)
    assert stretched == pytest.approx(10 + 20 * ends)
