"""The calls that clients make, by names and with arguments that JSON has."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mislid
from mislid.study import Study
from mislid.study.results import Trial

NAME = "s"
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


def perform(study: Study, call: str, arguments: dict[str, Any], key: str | None) -> Any:
    """Make a call; what it returns, as JSON has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values are made up
        return CALLS[call](study, key=key, **arguments)


def _ask(study: Study, key: str | None, n: int, worker: str | None, lease: float) -> Any:
    return [_plain(trial) for trial in study.ask(n, worker=worker, lease=lease, key=key)]


def _plain(trial: Trial) -> list[Any]:
    return [trial.id, trial.arm]


def _tell(study: Study, key: str | None, trial: int, value: float) -> None:
    study.tell(trial, value, key=key)


def _fail(study: Study, key: str | None, trial: int) -> None:
    study.tell(trial, state="fail", key=key)


def _observe(study: Study, key: str | None, rows: list[list[Any]]) -> None:
    study.add_observations([tuple(row) for row in rows], key=key)


def _correct(study: Study, key: str | None, trial: int, value: float) -> None:
    study.correct(trial, value, key=key, reason="read from the wrong column")


def _void(study: Study, key: str | None, trial: int) -> None:
    study.void(trial, key=key, reason="the plate was dropped")


def _add(study: Study, key: str | None, label: str, features: list[float]) -> None:
    study.add_candidates({label: features}, key=key, informed=False)


def _retire(study: Study, key: str | None, label: str, leave: bool) -> None:
    study.retire(label, leave=leave, informed=False, key=key)


def _look(study: Study, key: str | None) -> Any:
    del key
    seen = study.overview()
    return {"events": seen.events, "head": seen.fingerprint, "samples": seen.samples}


def _certify(study: Study, key: str | None, file: str) -> Any:
    """Keep the certificate, if there is one."""
    del key
    result = study.result
    if result is None:
        return None
    result.certificate.save(Path(file))
    return {"proven": result.proven}


CALLS: dict[str, Callable[..., Any]] = {
    "ask": _ask,
    "tell": _tell,
    "fail": _fail,
    "observe": _observe,
    "correct": _correct,
    "void": _void,
    "add": _add,
    "retire": _retire,
    "look": _look,
    "certify": _certify,
}
