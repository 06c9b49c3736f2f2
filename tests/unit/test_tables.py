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


def test_without_pandas_they_say_what_to_do(monkeypatch):
    instance = mislid.Instance(mislid.Model(TABLE, 0.1), MEANS, noise=0.2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"to_frame needs pandas .*the fields say"):
        mislid.identify(instance, 1).to_frame()
