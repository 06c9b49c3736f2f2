"""From a study's settings to the engine that decides for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mislid.engine import Engine, Verdict
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE, Candidates, Settings, question_of


def new_engine(
    settings: Settings, candidates: Candidates, algorithm: Any = None, stopping: Any = None
) -> Engine:
    """An engine before the first measurement.

    Rules that are given take the place of those that the settings name. Without features all arms
    are measured first: the model has one column then, whose spanner is one arm.
    """
    return Engine(
        question_of(settings, candidates),
        settings.algorithm if algorithm is None else algorithm,
        settings.stopping if stopping is None else stopping,
        seed=settings.seed,
        every_arm=True if candidates.features is None else None,
    )


def decision_of(settings: Settings, verdict: Verdict) -> Decided:
    """What is recorded of a verdict."""
    return Decided(
        answer=verdict.answer or (),
        samples=verdict.samples,
        rule=settings.stopping,
        statistic=verdict.statistic,
        threshold=verdict.threshold,
        pair=(-1, -1) if verdict.pair is None else verdict.pair,
    )


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile what a study with these rules needs, or load it from disk.

    Nobody should have to wait for a compiler because another process holds a study.
    """
    from mislid.engine import Script

    arms = Candidates((0, 1, 2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    small = Settings(
        m=1,
        delta=0.5,
        misspecification=0.1,
        noise=(1.0,),
        tolerance=0.0,
        direction=MAXIMIZE,
        algorithm=algorithm,
        stopping=stopping,
        seed=0,
    )
    script = Script()
    script.tell((0, 1, 2), (0.0, 0.1, 0.2))
    script.ask(0, 2, ())
    new_engine(small, arms).follow(script)
