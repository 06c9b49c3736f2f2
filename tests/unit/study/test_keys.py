"""What a key stands for."""

import numpy as np
import pandas as pd
import pytest

from mislid.study.session import request_of

LONG = np.linspace(0.1, 1.0, 5_000)


@pytest.mark.parametrize("form", [np.array, pd.Series], ids=["array", "Series"])
def test_the_middle_of_long_arrays_counts(form) -> None:
    other = LONG.copy()
    other[2_500] += 0.5
    assert repr(form(other)) == repr(form(LONG))  # which is why it is spelled out
    assert request_of("k", "add", form(other)).digest != request_of("k", "add", form(LONG)).digest
    assert request_of("k", "add", form(LONG)) == request_of("k", "add", form(LONG.copy()))
