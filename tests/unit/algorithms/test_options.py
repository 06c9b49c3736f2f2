"""Options of algorithms that cannot be: refused in words, before anything runs."""

from collections.abc import Callable

import numpy as np
import pytest

from mislid.algorithms import PEPS, RAGE, Algorithm, BestResponse, MisLid, Selective
from mislid.errors import ProblemError


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MisLid(pulls=1.5), "pulls must be an integer at least 1; got 1.5"),
        (
            lambda: PEPS(draws=10**30),
            "draws must be an integer at least 0 and at most .*; got 1000",
        ),
        (lambda: MisLid(per_answer="no"), "per_answer must be True or False; got 'no'"),
        (lambda: MisLid(gap=-1), "gap must be a finite number at least 0; got -1"),
        (lambda: MisLid(bonus="text"), "bonus must be one of 'paper', 'authors', 'linear'; got 't"),
        (lambda: BestResponse(exploration=np.nan), "exploration must be .* at least 0; got nan"),
        (lambda: RAGE(fresh="no"), "fresh must be True or False; got 'no'"),
        (lambda: Selective("uniform"), "algorithm must be one that chooses among pairs"),
    ],
)
def test_they_are_refused(make: Callable[[], Algorithm], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        make()
