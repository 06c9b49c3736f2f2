import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from mislid.errors import OutsideTubeWarning, ProblemError
from mislid.model import Instance, Model, Reduction

COPIES = [copy.copy, copy.deepcopy, lambda record: pickle.loads(pickle.dumps(record))]
SQUARE = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def same_span(first, second):
    """Whether the columns of two matrices span the same space, to 1e-9."""
    q = np.linalg.qr(first / np.abs(first).max(axis=0))[0]
    scale = np.abs(second).max(axis=0)
    scaled = second / np.where(scale > 0, scale, 1)
    return np.abs(scaled - q @ (q.T @ scaled)).max() < 1e-9


def test_model_keeps_full_rank_features_as_given(rng):
    given = rng.standard_normal((7, 3))
    model = Model(given, 0.25)
    np.testing.assert_array_equal(model.features, given)
    assert (model.K, model.d, model.misspecification) == (7, 3, 0.25)
    assert model.reduction is None
    assert model.names is None


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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, bool, object])
def test_model_accepts_every_kind_of_number(order, dtype):
    model = Model(np.array(SQUARE).astype(dtype, order=order), 0)
    np.testing.assert_array_equal(model.features, SQUARE)
    assert model.features.flags.c_contiguous


@pytest.mark.parametrize("value", [0, 0.5, 1e300, np.inf, np.float32(1)])
def test_misspecification_lies_between_zero_and_infinity(value):
    model = Model(SQUARE, misspecification=value)
    assert type(model.misspecification) is float
    assert model.misspecification == value


@pytest.mark.parametrize("value", [-1e-300, -np.inf, np.nan, True, "0.1", None, 1j, [0.1]])
def test_misspecification_refuses(value):
    with pytest.raises(ProblemError, match=r"misspecification must be a number at least 0 \(inf"):
        Model(SQUARE, value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([[1, 2], [3, np.nan]], "features must be finite; got nan at row 1, column 1"),
        ([[1, np.inf], [3, 4]], "features must be finite; got inf at row 0, column 1"),
        ([1, 2, 3], r"features must be a matrix .*; got an array of shape \(3,\)"),
        (np.ones((2, 2, 2)), r"features must be a matrix .*; got an array of shape \(2, 2, 2\)"),
        ([[1, 2], [3]], "features must be a rectangular array of numbers"),
        ([[1, 2]], "features must have at least 2 rows, one per arm; got 1"),
        (np.empty((0, 3)), "features must have at least 2 rows, one per arm; got 0"),
        (np.empty((3, 0)), r"features must have at least 1 column; got shape \(3, 0\)"),
        (np.zeros((3, 2)), "features must have a nonzero entry; got 3 x 2 zeros"),
        ([["a", "b"], ["c", "d"]], "features must hold real numbers; .*'a'"),
        ([[1, 1j], [0, 1]], "features must hold real numbers; .*complex"),
        ("features.npz", "features must be a matrix .*; got 'features.npz'"),
        (None, "features must be a matrix .*; got None"),
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
    assert model.reduction is not None
    assert model.reduction.given == 8
    assert len(model.reduction.kept) == 3
    np.testing.assert_array_equal(model.features, given[:, list(model.reduction.kept)])
    assert same_span(model.features, given)
    assert model.features.flags.c_contiguous


def test_duplicated_and_zero_columns_are_dropped():
    x, y = np.array(SQUARE).T
    model = Model(np.column_stack([0 * x, x, y, x, 0 * x, y]), 0.1)
    assert model.d == 2
    assert same_span(model.features, np.column_stack([x, y]))
    assert Model([[0, 1], [0, 2]], 0).reduction == Reduction(given=2, kept=(1,))


def test_more_features_than_arms_reduce_to_the_number_of_arms(rng):
    model = Model(rng.standard_normal((4, 9)), 0.1)
    assert (model.K, model.d) == (4, 4)
    assert "reduced from 9 columns" in repr(model)


@pytest.mark.parametrize("K", [10, 10_000, 1_000_000])
def test_a_nearly_collinear_column_is_kept(rng, K):
    given = rng.standard_normal((K, 3))
    given[:, 2] = given[:, 0] + 1e-9 * given[:, 2]
    assert Model(given, 0.1).d == 3


@pytest.mark.parametrize("K", [10, 10_000, 1_000_000])
def test_a_column_collinear_up_to_rounding_is_dropped(rng, K):
    given = rng.standard_normal((K, 3))
    given[:, 2] = given[:, :2] @ [0.3, -1.7]
    assert Model(given, 0.1).d == 2


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e-150, 1e150, [1e-6, 1.0, 1e6, 1e-12, 1e12]])
def test_rank_does_not_depend_on_the_scale_of_columns(rng, scale):
    given = rng.standard_normal((9, 5))
    assert Model(given * scale, 0.1).reduction is None
    given[:, 4] = given[:, 0] - given[:, 1]
    assert Model(given * scale, 0.1).d == 4


def test_duplicated_arms_are_kept():
    assert Model([[1, 0], [1, 0], [0, 1]], 0).K == 3


