"""Small studies for reports, and stand-ins for what other parts of a study foresee."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import mislid
from mislid.study import Study

FEATURES = {
    "a": [1.0, 0.0],
    "b": [0.0, 1.0],
    "c": [1.0, 1.0],
    "d": [0.5, 0.2],
    "e": [0.3, 0.9],
}
MEANS = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.2, "e": 0.6}


def new_study(**changes: Any) -> Study:
    settings: dict[str, Any] = {"study_name": "assay", "candidates": FEATURES, "m": 1}
    if isinstance(changes.get("candidates", FEATURES), dict):
        settings["misspecification"] = 0.1
    return mislid.create_study(**{**settings, "noise": 0.1, **changes})


def measuring(means: dict[Any, float], noise: float = 0.1, sign: float = 1.0) -> Callable[..., Any]:
    rng = np.random.default_rng(7)
    return lambda trial: sign * means[trial.arm] + noise * float(rng.standard_normal())


def decided_study(sign: float = 1.0, **changes: Any) -> Study:
    study = new_study(**changes)
    study.optimize(measuring(MEANS, sign=sign), n_trials=5_000)
    assert study.status == "decided"
    return study


class Foresight:
    """A study that also has the methods of other parts."""

    def __init__(self, study: Study, **parts: Any) -> None:
        self.study_name, self.events = study.study_name, study.events
        vars(self).update({name: _giving(answer) for name, answer in parts.items()})


def _giving(answer: Any) -> Callable[..., Any]:
    def method() -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return method


def what_if(more: float | None, low: float, high: float | None, **changed: Any) -> SimpleNamespace:
    question = {"m": 2, "delta": 0.05, "tolerance": 0.0, "misspecification": 0.1}
    return outcome(more, low, high, **question | changed, changed=tuple(changed))


def outcome(more: float | None, low: float, high: float | None, **others: Any) -> SimpleNamespace:
    return SimpleNamespace(more=more, more_low=low, more_high=high, **others)
