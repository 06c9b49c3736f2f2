"""Distances for others to use: what is refused."""

import math
from typing import Any

import numpy as np
import pytest

from mislid.verification import Distances

GIVEN: dict[str, Any] = {
    "features": np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
    "spanner": np.array([0, 1]),
    "eps": 0.1,
    "means": np.array([0.4, 0.6, 0.9]),
    "weights": np.full(3, 100.0),
}
Z = np.array([-1.0, -1.0, 2.0])


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("features", np.ones(3), r"features must be of shape \(K, d\)"),
        ("features", [["a", "b"]] * 3, "features must be numbers; got "),
        ("means", np.ones(2), r"means must be of shape \(3,\); got \(2,\)"),
        ("means", np.array([0.4, math.nan, 0.9]), "means must be numbers; got nan"),
        ("weights", np.ones((3, 1)), r"weights must be of shape \(3,\); got \(3, 1\)"),
        ("spanner", np.array([0, 3]), "spanner must be 2 arms from 0 to 2; got"),
        ("spanner", np.array([0, -1]), "spanner must be 2 arms from 0 to 2; got"),
        ("spanner", np.array([0]), "spanner must be 2 arms from 0 to 2; got"),
        ("eps", -0.1, "eps must be at least 0; got -0.1"),
        ("eps", math.nan, "eps must be at least 0; got nan"),
    ],
)
def test_what_no_model_has_is_refused(argument: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Distances(**{**GIVEN, argument: value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"multipliers": np.ones(2)}, r"multipliers must be of shape \(3,\); got \(2,\)"),
        ({"multipliers": np.ones((3, 3))}, r"multipliers must be of shape \(3,\); got \(3, 3\)"),
        ({"pair": (0, 3)}, r"pair must be 2 arms from 0 to 2; got \(0, 3\)"),
        ({"pair": (-1, 0)}, r"pair must be 2 arms from 0 to 2; got \(-1, 0\)"),
        ({"pair": (0.0, 1.0)}, r"pair must be 2 arms from 0 to 2; got \(0.0, 1.0\)"),
        ({"pair": (1, 1)}, r"pair must be two arms; got \(1, 1\)"),
        ({"pair": (0, 1), "alpha": "x"}, "alpha must be numbers; got 'x'"),
        ({"pair": (0, 1), "alpha": -1.0}, r"alpha must not be negative; got -1\.0"),
        ({"pair": (0, 1), "alpha": math.nan}, "alpha must not be negative; got nan"),
        ({"pair": (0, 1), "tol": math.nan}, "tol must be numbers; got nan"),
    ],
)
def test_proofs_of_nothing_that_there_is_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Distances(**GIVEN).at_least(**{"multipliers": Z, **arguments})
