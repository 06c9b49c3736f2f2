"""What a study says of its decision."""

import dataclasses
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mislid
from helpers.certificates import CASES, Case
from helpers.tampering import digest
from mislid.study.certificate import Certificate
from mislid.study.events import Decided
from mislid.verification import answer

SMALL = Case("guaranteed", K=8, m=2, eps=0.02, n=1, seed=20)


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_the_result_says(name: str) -> None:
    study = CASES[name].rounds()
    result, found = study.result, study.result.certificate.to_dict()
    decision = found["decision"]
    assert tuple(decision["answer"]) == result.answer
    assert (decision["rule"], decision["proven"]) == (result.stopping, result.proven)
    assert tuple(decision["pair"]) == result.pair
    assert_allclose(decision["statistic"], result.statistic, rtol=1e-9)
    assert_allclose(decision["threshold"], result.threshold, rtol=1e-12)
    assert found["data"]["samples"] == sum(found["data"]["counts"]) == result.samples
    assert found["settings"] == json.loads(json.dumps(study.settings.plain()))
    pairs = {(one["challenger"], one["incumbent"]) for one in found["evidence"]}
    rest = set(study.candidates.labels) - set(result.answer)
    assert pairs == {(i, j) for i in rest for j in result.answer}
    assert len(found["evidence"]) == len(pairs)
    assert all(one["statistic"] >= one["threshold"] for one in found["evidence"])


def test_sums_are_those_of_the_measurements_to_the_last_bit() -> None:
    study = CASES["guaranteed, minimised"].rounds()
    table = study.observations()
    data = study.result.certificate.to_dict()["data"]
    for k, label in enumerate(study.candidates.labels):
        values = table.loc[table.arm == label, "value"].tolist()
        total = 0.0
        for value in values:
            total += value
        assert (data["counts"][k], data["sums"][k]) == (len(values), total)
        assert data["means"][k] == total / len(values)


def test_later_data_change_nothing() -> None:
    study = SMALL.rounds()
    early = study.result.certificate
    before = study.result.certificate.to_json()
    worst = study.candidates.labels[int(np.argmin(early.to_dict()["data"]["means"]))]
    study.add_observations([(worst, 1e3)] * 500)
    assert not study.result.agrees
    assert study.result.certificate.to_json() == before == early.to_json()
    # Also where nobody has looked at it before.
    late = Certificate(
        "case", study.settings, study.candidates, study._now().decision, study._now().observations
    )
    assert late.to_json() == before


def test_the_storage_makes_no_difference(tmp_path) -> None:
    address = f"sqlite:///{tmp_path / 'lab.db'}"
    text = SMALL.rounds(address).result.certificate.to_json()
    assert mislid.load_study(storage=address).result.certificate.to_json() == text
    assert SMALL.rounds().result.certificate.to_json() == text


def test_it_is_saved_and_read_back_exactly(tmp_path) -> None:
    certificate = SMALL.rounds().result.certificate
    certificate.save(tmp_path / "answer.json")
    found = json.loads((tmp_path / "answer.json").read_text())
    assert found == certificate.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]
    certificate.to_dict()["data"]["counts"][0] = -1
    assert certificate.to_dict() == found
    assert repr(certificate) == f"Certificate('case', {found['data']['samples']} measurements)"


def test_hashes_are_of_the_canonical_text() -> None:
    found = SMALL.rounds().result.certificate.to_dict()
    candidates = {key: found["candidates"][key] for key in ("labels", "features")}
    assert found["candidates"]["sha256"] == digest(candidates)
    seal = found.pop("seal")
    assert seal == digest(found)


def test_labels_beyond_ascii_and_large_integers() -> None:
    study = mislid.create_study(candidates=["µ", "naïve", "数"], m=1, noise=0.1)
    study.add_observations([("µ", 0.0), ("naïve", 5.0), ("数", 0.1)] * 5)
    assert mislid.verify(study.result.certificate.to_dict()).answer == ("naïve",)
    study = mislid.create_study(candidates=[2**60, 2**60 + 1], m=1, noise=0.1, seed=2**70)
    study.add_observations([(2**60, 0.0), (2**60 + 1, 5.0)] * 5)
    assert mislid.verify(study.result.certificate.to_dict()).answer == (2**60 + 1,)


def test_no_model_reverses_equal_arms_by_more_than_the_tube() -> None:
    study = mislid.create_study(
        candidates={"a": [1.0], "b": [1.0]}, m=1, misspecification=0.1, tolerance=0.5,
        stopping="mixture",
    )  # fmt: skip
    study.add_observations([("a", 0.0), ("b", 0.1)] * 5)
    found = study.result.certificate.to_dict()
    assert found["decision"]["statistic"] == "inf"
    assert mislid.verify(found).ok
    assert math.isinf(study.result.statistic)
    found["evidence"][0]["statistic"] = 5.0
    assert mislid.verify(found).failure == "evidence[0].statistic must be inf; got 5.0"


def test_what_is_not_decided_yet_cannot_be_certified() -> None:
    study = CASES["forty arms"].rounds()
    state = study._now()
    early = dataclasses.replace(state.decision, samples=400)
    forged = Certificate("case", state.settings, state.candidates, early, state.observations)
    failure = mislid.verify(forged.to_dict()).failure
    assert "must reach its threshold" in failure or "must be the best candidates" in failure


@pytest.mark.parametrize("name", ["guaranteed by both", "pairwise", "heuristic", "paper"])
def test_another_answer_cannot_be_certified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = CASES[name].rounds()
    state = study._now()
    decision: Decided = state.decision
    means = study.result.certificate.to_dict()["data"]["means"]
    worst = int(np.argmin(state.settings.sign * np.array(means)))
    wrong = dataclasses.replace(decision, answer=(*decision.answer[1:], worst))
    forged = Certificate("case", state.settings, state.candidates, wrong, state.observations)
    assert "decision.answer must be the best" in mislid.verify(forged.to_dict()).failure
    monkeypatch.setattr(answer, "_refuse_order", lambda *_: None)
    assert "must reach its threshold" in mislid.verify(forged.to_dict()).failure


def test_a_rule_without_proof_cannot_pass_for_one_with() -> None:
    study = CASES["heuristic"].rounds()
    state = study._now()
    found = study.result.certificate.to_dict()
    assert mislid.verify(found).proven is False
    for rule in ("guaranteed", "mixture", "paper"):
        claimed = dataclasses.replace(state.settings, stopping=rule)
        forged = Certificate(
            "case", claimed, state.candidates, state.decision, state.observations
        ).to_dict()
        assert forged["decision"]["proven"] is True
        assert "must reach its threshold" in mislid.verify(forged).failure
