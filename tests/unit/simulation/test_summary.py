from typing import Any

import numpy as np
import pandas as pd
import pytest

from mislid.errors import ProblemError
from mislid.simulation.replicate import Row
from mislid.simulation.summary import summarise


def test_a_summary_agrees_with_numpy(rng):
    samples = rng.integers(1, 10**7, 50)
    verdicts = [True] * 40 + [False] * 6 + [None] * 4
    rows = [
        Row(i, int(n), verdict, "any", 0.5)
        for i, (n, verdict) in enumerate(zip(samples, verdicts, strict=True))
    ]
    found = summarise(rows)
    assert found.runs == 50
    np.testing.assert_allclose(found.mean_samples, samples.mean(), rtol=1e-14)
    np.testing.assert_allclose(found.std_samples, samples.std(), rtol=1e-12)
    assert (found.error_rate, found.unanswered, found.mean_seconds) == (0.12, 0.08, 0.5)


def test_no_rows_have_no_summary():
    with pytest.raises(ProblemError, match="at least one finished run"):
        summarise([])


@pytest.mark.parametrize("rows", [None, [1], iter([]), pd.DataFrame({"samples": [1]})])
def test_what_are_no_rows_is_refused(rows: Any) -> None:
    """Truth values of a table are NumPy's, and `is False` would not know them."""
    with pytest.raises(ProblemError, match="rows must be a list, as replicate_rows gives it"):
        summarise(rows)
