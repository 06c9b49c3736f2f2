import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mislid import _validation as v
from mislid.errors import ProblemError


@pytest.mark.parametrize(
    "value",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=np.float32),
        np.array([Fraction(1), Decimal(2), 3], dtype=object),
        np.arange(6.0)[1:4],
    ],
)
def test_vector_is_fresh_contiguous_float64(value):
    vector = v.as_vector(value, "means", 3)
    assert vector.dtype == np.float64
    assert vector.flags.c_contiguous
    assert vector.flags.owndata
    np.testing.assert_array_equal(vector, [1, 2, 3])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "means must have 3 entries, one number per arm; got 2"),
        ([1, np.nan, 2], "means must be finite; got nan at index 1"),
        ([1, 2, -np.inf], "means must be finite; got -inf at index 2"),
        ([[1, 2, 3]], "means must be a vector of numbers, .*; got an array of shape (1, 3)"),
        (7, "means must be a vector of numbers, .*; got 7"),
        ("text", "means must be a vector of numbers, .*; got 'text'"),
        (["1", "2", "3"], "means must hold real numbers; got entries of type <U1, such as '1'"),
        ([1, "2", None], "means must hold real numbers; got '2' at index 1"),
        ([1, None, 2], "means must hold real numbers; got None at index 1"),
        ([1j, 0, 0], "means must hold real numbers; got entries of type complex128, such as 1j"),
        ([[1], [1, 2], [3]], "means must be a rectangular array"),
        (np.array(["2020", "2021", "2022"], dtype="M8[Y]"), "means must hold real numbers"),
        (np.array([1, "2", 3], dtype=object), "means must hold real numbers; got '2' at index 1"),
        (np.array([1, b"2", 3], dtype=object), "means must hold real numbers; got b'2' at index 1"),
        (np.array([1, 10**400, 3], dtype=object), "means must hold real numbers; got 1000"),
        (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), "means must have no masked entries"),
        (None, "means must be a vector of numbers, .*; got None"),
    ],
)
def test_vector_refuses(value, message):
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_vector(value, "means", 3)


def test_weights_keep_zeros_without_sign():
    weights = v.as_weights([0.0, -0.0, 2.0], 3)
    np.testing.assert_array_equal(weights, [0, 0, 2])
    assert not np.signbit(weights).any()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -2, 3], "weights must be at least 0; got -2.0 at index 1"),
        ([0, 0, 0], "weights must have at least one positive entry; got 3 zeros"),
        ([1, np.inf, 0], "weights must be finite; got inf at index 1"),
        ([1, 2], "weights must have 3 entries"),
    ],
)
def test_weights_refuse(weights, message):
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_weights(weights, 3)


def test_number_bounds_are_closed_unless_said_open():
    assert v.as_number(0, "x", low=0, high=1) == 0
    assert v.as_number(1, "x", low=0, high=1) == 1
    with pytest.raises(ProblemError, match="x must be a number above 0 and at most 1; got 0"):
        v.as_number(0, "x", low=0, high=1, low_open=True)
    with pytest.raises(ProblemError, match="x must be a number at least 0 and below 1; got 1"):
        v.as_number(1, "x", low=0, high=1, high_open=True)


@pytest.mark.parametrize(
    "value",
    [np.nan, True, np.True_, "1", b"1", None, 1j, np.complex128(1), [1], [[1], [1, 2]], -1, 3],
)
def test_number_refuses(value):
    with pytest.raises(ProblemError, match="tolerance must be a number at least 0 and at most 2"):
        v.as_number(value, "tolerance", low=0, high=2)


@pytest.mark.parametrize("m", [0, 5, -1, 2.0, True, "2", None, [2]])
def test_top_m_refuses(m):
    message = f"m must be an integer from 1 to 4 with K=5 arms; got m={m!r}"
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_top_m(m, 5)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (0, "noise must be a finite number above 0; got 0"),
        (np.inf, "noise must be a finite number above 0; got inf"),
        ([1, 0, 1], "noise must be above 0; got 0.0 at index 1"),
        ([1, -1, 1], "noise must be above 0; got -1.0 at index 1"),
        ([1, 1], "noise must have 3 entries"),
        ("loud", "noise must be a finite number above 0; got 'loud'"),
        ([[1], [1, 2]], "noise must be a rectangular array"),
    ],
)
def test_noise_refuses(noise, message):
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_noise(noise, 3)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], "names must be distinct; got 'a' for arm 0 and arm 2"),
        ([1, 2, 2], "names must be distinct; got 2 for arm 1 and arm 2"),
        (["a", "b"], "names must have 3 labels, one per arm; got 2"),
        ("abc", "names must be a sequence of 3 labels; got 'abc'"),
        (3, "names must be a sequence of 3 labels; got 3"),
        (["a", 1, "c"], "names must be all strings or all integers"),
        ([1.0, 2.0, 3.0], "names must be strings or integers; got 1.0 for arm 0"),
        ([True, False, 2], "names must be strings or integers; got True for arm 0"),
        (["a", None, "c"], "names must be strings or integers; got None for arm 1"),
        (["a", ("b",), "c"], "names must be strings or integers; got ('b',) for arm 1"),
    ],
)
def test_labels_refuse(names, message):
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_labels(names, 3)


def test_long_values_are_cut_in_messages():
    with pytest.raises(ProblemError) as caught:
        v.as_number("x" * 1000, "delta", low=0, high=1)
    assert len(str(caught.value)) < 150


def _literal(message: str) -> str:
    """A pattern in which only `.*` is special."""
    return ".*".join(re.escape(part) for part in message.split(".*"))
