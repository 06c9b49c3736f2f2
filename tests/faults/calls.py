"""The calls that clients make, by names and with arguments that JSON has."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mislid
from faults.record import NAME
from mislid.study import Study

# Candidate k has the mean k / 2, so that studies decide soon.
FEATURES = {f"c{k}": [k / 2.0, 1.0 - (k % 3) / 5.0] for k in range(6)}
NOISE = 0.3
# How candidates that come later are called, and what their mean is.
NEW, MEAN = "new", 0.4


def new_study(storage: Any) -> Study:
    """The study that all clients work on."""
    return mislid.create_study(
        study_name=NAME,
        candidates=FEATURES,
        intercept=False,
        m=1,
        misspecification=0.3,
        noise=NOISE,
        storage=storage,
    )


def value_of(operation: str, label: str) -> float:
    """What is measured by an operation: a value that no other one has."""
    digest = hashlib.sha256(f"{operation} {label}".encode()).digest()
    centred = sum(int.from_bytes(digest[8 * k : 8 * k + 8]) / 2.0**64 for k in range(4)) - 2.0
    mean = int(label[1:]) / 2.0 if label in FEATURES else MEAN
    return mean + NOISE * centred


def perform(study: Study, call: str, given: dict[str, Any], key: str | None) -> Any:
    """Make a call; what it returns, as JSON has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values are made up
        return CALLS[call](study, given, key)


def _ask(study: Study, given: dict[str, Any], key: str | None) -> list[list[Any]]:
    return [[trial.id, trial.arm] for trial in study.ask(**given, key=key)]


def _look(study: Study, _given: dict[str, Any], _key: str | None) -> dict[str, Any]:
    seen = study.overview()
    return {"events": seen.events, "head": seen.fingerprint, "samples": seen.samples}


def _certify(study: Study, given: dict[str, Any], _key: str | None) -> None:
    """Keep the certificate, if there is one."""
    result = study.result
    if result is not None:
        result.certificate.save(Path(given["file"]))


CALLS: dict[str, Callable[[Study, dict[str, Any], str | None], Any]] = {
    "ask": _ask,
    "tell": lambda study, given, key: study.tell(**given, key=key),
    "fail": lambda study, given, key: study.tell(**given, state="fail", key=key),
    "observe": lambda study, given, key: study.add_observations(
        list(map(tuple, given["rows"])), key=key
    ),
    "correct": lambda study, given, key: study.correct(**given, reason="wrong column", key=key),
    "void": lambda study, given, key: study.void(**given, reason="plate dropped", key=key),
    "add": lambda study, given, key: study.add_candidates(
        {given["label"]: given["features"]}, key=key
    ),
    "retire": lambda study, given, key: study.retire(given["label"], leave=given["leave"], key=key),
    "look": _look,
    "certify": _certify,
}
