"""Samples until answers are right often enough, against what is known in closed form."""

import math

import numpy as np

from mislid import Instance, Model
from mislid.paper.experiments.reliability import Reliability, reliability


def test_the_first_time_that_more_than_the_share_is_right() -> None:
    right = np.array([[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1]], dtype=np.bool_)
    found = Reliability(np.array([10, 20, 30, 40]), right)
    assert [found.samples_until(share) for share in (0.4, 0.5, 0.9)] == [20, 40, 40]
    assert math.isinf(found._replace(right=right[:, :3]).samples_until(0.9))
    assert found.standard_error(0.4) > 0.0


def test_two_arms_in_turn_are_told_apart_as_often_as_normal_numbers_say() -> None:
    """After t samples the difference of the means has variance 4 / t."""
    instance = Instance(Model(np.eye(2), math.inf), [0.5, 0.0])
    found = reliability(instance, 1, "uniform", horizon=60, every=20, runs=400)
    assert found.times.tolist() == [20, 40, 60]
    for share, t in zip(found.right.mean(axis=0), found.times, strict=True):
        expected = 0.5 * math.erfc(-0.5 / math.sqrt(2.0 * 4.0 / t))
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1.0 - expected) / 400)


def test_rules_with_a_test_of_their_own_go_on() -> None:
    instance = Instance(Model(np.eye(3), math.inf), [5.0, 0.0, 0.0])
    found = reliability(instance, 1, "lucb", horizon=40, every=20, runs=3)
    assert found.right.all()
