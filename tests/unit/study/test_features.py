"""A column of ones beside the features, their names, and what they are worth."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mislid
from mislid.errors import ProblemError
from mislid.study import Study
from mislid.study.storage import MemoryStorage

TABLE = pd.DataFrame({"mass": [1.0, 0.0, 1.0, 0.5], "charge": [0.0, 1.0, 1.0, 0.7]})


def study_of(candidates: Any = TABLE, **changes: Any) -> Study:
    given = {"m": 1, "misspecification": 0.1, "noise": 0.5, **changes}
    return mislid.create_study(candidates=candidates, **given)


class TestOnes:
    @pytest.mark.parametrize("intercept", [None, True])
    @pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
    def test_are_not_added_twice(self, intercept: bool | None, scale: float) -> None:
        shares = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]) * [1.0, scale]
        nearly = shares * np.array([[1.0], [1.0 + 1e-12], [1.0]])
        for features in (shares, nearly, [[3, 1], [3, 2], [3, 5]], np.eye(3)):
            arms = study_of(features, intercept=intercept).candidates
            assert arms.features.tolist() == np.asarray(features).tolist()
            assert arms.columns is None

    def test_a_study_goes_on_with_what_it_has(self) -> None:
        again = {"study_name": "s", "storage": MemoryStorage(), "load_if_exists": True}
        study_of(intercept=False, **again).ask()
        assert study_of(**again).samples == 0  # as a script of before does
        assert study_of(**again).candidates.features.shape == (4, 2)
        with pytest.raises(ProblemError, match=r"was \(4, 2\) and now is \(4, 3\)"):
            study_of(intercept=True, **again)

    def test_a_level_is_no_misspecification(self) -> None:
        means = 100.0 + TABLE.to_numpy() @ [1.0, 2.0]
        rows = [(k, mean) for k, mean in enumerate(means)] * 20
        for intercept, least in ((None, 0.0), (False, 10.0)):
            study = study_of(intercept=intercept, misspecification="unknown", noise=0.1)
            study.add_observations(rows)
            assert (study.sensitivity().smallest > 1.0) == (least > 1.0)
