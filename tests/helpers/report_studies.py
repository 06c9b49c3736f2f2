"""Small studies for reports, and what they might foresee."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mislid
from mislid.engine import Verdict
from mislid.engine.view import View
from mislid.forecast import Overview
from mislid.study import Study

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [0.5, 0.2], "e": [0.3, 0.9]}
MEANS = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.2, "e": 0.6}


class Turns:
    """A sampling rule in Python: all in their turn."""

    def propose(self, view: View) -> int:
        return view.samples % len(view.counts)


class Patient:
    """A stopping rule in Python, which has no evidence to show."""

    def judge(self, view: View) -> Verdict:
        return Verdict(view.samples >= 20)


OBJECTS = {
    "sampling": {"algorithm": Turns()},
    "stopping": {"stopping": Patient()},
    "both": {"algorithm": Turns(), "stopping": Patient()},
}


def new_study(**changes: Any) -> Study:
    settings: dict[str, Any] = {"study_name": "assay", "candidates": FEATURES, "m": 1}
    if isinstance(changes.get("candidates", FEATURES), dict):
        settings["misspecification"] = 0.1
    return mislid.create_study(**{**settings, "noise": 0.1, "intercept": False, **changes})


def measuring(means: dict[Any, float], noise: float = 0.1, sign: float = 1.0) -> Callable[..., Any]:
    rng = np.random.default_rng(7)
    return lambda trial: sign * means[trial.arm] + noise * float(rng.standard_normal())


def decided_study(sign: float = 1.0, **changes: Any) -> Study:
    study = new_study(**changes)
    study.optimize(measuring(MEANS, sign=sign), n_trials=5_000)
    assert study.status == "decided"
    return study


def ruled_by_objects(rules: str, n_trials: int, folder: Path, **changes: Any) -> Study:
    """A study in `lab.db` with some of `OBJECTS` for rules, after so many trials."""
    study = new_study(noise=1.0, storage=folder / "lab.db", **OBJECTS[rules], **changes)
    study.optimize(measuring(MEANS, 1.0), n_trials=n_trials)
    return study


def changed(overview: Overview, **parts: Any) -> Overview:
    """The same moment, with some of what it shows replaced."""
    other = copy.copy(overview)
    vars(other).update(parts)
    return other
