"""Options of algorithms that cannot be: refused in words, before anything runs."""

from collections.abc import Callable

import numpy as np
import pytest

from mislid.algorithms import (
    RAGE,
    AdaHedge,
    Algorithm,
    BestResponse,
    ExponentialWeights,
    LinGapE,
    MisLid,
    Optimistic,
    Selective,
    TopTwo,
    XYAdaptive,
)
from mislid.errors import ProblemError


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MisLid(pulls=1.5), "pulls must be an integer at least 1, or None; got 1.5"),
        (lambda: MisLid(steps=10**30), "steps must be an integer at least 0; got 1000"),
        (
            lambda: MisLid(learner="adahedge"),
            "learner must be of the kind AdaHedge, .* or FollowTheLeader",
        ),
        (lambda: MisLid(per_answer="no"), "per_answer must be True or False; got 'no'"),
        (lambda: MisLid(AdaHedge(gap=-1)), "gap must be a number at least 0; got -1"),
        (lambda: MisLid(ExponentialWeights(range=0)), "range must be a number above 0; got 0"),
        (
            lambda: MisLid(gain=Optimistic("text")),
            "bonus must be 'paper', 'authors' or 'linear'; got",
        ),
        (lambda: BestResponse(exploration=np.nan), "exploration must be a number; got nan"),
        (lambda: LinGapE(growth="x"), "growth must be a number above 0, or None; got 'x'"),
        (lambda: RAGE(fresh="no"), "fresh must be True or False; got 'no'"),
        (lambda: TopTwo(share="half"), "share must be a number above 0 and below 1; got 'half'"),
        (lambda: XYAdaptive(shrink=None), "shrink must be above 0 and below 1; got None"),
        (lambda: Selective(MisLid(pulls=0)), "pulls must be an integer at least 1, or None; got 0"),
    ],
)
def test_they_are_refused(make: Callable[[], Algorithm], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        make()
