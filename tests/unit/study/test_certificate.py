"""What a study says of its decision."""

import json
import math
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.certificates import CASES, Case
from helpers.rows import rows_of
from helpers.tampering import sealed
from mislid.certificate.certificate import Certificate, Log
from mislid.errors import CertificateError, ContradictedWarning
from mislid.study import Study
from mislid.study.events import Decided

SMALL = Case(K=8, m=2, eps=0.02, n=1, seed=20)


def worst_arm(found: dict[str, Any]) -> int:
    """The arm that is worst by its empirical mean."""
    sign = 1.0 if found["settings"]["direction"] == "maximize" else -1.0
    return int(np.argmin(sign * np.array(found["data"]["sums"]) / found["data"]["counts"]))


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_the_result_says(name: str) -> None:
    study = CASES[name].decided()
    result, found = study.result, study.result.certificate.to_dict()
    decision = found["decision"]
    assert tuple(decision["answer"]) == result.answer
    assert (decision["rule"], decision["proven"]) == (result.stopping, result.proven)
    assert found["data"]["samples"] == sum(found["data"]["counts"]) == result.samples
    stated = {**found["settings"]}
    told = json.loads(json.dumps(study.settings.plain()))
    assert stated.pop("structured") == study.settings.is_structured
    told = {"noise_model": "known", "reward_range": None, **told}
    told.pop("structured", None)
    assert stated == told
    pairs = {(one["challenger"], one["incumbent"]) for one in found["evidence"]}
    rest = set(study.candidates.labels) - set(result.answer)
    assert pairs == {(i, j) for i in rest for j in result.answer}
    assert len(found["evidence"]) == len(pairs)
    assert all(one["evidence"] >= decision["level"] - 1e-6 for one in found["evidence"])


@pytest.mark.parametrize("name", ["one by one", "drifting", "minimised"])
def test_the_data_of_every_time_are_those_of_the_log(name: str) -> None:
    study = CASES[name].decided()
    found = study.result.certificate.to_dict()
    rows = [row[3:5] for row in rows_of(study)]
    samples = [one["samples"] for one in found["times"]]
    assert samples == sorted({one["samples"] for one in found["evidence"]} - {study.samples})
    for moment in (*found["times"], found["data"]):
        for k, label in enumerate(study.candidates.labels):
            values = [value for arm, value in rows[: moment["samples"]] if arm == label]
            assert moment["counts"][k] == len(values)
            assert moment["sums"][k] == math.fsum(values)


def test_later_data_change_nothing() -> None:
    study = SMALL.decided()
    early = study.result.certificate
    before = study.result.certificate.to_json()
    worst = study.candidates.labels[worst_arm(early.to_dict())]
    with pytest.warns(ContradictedWarning):
        study.add_observations([(worst, 1e3)] * 500)
    assert not study.result.agrees
    assert early.to_json() == before
    # What the proof rests on, also where nobody has looked at it before.
    late = study.result.certificate.to_dict()
    was = early.to_dict()
    for name in ("settings", "data", "times", "evidence"):
        assert late[name] == was[name]
    assert (was["decision"].pop("proven"), late["decision"].pop("proven")) == (True, False)
    assert late["decision"] == was["decision"]


def test_labels_beyond_ascii_and_large_integers() -> None:
    study = mislid.create_study(candidates=["µ", "naïve", "数"], m=1, noise=0.1)
    study.add_observations([("µ", 0.0), ("naïve", 5.0), ("数", 0.1)] * 5)
    assert mislid.verify(study.result.certificate.to_dict()).answer == ("naïve",)
    study = mislid.create_study(candidates=[2**60, 2**60 + 1], m=1, noise=0.1, seed=2**70)
    study.add_observations([(2**60, 0.0), (2**60 + 1, 5.0)] * 5)
    assert mislid.verify(study.result.certificate.to_dict()).answer == (2**60 + 1,)


def test_no_model_reverses_equal_arms_by_more_than_the_tube() -> None:
    study = mislid.create_study(
        candidates={"a": [1.0], "b": [1.0]}, m=1, misspecification=0.1, tolerance=0.5, noise=1.0
    )
    study.add_observations([("a", 0.0), ("b", 0.1)] * 100)
    found = study.result.certificate.to_dict()
    assert mislid.verify(found).ok
    # By their own two arms they could be told apart later, and by the features at once.
    found["evidence"][0] |= {"family": "linear", "evidence": "inf"}
    found["decision"]["evidence"] = "inf"
    assert mislid.verify(sealed(found)).ok
    found["evidence"][0]["evidence"] = 5.0
    assert mislid.verify(found).failure == "evidence[0].evidence must be inf; got 5.0"


def test_what_is_not_decided_yet_cannot_be_certified() -> None:
    state = CASES["one by one"].decided()._now()
    early = state.decision._replace(samples=state.decision.samples // 2)
    forged = Certificate("case", state.settings, state.candidates, early, state.observations)
    with pytest.raises(CertificateError, match=r"do not prove 'arm .' better than"):
        forged.to_dict()


@pytest.mark.parametrize("name", ["by both", "by two arms", "features none", "one by one"])
def test_another_answer_cannot_be_settled(name: str) -> None:
    with pytest.raises(CertificateError, match=r"do not prove .* better than"):
        with_worst_arm(CASES[name].decided()).to_dict()


def with_worst_arm(study: Study) -> Certificate:
    """The worst arm in the place of the best."""
    state = study._now()
    decision: Decided = state.decision
    worst = worst_arm(study.result.certificate.to_dict())
    wrong = decision._replace(answer=(*decision.answer[1:], worst))
    return Certificate("case", state.settings, state.candidates, wrong, state.observations)


def test_only_the_rule_that_proves_has_certificates() -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=0.1, stopping="heuristic")
    study.add_observations([("a", 0.2), ("b", 0.9)] * 5)
    result = study.result
    assert (result.answer, result.proven) == (("b",), False)
    with pytest.raises(CertificateError, match="only decisions by the stopping rule 'guaranteed'"):
        result.certificate.to_dict()


@pytest.mark.parametrize("told", [{"noise": 0.5}, {"noise": "bernoulli"}, {"noise": "unknown"}])
def test_nothing_is_looked_at_between_values_that_were_told_together(told: dict[str, Any]) -> None:
    """Their order may be anyone's: half way through, a is far better; at the end both are level."""
    study = mislid.create_study(candidates=["a", "b"], m=1, **told)
    first = [("a", 1.0), ("b", 0.0)] * 90 + [("a", 0.0), ("b", 1.0)] * 10
    rows = [*first, *((arm, 1.0 - value) for arm, value in first)]
    study.add_observations(rows)
    assert study.status == "running"
    state = study._session.state
    with pytest.raises(CertificateError, match="do not prove 'a' better than 'b'"):
        Log(state.settings, state.candidates, state.observations).settle((0,))
    apart = mislid.create_study(candidates=["a", "b"], m=1, **told)
    for part in (rows[:200], rows[200:]):
        apart.add_observations(part)
    state = apart._session.state
    settled = Log(state.settings, state.candidates, state.observations).settle((0,))
    assert [one.samples for one in settled] == [200]
