import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from mislid.errors import OutsideTubeWarning, ProblemError
from mislid.model import Instance, Model

COPIES = [copy.copy, copy.deepcopy, lambda record: pickle.loads(pickle.dumps(record))]
SQUARE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def same_span(first, second):
    """Whether the columns of two matrices span the same space, to 1e-9."""
    q = np.linalg.qr(first / np.abs(first).max(axis=0))[0]
    scale = np.abs(second).max(axis=0)
    scaled = second / np.where(scale > 0, scale, 1)
    return np.abs(scaled - q @ (q.T @ scaled)).max() < 1e-9


def test_model_copies_and_freezes_its_features():
    given = np.array(SQUARE)
    model = Model(given, 0)
    given[0, 0] = 9
    assert model.features[0, 0] == 1
    assert model.features.dtype == np.float64
    assert model.features.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        model.features[0, 0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.misspecification = 1.0


@pytest.mark.parametrize("value", [-1e-300, -np.inf, np.nan, True, "0.1", None, 1j, [0.1]])
def test_misspecification_refuses(value):
    with pytest.raises(ProblemError, match=r"misspecification must be a number at least 0 \(inf"):
        Model(SQUARE, value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1, 2], [3, np.nan]], "features must be finite; got nan at row 1, column 1"),
        ([[1, 2]], "features must have at least 2 rows, one per arm; got 1"),
        (np.empty((3, 0)), r"features must have at least 1 column; got shape \(3, 0\)"),
        (np.zeros((3, 2)), "features must have a nonzero entry; got 3 x 2 zeros"),
    ],
)
def test_features_refuse(features, message):
    with pytest.raises(ProblemError, match=message):
        Model(features, 0.1)


def test_dependent_columns_are_dropped_without_changing_the_span(rng):
    basis = rng.standard_normal((12, 3))
    given = basis @ rng.standard_normal((3, 8))
    model = Model(given, 0.1)
    assert model.d == 3
    assert len(model.columns) == 3
    np.testing.assert_array_equal(model.features, given[:, list(model.columns)])
    assert same_span(model.features, given)
    assert model.features.flags.c_contiguous


@pytest.mark.parametrize("K", [10, 10_000, 1_000_000])
def test_a_column_is_kept_unless_it_is_collinear_up_to_rounding(rng, K):
    given = rng.standard_normal((K, 3))
    given[:, 2] = given[:, 0] + 1e-9 * given[:, 2]
    assert Model(given, 0.1).d == 3
    given[:, 2] = given[:, :2] @ [0.3, -1.7]
    assert Model(given, 0.1).d == 2


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e-150, 1e150, [1e-6, 1.0, 1e6, 1e-12, 1e12]])
def test_rank_does_not_depend_on_the_scale_of_columns(rng, scale):
    given = rng.standard_normal((9, 5))
    assert Model(given * scale, 0.1).columns == (0, 1, 2, 3, 4)
    given[:, 4] = given[:, 0] - given[:, 1]
    assert Model(given * scale, 0.1).d == 4


def test_frames_refuse_what_arrays_refuse():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["one", "two"]})
    with pytest.raises(ProblemError, match="got 'one' at row 0, column 'y'"):
        Model(frame, 0.1)
    with pytest.raises(ProblemError, match="index of features must be distinct; got 'a'"):
        Model(pd.DataFrame([[1.0], [2.0]], index=["a", "a"]), 0.1)


def test_top_puts_the_best_first_and_lower_indices_before_their_equals():
    instance = Instance(Model(np.eye(5), 0), [1, 3, 2, 3, 2])
    assert instance.top(1) == (1,)
    assert instance.top(3) == (1, 3, 2)
    assert instance.top(4) == (1, 3, 2, 4)
    with pytest.raises(ProblemError, match="m must be an integer from 1 to 4"):
        instance.top(5)
    # Long enough for NumPy's default sort to disturb ties.
    level = Instance(Model(np.ones((100, 1)), np.inf), np.arange(100) % 2)
    assert level.top(99) == (*range(1, 100, 2), *range(0, 98, 2))


def test_labelled_means_must_follow_the_order_of_the_features():
    model = Model(pd.DataFrame(SQUARE, index=["a", "b", "c"]), 0.1)
    means = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    np.testing.assert_array_equal(Instance(model, means).means, [1, 2, 3])
    with pytest.raises(ProblemError, match="got 'c' for arm 0, which the features call 'a'"):
        Instance(model, means[::-1])


def test_means_outside_the_tube_are_reported_with_what_they_need():
    model = Model(np.ones((3, 1)), 0.25)
    with pytest.warns(OutsideTubeWarning, match="at least 0.5, more than the declared 0.25"):
        instance = Instance(model, [0, 0, 1])
    np.testing.assert_array_equal(instance.means, [0, 0, 1])


@pytest.mark.parametrize("declared", [0.5, 0.6, np.inf])
def test_means_inside_the_tube_are_accepted_silently(declared):
    # Least squares leaves 2/3 here, so 0.5 and 0.6 need the linear program to be seen inside.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Instance(Model(np.ones((3, 1)), declared), [0, 0, 1])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_linear_means_fit_a_linear_model_up_to_rounding(rng, scale):
    features = rng.standard_normal((50, 6)) * [1e-6, 1, 1e6, 1, 1, 1e3]
    means = features @ rng.standard_normal(6) * scale
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Instance(Model(features, 0), means)
    means[3] += 1e-6 * np.abs(means).max()
    with pytest.warns(OutsideTubeWarning, match="more than the declared 0"):
        Instance(Model(features, 0), means)


@pytest.mark.parametrize("duplicate", COPIES)
def test_copies_of_an_instance_stay_frozen_and_warn_no_more(duplicate):
    with pytest.warns(OutsideTubeWarning):
        instance = Instance(Model(SQUARE, 0), [1, 2, 30], noise=2, names=["x", "y", "z"])
    twin = duplicate(instance)
    np.testing.assert_array_equal(twin.means, instance.means)
    np.testing.assert_array_equal(twin.noise, instance.noise)
    assert twin.names == instance.names
    assert not twin.means.flags.writeable
    assert twin.deviation == instance.deviation
