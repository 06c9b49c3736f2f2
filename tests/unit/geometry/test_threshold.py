import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mislid.errors import ProblemError
from mislid.geometry.threshold import unstructured_threshold
from mislid.geometry.time import characteristic_time
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Model


@pytest.fixture
def instance(rng):
    features = rng.normal(size=(8, 3))
    means = features @ [1.0, -0.5, 0.3] + rng.uniform(-0.1, 0.1, size=8)
    return features, means


@pytest.mark.parametrize("options", [{}, {"tolerance": 0.1}, {"noise": np.linspace(0.5, 2, 8)}])
def test_bound_is_the_unstructured_one_at_the_threshold_and_not_well_below(instance, options):
    features, means = instance
    threshold = unstructured_threshold(Model(features, 0.0), means, 3, rtol=1e-4, **options)
    assert threshold.check(), str(threshold.check())

    def time(width):
        return characteristic_time(Model(features, width), means, 3, rtol=1e-5, **options)

    free = time(math.inf)
    assert_allclose(threshold.unstructured_time, free.value, rtol=1e-4)
    assert time(threshold.value).upper >= free.lower / (1 + 1e-4)
    assert time(0.5 * threshold.value).upper < free.lower / (1 + 1e-4)


def test_two_arms_with_one_feature():
    # Without structure both means move to their midpoint c, and (c, c) is c away from the span of
    # (1, 0) and in the span of (1, 1).
    apart = unstructured_threshold(Model([[1.0], [0.0]], 0.0), [0.9, 0.3], 1, rtol=1e-6)
    same = unstructured_threshold(Model([[1.0], [1.0]], 0.0), [0.9, 0.3], 1, rtol=1e-6)
    assert_allclose(apart.value, 0.6, rtol=1e-3)
    assert_allclose(same.value, 0.0, atol=1e-12)


def test_threshold_is_at_most_the_distance_of_the_means_plus_gap_plus_tolerance(rng):
    for _ in range(5):
        features, means = rng.normal(size=(9, 2)), 5.0 * rng.normal(size=9)
        threshold = unstructured_threshold(Model(features, 0.0), means, 4, tolerance=0.2)
        largest_gap = np.max(means) - np.min(means)
        assert threshold.value <= smallest_misspecification(features, means) + largest_gap + 0.2


def test_range_of_the_means_is_no_bound():
    # Lemma 2 of the paper says it is, but two nearly equal large means that the features cannot
    # tell from (1, -1) stay far from the span.
    features, means = np.array([[1.0], [-1.0]]), np.array([10.0, 9.0])
    threshold = unstructured_threshold(Model(features, 0.0), means, 1)
    assert threshold.value > 9.0 > np.max(means) - np.min(means)
    below = characteristic_time(Model(features, 5.0), means, 1)
    free = characteristic_time(Model(features, math.inf), means, 1)
    assert below.upper < 0.5 * free.lower


def test_threshold_scales_with_the_units(instance):
    features, means = instance
    threshold = unstructured_threshold(Model(features, 0.0), means, 3)
    larger = unstructured_threshold(Model(features, 1.0), 4 * means, 3, noise=3.0)
    assert_allclose(larger.value, 4 * threshold.value, rtol=1e-2)


def test_a_tie_has_no_use_for_structure():
    threshold = unstructured_threshold(Model(np.eye(3), 0.0), [1.0, 0.5, 0.5], 2)
    assert_allclose(threshold.value, 0.0, atol=1e-12)
    assert threshold.unstructured_time == math.inf
    assert threshold.check()
    assert not dataclasses.replace(threshold, means=np.array([1.0, 0.5, 0.4])).check()


def test_a_tie_is_endless_once_the_means_are_a_model():
    features, means = np.array([[1.0], [2.0], [3.0]]), np.ones(3)
    threshold = unstructured_threshold(Model(features, 0.0), means, 1)
    assert_allclose(threshold.value, 0.5, rtol=1e-9)
    assert threshold.check(), str(threshold.check())
    assert characteristic_time(Model(features, 0.45), means, 1).upper < math.inf


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: {"value": 0.9 * t.value}, "deviate"),
        (lambda t: {"unstructured_time": 1.1 * t.unstructured_time}, "within rtol"),
        (lambda t: {"unstructured_time": 0.99 * t.unstructured_time}, "upper side"),
        (lambda t: {"allocation": t.allocation[::-1].copy()}, "upper side"),
        (lambda t: {"allocation": 2 * t.allocation}, "sums to"),
        (lambda t: {"allocation": t.allocation[1:]}, "shape"),
        (lambda t: {"thetas": t.thetas[1:]}, "shape"),
        (lambda t: {"mixture": 0.9 * t.mixture}, "sums to"),
        (lambda t: {"pairs": t.pairs[:, ::-1]}, "no pair"),
        (lambda t: {"alternatives": 0.5 * (t.alternatives + t.means)}, "falls short"),
    ],
)
def test_check_catches_tampering(instance, change, complaint):
    threshold = unstructured_threshold(Model(instance[0], 0.0), instance[1], 3)
    check = dataclasses.replace(threshold, **change(threshold)).check()
    assert not check
    assert any(complaint in failure for failure in check.failures), check.failures


def test_bad_arguments_are_named(instance):
    with pytest.raises(ProblemError, match="rtol"):
        unstructured_threshold(Model(instance[0], 0.0), instance[1], 3, rtol=-1.0)


def test_published_instance(shared_data):
    with np.load(shared_data / "instances" / "E.npz") as data:
        features, means = data["features"], data["means"]
    threshold = unstructured_threshold(Model(features, 0.206), means, 4)
    assert_allclose(threshold.value, 0.331, rtol=0.01)
    assert_allclose(threshold.unstructured_time, 24536.0, rtol=1e-3)
    assert threshold.check(), str(threshold.check())
