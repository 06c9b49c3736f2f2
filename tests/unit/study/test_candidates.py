"""Candidates as people have them."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mislid.errors import ProblemError
from mislid.study.candidates import as_candidates

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("given", "names", "labels"),
    [
        (pd.DataFrame(FEATURES, index=["a", "b", "c"]), None, ("a", "b", "c")),
        ({"a": [1, 0], "b": [0, 1], "c": [1, 1]}, None, ("a", "b", "c")),
        (FEATURES, ["x", "y", "z"], ("x", "y", "z")),
    ],
)
def test_candidates_with_features(given: Any, names: Any, labels: tuple[Any, ...]) -> None:
    found = as_candidates(given, names)
    assert found.labels == labels
    assert all(type(one) is type(other) for one, other in zip(found.labels, labels, strict=True))
    np.testing.assert_array_equal(found.features, FEATURES)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (["a", "b"], ("a", "b")),
        (range(4, 7), (4, 5, 6)),
        (pd.DataFrame(index=["a", "b"]), ("a", "b")),
    ],
)
def test_candidates_without_features(given: Any, labels: tuple[Any, ...]) -> None:
    found = as_candidates(given)
    assert (found.labels, found.features) == (labels, None)
    assert found.model(math.inf).d == 1


@pytest.mark.parametrize(
    ("given", "names", "message"),
    [
        (
            pd.DataFrame({"name": ["a", "b"], "mass": [1, 2]}),
            None,
            r"got 'a' at row 0, column 'name': .* make it the index by set_index\('name'\)",
        ),
        (
            pd.DataFrame({"mass": [1.0, float("nan")]}, index=["a", "b"]),
            None,
            "must be finite; got nan at row 'b', column 'mass'",
        ),
        ("abc", None, "candidates must be a DataFrame .* got 'abc'"),
        (["a"], None, "candidates must be at least 2; got 1"),
        (["a", "a"], None, "the labels of candidates must be distinct; got 'a' for arm 0"),
    ],
)
def test_bad_candidates(given: Any, names: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        as_candidates(given, names)
