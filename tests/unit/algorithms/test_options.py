"""Options of algorithms that cannot be: refused in words, before anything runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mislid import Model
from mislid.algorithms import (
    LUCB,
    PEPS,
    RAGE,
    AdaHedge,
    Aggressive,
    Algorithm,
    BestResponse,
    CTracking,
    ExponentialWeights,
    LazyTrackAndStop,
    LinGapE,
    MisLid,
    Optimistic,
    Selective,
    TopTwo,
    XYAdaptive,
)
from mislid.errors import ProblemError

MODEL = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: MisLid(pulls=1.5), "pulls must be an integer at least 1, or None; got 1.5"),
        (lambda: MisLid(subset="all"), "subset must be an integer at least 0, or None; got 'all'"),
        (lambda: MisLid(steps=None), "steps must be an integer at least 0; got None"),
        (lambda: MisLid(steps=10**30), "steps must be an integer at least 0; got 1000"),
        (
            lambda: MisLid(learner="adahedge"),
            "learner must be of the kind AdaHedge, .* or FollowTheLeader",
        ),
        (
            lambda: MisLid(gain=AdaHedge()),
            "gain must be of the kind Optimistic, Aggressive or Empirical",
        ),
        (
            lambda: MisLid(sampling=3),
            "sampling must be of the kind Direct, CTracking or DTracking; got 3",
        ),
        (lambda: MisLid(per_answer="no"), "per_answer must be True or False; got 'no'"),
        (lambda: MisLid(every_arm=np.ones(3)), "every_arm must be True or False; got array"),
        (lambda: MisLid(AdaHedge(gap=-1)), "gap must be a number at least 0; got -1"),
        (lambda: MisLid(ExponentialWeights(range=0)), "range must be a number above 0; got 0"),
        (
            lambda: MisLid(gain=Optimistic("text")),
            "bonus must be 'paper', 'authors' or 'linear'; got",
        ),
        (
            lambda: MisLid(gain=Aggressive(["paper"])),
            "bonus must be 'paper', 'authors' or 'linear'; got",
        ),
        (lambda: MisLid(sampling=CTracking(forced=None)), "forced must be True or False; got None"),
        (lambda: BestResponse(exploration=10**400), "exploration must be a number; got 1000"),
        (lambda: BestResponse(exploration=np.nan), "exploration must be a number; got nan"),
        (lambda: LUCB(authors=2), "authors must be True or False; got 2"),
        (lambda: LinGapE(growth="x"), "growth must be a number above 0, or None; got 'x'"),
        (lambda: LazyTrackAndStop(own_test="x"), "own_test must be True or False; got 'x'"),
        (lambda: PEPS(draws=True), "draws must be an integer at least 0; got True"),
        (lambda: RAGE(fresh="no"), "fresh must be True or False; got 'no'"),
        (lambda: TopTwo(share="half"), "share must be a number above 0 and below 1; got 'half'"),
        (lambda: XYAdaptive(shrink=None), "shrink must be above 0 and below 1; got None"),
        (lambda: XYAdaptive(first=[1]), r"first must be at least 1, or None; got \[1\]"),
        (lambda: Selective(MisLid(pulls=0)), "pulls must be an integer at least 1, or None; got 0"),
    ],
)
def test_they_are_refused(make: Callable[[], Algorithm], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        make()


@pytest.mark.parametrize("question", [None, "which", MODEL])
def test_what_is_no_question_is_refused(question: Any) -> None:
    with pytest.raises(ProblemError, match=r"question must be a mislid\.Question; got"):
        MisLid(per_answer=True).check(question)