def test_repr_tells_the_sizes():
    assert repr(Model(SQUARE, np.inf)) == "Model(K=3, d=2, misspecification=inf)"


def test_index_of_a_frame_names_the_arms():
    frame = pd.DataFrame(SQUARE, index=["a", "b", "c"], columns=["x", "y"])
    model = Model(frame, 0.1)
    assert model.names == ("a", "b", "c")
    np.testing.assert_array_equal(model.features, SQUARE)
    assert Model(frame.set_axis([12, 5, 7]), 0.1).names == (12, 5, 7)
    assert Model(frame.reset_index(drop=True), 0.1).names is None


def test_frames_refuse_what_arrays_refuse():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["one", "two"]})
    with pytest.raises(ProblemError, match="got 'one' at row 0, column 'y'"):
        Model(frame, 0.1)
    with pytest.raises(ProblemError, match="index of features must be distinct; got 'a'"):
        Model(pd.DataFrame([[1.0], [2.0]], index=["a", "a"]), 0.1)
    with pytest.raises(ProblemError, match="features must be finite; got nan"):
        Model(pd.DataFrame({"x": [1.0, None]}), 0.1)
    with pytest.raises(ProblemError, match=r"features must be a matrix .* shape \(2,\)"):
        Model(pd.Series([1.0, 2.0]), 0.1)


@pytest.mark.parametrize("duplicate", COPIES)
def test_copies_of_a_model_stay_frozen(duplicate):
    frame = pd.DataFrame(np.column_stack([SQUARE, [1, 1, 2]]), index=["a", "b", "c"])
    model = Model(frame, 0.1)
    model._cache["derived"] = 1
    twin = duplicate(model)
    np.testing.assert_array_equal(twin.features, model.features)
    assert not twin.features.flags.writeable
    assert twin.misspecification == model.misspecification
    assert twin.names == model.names
    assert twin.reduction == model.reduction
    assert twin._cache == {}


def test_instance_defaults():
    instance = Instance(Model(SQUARE, 0.1), [1, 2, 3])
    np.testing.assert_array_equal(instance.means, [1, 2, 3])
    np.testing.assert_array_equal(instance.noise, [1, 1, 1])
    assert (instance.K, instance.d, instance.names) == (3, 2, None)
    assert [instance.label(k) for k in range(3)] == [0, 1, 2]
    assert not instance.means.flags.writeable
    assert not instance.noise.flags.writeable


def test_instance_names_override_those_of_the_model():
    model = Model(pd.DataFrame(SQUARE, index=["a", "b", "c"]), 0.1)
    assert Instance(model, [1, 2, 3]).label(2) == "c"
    assert Instance(model, [1, 2, 3], names=[7, 8, 9]).label(2) == 9


def test_label_refuses_what_is_no_arm():
    with pytest.raises(ProblemError, match=r"k must be an arm index from 0 to 2 .*; got 3"):
        Instance(Model(SQUARE, 0.1), [1, 2, 3]).label(3)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"means": [1, 2]}, "means must have 3 entries"),
        ({"means": [1, 2, np.nan]}, "means must be finite; got nan at index 2"),
        ({"means": [1, 2, 3], "noise": 0}, "noise must be a finite number above 0"),
        ({"means": [1, 2, 3], "noise": [1, 2]}, "noise must have 3 entries"),
        ({"means": [1, 2, 3], "names": ["a", "b", "a"]}, "names must be distinct"),
    ],
)
def test_instance_refuses(arguments, message):
    with pytest.raises(ProblemError, match=message):
        Instance(Model(SQUARE, 0.1), **arguments)


def test_instance_needs_a_model():
    with pytest.raises(ProblemError, match=r"model must be a mislid.Model; got list"):
        Instance(SQUARE, [1, 2, 3])


def test_labelled_means_must_follow_the_order_of_the_features():
    model = Model(pd.DataFrame(SQUARE, index=["a", "b", "c"]), 0.1)
    means = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])
    np.testing.assert_array_equal(Instance(model, means).means, [1, 2, 3])
    with pytest.raises(ProblemError, match="got 'c' for arm 0, which the features call 'a'"):
        Instance(model, means[::-1])


def test_deviation_is_the_chebyshev_distance_to_the_linear_means():
    # Fitting a constant to numbers: half their range.
    instance = Instance(Model(np.ones((4, 1)), np.inf), [0, 3, 10, 4])
    assert instance.deviation == pytest.approx(5, rel=1e-9)


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


def test_the_linear_program_is_skipped_where_least_squares_fits(monkeypatch):
    def refuse(*_):
        raise AssertionError("the linear program was solved")

    monkeypatch.setattr("mislid.geometry.tube.chebyshev_deviation", refuse)
    Instance(Model(SQUARE, 0), [1, 2, 3])
    Instance(Model(SQUARE, np.inf), [1, 2, 30])
    Instance(Model(np.array(SQUARE) * [1e-12, 1e12], 0), [1, 2, 3])
    with pytest.raises(AssertionError, match="was solved"):
        Instance(Model(SQUARE, 0.1), [1, 2, 30])


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


def test_instance_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Instance(Model(SQUARE, 0), [1, 2, 3]).noise = 2
