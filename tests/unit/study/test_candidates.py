"""Candidates as people have them."""

import math
from typing import Any

import pandas as pd
import pytest

from mislid.errors import ProblemError
from mislid.study.candidates import as_candidates

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("given", "names", "labels"),
    [
        (pd.DataFrame(FEATURES, index=["a", "b", "c"]), None, ("a", "b", "c")),
        (dict(zip("abc", FEATURES, strict=True)), None, ("a", "b", "c")),
        (FEATURES, ["x", "y", "z"], ("x", "y", "z")),
        (pd.DataFrame(index=["a", "b"]), None, ("a", "b")),
        (range(4, 7), None, (4, 5, 6)),
    ],
)
def test_labels_and_features(given: Any, names: Any, labels: tuple[Any, ...]) -> None:
    found = as_candidates(given, names)
    assert found.labels == labels
    assert len(labels) == found.model(math.inf).K
    assert found.features is None or found.features.tolist() == FEATURES


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            pd.DataFrame({"name": ["a", "b"], "mass": [1, 2]}),
            r"got 'a' at row 0, column 'name': .* make it the index by set_index\('name'\)",
        ),
        (
            pd.DataFrame({"mass": [1.0, float("nan")]}, index=["a", "b"]),
            "must be finite; got nan at row 'b', column 'mass'",
        ),
        ("abc", "candidates must be a DataFrame .* got 'abc'"),
        (["a"], "candidates must be at least 2; got 1"),
        (["a", "a"], "the labels of candidates must be distinct; got 'a' for arm 0"),
    ],
)
def test_bad_candidates(given: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        as_candidates(given)
