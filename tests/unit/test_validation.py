import re

import numpy as np
import pytest

from mislid import _validation as v
from mislid.errors import ProblemError


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "means must have 3 entries, one number per arm; got 2"),
        ([1, np.nan, 2], "means must be finite; got nan at index 1"),
        ([1, 2, -np.inf], "means must be finite; got -inf at index 2"),
        (["1", "2", "3"], "means must hold real numbers; got entries of type <U1, such as '1'"),
        ([1, "2", None], "means must hold real numbers; got '2' at index 1"),
        ([1j, 0, 0], "means must hold real numbers; got entries of type complex128, such as 1j"),
        ([[1], [1, 2], [3]], "means must be a rectangular array"),
        (np.array(["2020", "2021", "2022"], dtype="M8[Y]"), "means must hold real numbers"),
        (np.array([1, "2", 3], dtype=object), "means must hold real numbers; got '2' at index 1"),
        (np.array([1, 10**400, 3], dtype=object), "means must hold real numbers; got 1000"),
        (np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), "means must have no masked entries"),
        (None, "means must be a vector of numbers, .*; got None"),
    ],
)
def test_vector_refuses(value, message):
    with pytest.raises(ProblemError, match=_literal(message)):
        v.as_vector(value, "means", 3)


@pytest.mark.parametrize(
    "value",
    [np.nan, True, np.True_, "1", b"1", None, 1j, np.complex128(1), [1], [[1], [1, 2]], -1, 3],
)
def test_number_refuses(value):
    with pytest.raises(ProblemError, match="tolerance must be a number at least 0 and at most 2"):
        v.as_number(value, "tolerance", low=0, high=2)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], "names must be distinct; got 'a' for arm 0 and arm 2"),
        (["a", "b"], "names must have 3 labels, one per arm; got 2"),
        ("abc", "names must be a sequence of 3 labels; got 'abc'"),
        (3, "names must be a sequence of 3 labels; got 3"),
        (["a", 1, "c"], "names must be all strings or all integers"),
        ([1.0, 2.0, 3.0], "names must be strings or integers; got 1.0 for arm 0"),
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
