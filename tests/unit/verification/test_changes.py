"""Certificates of studies whose candidates came and went."""

import copy
import warnings
from typing import Any

import pytest

import mislid
from helpers.tampering import changed, sealed

VALUES = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.25, "e": 0.1}


def certificate(leaves: bool = True) -> dict[str, Any]:
    """One arm came, and one left."""
    known = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "e": [0.1, -0.1]}
    study = mislid.create_study(candidates=known, m=1, noise=0.2, misspecification=0.05)
    study.add_observations([(arm, VALUES[arm]) for arm in known])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_candidates({"d": [0.5, 0.2]})
        if leaves:
            study.retire("e", leave=True)
    study.optimize(lambda trial: VALUES[trial.arm])
    return study.result.certificate.to_dict()


@pytest.mark.parametrize("leaves", [True, False])
def test_they_hold(leaves: bool) -> None:
    found = certificate(leaves)
    outcome = mislid.verify(found)
    assert (outcome.ok, outcome.failure) == (True, None)
    assert found["model"]["late"] == [4 - leaves]


def test_what_changes_cost_must_have_been_paid() -> None:
    found = certificate()
    price = found["log"]["promised"] / found["settings"]["delta"]
    assert price == pytest.approx(2 * 3**2 * 4 * 5)

    def refusal(forged: dict[str, Any]) -> str:
        return mislid.verify(sealed(forged)).failure or ""

    cheap = changed(found, ("log", "promised"), 0.9 * found["log"]["promised"])
    assert "for log.changes" in refusal(cheap)
    forgotten = copy.deepcopy(found)
    del forgotten["log"]["changes"], forgotten["log"]["promised"]
    assert "model.late must be those" in refusal(forgotten)
    unnamed = changed(found, ("log", "changes", 0, "kind"), "retired")
    assert "model.late must be those" in refusal(unnamed)
    left = {"event": 99, "kind": "left", "labels": ["z"], "reason": None}
    more = changed(found, ("log", "changes"), [*found["log"]["changes"], left])
    assert "for log.changes" in refusal(more)
    early = copy.deepcopy(found)
    del early["model"]["late"]
    assert "model.late must be those" in refusal(early)
