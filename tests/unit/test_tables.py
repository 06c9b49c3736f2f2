"""Whatever is a table can be had as a DataFrame, and says without pandas what to do."""

import sys

import numpy as np
import pandas as pd
import pytest

import mislid
from mislid.errors import MissingPackageError

TABLE = pd.DataFrame(
    {"dose": [1.0, 0.0, 1.0, 0.3], "time": [0.0, 1.0, 1.0, 0.2]}, index=["a", "b", "c", "d"]
)
MEANS = [0.4, 0.5, 0.8, 0.1]


@pytest.fixture(scope="module")
def study():
    study = mislid.create_study(candidates=TABLE, m=1, misspecification=0.2, noise=0.1)
    study.add_observations([(label, mean) for label, mean in zip("abcd", MEANS, strict=True)] * 9)
    return study


def test_runs():
    instance = mislid.Instance(mislid.Model(TABLE, 0.1), MEANS, noise=0.2)
    run = mislid.identify(instance, 1)
    frame = run.to_frame()
    assert list(frame.columns) == ["label", "count", "mean", "lower", "upper", "in_answer"]
    assert frame.set_index("label").loc["c", "in_answer"]
    assert frame["count"].sum() == run.samples
    np.testing.assert_array_equal(frame[["lower", "upper"]], run.intervals)
    unnamed = mislid.Instance(mislid.Model(TABLE.to_numpy(), 0.1), MEANS, noise=0.2)
    assert mislid.identify(unnamed, 1, max_samples=4).to_frame()["label"].tolist() == [0, 1, 2, 3]


def test_sensitivity(study):
    found = study.sensitivity()
    frame = found.to_frame()
    assert len(frame) == len(found.table) > 5
    row = found.table[3]
    assert frame.iloc[3].to_dict() == {name: getattr(row, name) for name in frame.columns}


def test_without_pandas_they_say_what_to_do(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"to_frame needs pandas .*the fields say"):
        study.sensitivity().to_frame()
