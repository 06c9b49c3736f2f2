"""From a study's settings to the engine that decides for it."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np

from mislid.engine import Engine, Verdict
from mislid.errors import ProblemError
from mislid.stopping.rules import PYTHON
from mislid.study.candidates import Candidates
from mislid.study.facts import Decided
from mislid.study.settings import MAXIMIZE, Settings, is_absent, is_python, question_of


def new_engine(
    settings: Settings,
    candidates: Candidates,
    algorithm: Any = None,
    stopping: Any = None,
    *,
    misspecification: float | None = None,
) -> Engine:
    """An engine before the first measurement, for the declared misspecification unless given.

    Rules that are given take the place of those that the settings name. Without features all arms
    are measured first: the model has one column then, whose spanner is one arm.
    """
    if misspecification is not None:
        settings = dataclasses.replace(settings, misspecification=misspecification)
    return Engine(
        question_of(settings, candidates),
        _rule("algorithm", settings.algorithm, algorithm),
        _rule("stopping", settings.stopping, stopping),
        seed=settings.seed,
        every_arm=True if candidates.features is None else None,
        cost=None if settings.cost is None else np.array(settings.cost),
    )


def _rule(argument: str, name: str, given: Any) -> Any:
    if given is not None:
        return given
    if is_python(name):
        raise ProblemError(
            f"{argument} must be given to load_study or create_study: this study was begun with an "
            f"object of {name.removeprefix(PYTHON)!r}, which the log cannot hold"
        )
    if argument == "algorithm" and is_absent(name):
        raise ProblemError(
            f"algorithm {name!r}, with which this study was begun, is of a package that is not "
            "installed here: install it to go on; what is known so far can be read without it"
        )
    return name


def stand_ins(settings: Settings, given: tuple[Any, Any]) -> tuple[Any, Any]:
    """The rules that were given; for others that are not here, some with the same estimates.

    They may have them earlier: whether a rule waits for all arms is not known of one that is not
    here.
    """
    algorithm, stopping = given
    if algorithm is None and is_absent(settings.algorithm):
        algorithm = "mislid"
    if stopping is None and is_python(settings.stopping):
        stopping = "heuristic"
    return algorithm, stopping


def decision_of(settings: Settings, verdict: Verdict) -> Decided:
    """What is recorded of a verdict."""
    answer = verdict.answer or ()
    # A rule that is written in Python may have no evidence to show.
    others = (arm for arm in range(len(answer) + 1) if arm not in answer)
    pair = (next(others), answer[-1]) if verdict.pair is None else verdict.pair
    return Decided(
        answer=answer,
        samples=verdict.samples,
        rule=settings.stopping,
        statistic=float(np.nan_to_num(verdict.statistic, posinf=np.inf)),
        threshold=float(np.nan_to_num(verdict.threshold)),
        pair=pair,
    )


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile what a study with these rules needs, or load it from disk.

    Nobody should have to wait for a compiler because another process holds a study.
    """
    from mislid.algorithms import ALGORITHMS
    from mislid.engine import EventBatch

    # Rules of others may refuse the question below, and are not compiled.
    if algorithm not in ALGORITHMS or is_python(stopping):
        return
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
    script = EventBatch()
    script.tell((0, 1, 2), (0.0, 0.1, 0.2))
    script.ask(0, 2, ())
    new_engine(small, arms).follow(script)
