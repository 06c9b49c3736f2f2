"""Studies whose candidates share a noise that nobody knows: features prove as if it were known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mislid
from helpers.tampering import sealed
from mislid.certificate.certificate import Log
from mislid.certificate.proof import Claim, Moment
from mislid.errors import ContradictedWarning, ProblemError
from mislid.study import Study

PLACES = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.3, "e": 0.6, "f": 0.8, "g": 0.9, "h": 1.0}
TABLE = {arm: [1.0, x] for arm, x in PLACES.items()}


def measured(rounds: int, bend: float = 0.0, sigma: float = 0.2, **changes: Any) -> Study:
    """Every candidate so often; means are linear in the place but for a bend."""
    given: dict[str, Any] = {"candidates": TABLE, "m": 1, "noise": "unknown-equal"}
    study = mislid.create_study(**{**given, "misspecification": 0.05, **changes})
    rng = np.random.default_rng(4)
    for _ in range(rounds):
        values = {arm: x + bend * x * (1 - x) + sigma * rng.normal() for arm, x in PLACES.items()}
        study.add_observations(list(values.items()))
    return study


def test_features_prove() -> None:
    study = measured(rounds=80, misspecification=0.01)
    assert (study.status, study.result.answer) == ("decided", ("h",))
    certificate = study.result.certificate.to_dict()
    assert "linear" in {one["family"] for one in certificate["evidence"]}
    assert mislid.verify(certificate).proven
    unknown = measured(rounds=study.samples // 8, misspecification=0.01, noise="unknown")
    assert unknown.status == "running"


def test_a_misspecification_that_is_too_small_is_found_out() -> None:
    with pytest.warns(ContradictedWarning, match="contradict the declared misspecification"):
        study = measured(rounds=60, bend=2.0)
    assert study.status == "contradicted"
    assert {one.kind for one in study.warnings()} == {"misspecification"}
    assert study.sensitivity().smallest > 0.05
    study.redeclare(misspecification=1.0)
    assert study.status in ("running", "decided")
    assert measured(rounds=60, bend=0.1).warnings() == ()


def test_values_that_do_not_scatter_prove_nothing() -> None:
    study = measured(rounds=30, sigma=0.0)
    assert study.status == "running"
    assert study.result_now().p_value == 1.0
    assert [warning.kind for warning in study.warnings()] == ["constant"]


def test_all_arms_prove_as_the_checker_derives_it() -> None:
    """They are seldom the first to do so: here a certificate is changed to rest on them."""
    study, rng = measured(rounds=0, misspecification=0.02), np.random.default_rng(5)
    study.add_observations(
        [(arm, x + 0.2 * rng.normal()) for _ in range(400) for arm, x in PLACES.items()]
    )
    certificate = study.result.certificate.to_dict()
    log = Log(study.settings, study.candidates, study._session.state.observations)
    counts, sums, scatter = log.after(certificate["data"]["samples"])
    moment = Moment(Claim(study.settings, study.candidates), counts, sums, scatter)
    index, by_all = study.candidates.positions, 0
    for entry in certificate["evidence"]:
        pair = index[entry["challenger"]], index[entry["incumbent"]]
        for one in moment.settle_by_all_arms(np.array([pair])).values():
            assert one.values is not None
            entry |= {"family": "diagonal", "evidence": one.evidence, "scale": one.scale}
            entry |= {"values": one.values.tolist(), "alpha": one.alpha}
            by_all += 1
    least = min(certificate["evidence"], key=lambda entry: entry["evidence"])
    certificate["decision"]["evidence"] = least["evidence"]
    certificate["decision"]["pair"] = [least["challenger"], least["incumbent"]]
    assert by_all > 3
    assert mislid.verify(sealed(certificate)).failure is None
    least["evidence"] += 1e-3
    certificate["decision"]["evidence"] = least["evidence"]
    assert "evidence must be" in str(mislid.verify(sealed(certificate)).failure)


def test_candidates_may_come_but_no_features_that_nobody_had() -> None:
    study = mislid.create_study(
        candidates={"a": [1.0, 0.0], "b": [1.0, 0.3], "c": [1.0, 0.6]},
        m=1,
        misspecification=0.01,
        intercept=False,
        noise="unknown-equal",
    )
    rng, means = np.random.default_rng(6), {"a": 0.0, "b": 0.3, "c": 0.6, "d": 4.0}
    study.add_observations([(arm, means[arm] + rng.normal()) for _ in range(9) for arm in "abc"])
    study.add_candidates({"d": [1.0, 4.0]})
    study.optimize(lambda trial: means[str(trial.arm)] + rng.normal())
    assert study.result.answer == ("d",)
    certificate = study.result.certificate.to_dict()
    assert mislid.verify(certificate).failure is None
    certificate["model"]["spanner"] = [0, 3]
    assert mislid.verify(sealed(certificate)).failure is not None
    flat = measured(rounds=3, candidates={arm: [1.0, 0.0] for arm in PLACES}, intercept=False)
    with pytest.raises(ProblemError, match="combinations of the others"):
        flat.add_candidates({"z": [1.0, 2.0]})
