"""What a study says of its decision."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mislid
from helpers.certificates import CASES, Case
from helpers.tampering import changed, digest, sealed
from mislid.certificate.certificate import Certificate, Log
from mislid.errors import CertificateError, ContradictedWarning
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.facts import Decided
from mislid.study.storage import MemoryStorage
from mislid.verification import answer

SMALL = Case("guaranteed", K=8, m=2, eps=0.02, n=1, seed=20)


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
    if found["version"] == 3:
        assert stated.pop("structured") == study.settings.is_structured
        told = {"noise_model": "known", "reward_range": None, **told}
    else:
        told = {name: told[name] for name in stated}
    told.pop("structured", None)
    assert stated == told
    pairs = {(one["challenger"], one["incumbent"]) for one in found["evidence"]}
    rest = set(study.candidates.labels) - set(result.answer)
    assert pairs == {(i, j) for i in rest for j in result.answer}
    assert len(found["evidence"]) == len(pairs)
    if found["version"] == 3:
        assert all(one["evidence"] >= decision["level"] - 1e-6 for one in found["evidence"])
        return
    assert tuple(decision["pair"]) == result.pair
    assert_allclose(decision["statistic"], result.statistic, rtol=1e-9)
    assert_allclose(decision["threshold"], result.threshold, rtol=1e-12)
    assert all(one["statistic"] >= one["threshold"] for one in found["evidence"])


@pytest.mark.parametrize("name", ["one by one", "drifting", "minimised"])
def test_the_data_of_every_time_are_those_of_the_log(name: str) -> None:
    study = CASES[name].decided()
    found = study.result.certificate.to_dict()
    rows = [row[3:5] for row in study.observation_rows()]
    samples = [one["samples"] for one in found["times"]]
    assert samples == sorted({one["samples"] for one in found["evidence"]} - {study.samples})
    for moment in (*found["times"], found["data"]):
        for k, label in enumerate(study.candidates.labels):
            values = [value for arm, value in rows[: moment["samples"]] if arm == label]
            assert moment["counts"][k] == len(values)
            assert moment["sums"][k] == math.fsum(values)


def test_pairs_are_proved_by_the_last_data_where_these_settle_them() -> None:
    found = CASES["drifting"].decided().result.certificate.to_dict()
    last = found["data"]["samples"]
    early = [one for one in found["evidence"] if one["samples"] < last]
    assert early
    for one in found["evidence"]:
        if one["samples"] == last:
            continue
        for family in ("two arms", "linear"):
            n = found["evidence"].index(one)
            late = changed(found, ("evidence", n), {**one, "family": family, "samples": last})
            stated = mislid.verify(late).failure
            assert float(stated.split("must be ")[1].split(";")[0]) < found["decision"]["level"]


@pytest.mark.parametrize("name", ["drifting", "by all arms"])
def test_times_are_found_without_the_rule_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an earlier release had other incumbents on its way."""
    study = CASES[name].decided()
    known = study.result.certificate.to_dict()
    monkeypatch.setattr(Log, "_replayed", lambda _: {})
    found = study.result.certificate.to_dict()
    outcome = mislid.verify(found)
    assert outcome.ok, outcome.failure
    assert len(found["times"]) == len(known["times"])


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


def test_the_storage_makes_no_difference(tmp_path) -> None:
    address = f"sqlite:///{tmp_path / 'lab.db'}"
    text = SMALL.decided(address).result.certificate.to_json()
    assert mislid.load_study(storage=address).result.certificate.to_json() == text
    assert SMALL.decided().result.certificate.to_json() == text


def test_it_is_saved_and_read_back_exactly(tmp_path) -> None:
    certificate = SMALL.decided().result.certificate
    certificate.save(tmp_path / "answer.json")
    found = json.loads((tmp_path / "answer.json").read_text())
    assert found == certificate.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]
    certificate.to_dict()["data"]["counts"][0] = -1
    assert certificate.to_dict() == found
    assert repr(certificate) == f"Certificate('case', {found['data']['samples']} measurements)"


def test_hashes_are_of_the_canonical_text() -> None:
    found = SMALL.decided().result.certificate.to_dict()
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


@pytest.mark.parametrize("stopping", ["guaranteed", "paper"])
def test_no_model_reverses_equal_arms_by_more_than_the_tube(stopping: str) -> None:
    study = mislid.create_study(
        candidates={"a": [1.0], "b": [1.0]}, m=1, misspecification=0.1, tolerance=0.5,
        stopping=stopping,
        noise=1.0,
    )  # fmt: skip
    study.add_observations([("a", 0.0), ("b", 0.1)] * 100)
    found = study.result.certificate.to_dict()
    assert mislid.verify(found).ok
    name = "evidence" if stopping == "guaranteed" else "statistic"
    entry = found["evidence"][0]
    if stopping == "guaranteed":
        # By their own two arms they could be told apart later, and by the features at once.
        entry |= {"family": "linear", "evidence": "inf"}
        found["decision"]["evidence"] = "inf"
        assert mislid.verify(sealed(found)).ok
    assert entry[name] == "inf"
    entry[name] = 5.0
    assert mislid.verify(found).failure == f"evidence[0].{name} must be inf; got 5.0"


def test_what_is_not_decided_yet_cannot_be_certified() -> None:
    for name, sentence in (("heuristic", None), ("one by one", "does not find 'arm .' proven")):
        state = CASES[name].decided()._now()
        early = dataclasses.replace(state.decision, samples=state.decision.samples // 2)
        forged = Certificate("case", state.settings, state.candidates, early, state.observations)
        if sentence is None:
            failure = mislid.verify(forged.to_dict()).failure
            assert "must reach its threshold" in failure or "must be the best" in failure
        else:
            with pytest.raises(CertificateError, match=sentence):
                forged.to_dict()


@pytest.mark.parametrize("name", ["heuristic", "paper"])
def test_another_answer_cannot_be_certified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = with_worst_arm(CASES[name].decided())
    assert "decision.answer must be the best" in mislid.verify(forged.to_dict()).failure
    monkeypatch.setattr(answer, "_refuse_order", lambda *_: None)
    assert "must reach its threshold" in mislid.verify(forged.to_dict()).failure


@pytest.mark.parametrize("name", ["by both", "by two arms", "features none", "one by one"])
def test_another_answer_cannot_be_settled(name: str) -> None:
    with pytest.raises(CertificateError, match=r"there is no certificate: .* proven better than"):
        with_worst_arm(CASES[name].decided()).to_dict()


def with_worst_arm(study: Study) -> Certificate:
    """The worst arm in the place of the best."""
    state = study._now()
    decision: Decided = state.decision
    worst = worst_arm(study.result.certificate.to_dict())
    wrong = dataclasses.replace(decision, answer=(*decision.answer[1:], worst))
    return Certificate("case", state.settings, state.candidates, wrong, state.observations)


def test_a_rule_without_proof_cannot_pass_for_one_with() -> None:
    study = CASES["heuristic"].decided()
    state = study._now()
    found = study.result.certificate.to_dict()
    assert mislid.verify(found).proven is False
    claimed = [
        dataclasses.replace(state.settings, stopping=rule) for rule in ("paper", "guaranteed")
    ]
    by_paper, by_settling = (
        Certificate("case", one, state.candidates, state.decision, state.observations)
        for one in claimed
    )
    assert by_paper.to_dict()["decision"]["proven"] is True
    assert "must reach its threshold" in mislid.verify(by_paper.to_dict()).failure
    with pytest.raises(CertificateError, match="there is no certificate"):
        by_settling.to_dict()


LOGS: dict[str, list[list[Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "logs_before_settling.json").read_text()
)


def stored(entries: list[list[Any]]) -> Study:
    """A study with this log."""
    storage = MemoryStorage()
    storage.create("old", [Entry(*entry) for entry in entries])
    return mislid.load_study(study_name="old", storage=storage)


@pytest.mark.parametrize("name", LOGS)
def test_decisions_of_earlier_releases_stay_and_are_certified(name: str) -> None:
    """Their rules, among them ones that are no more, needed more measurements than this one."""
    study = stored(LOGS[name])
    recorded = json.loads(LOGS[name][-1][3])
    result = study.result
    assert (study.status, result.proven, result.stopping) == ("decided", True, "guaranteed")
    assert result.samples == recorded["samples"]
    assert result.answer == tuple(study.candidates.labels[arm] for arm in recorded["answer"])
    outcome = mislid.verify(result.certificate.to_dict())
    assert outcome.ok, outcome.failure
    assert outcome.answer == result.answer
    assert study.ask().arm in study.candidates.labels


def test_a_decision_that_this_release_cannot_prove_says_so() -> None:
    """As of a rule that was sure earlier: half of its measurements are taken away."""
    entries = [list(entry) for entry in LOGS["guaranteed, features none"]]
    *_, measured, decided = entries
    told, recorded = json.loads(measured[3]), json.loads(decided[3])
    kept = 10
    measured[3] = json.dumps({name: told[name][:kept] for name in ("arms", "values")})
    decided[3] = json.dumps({**recorded, "samples": kept})
    study = stored([entries[0], [2, *measured[1:]], [3, *decided[1:]]])
    assert (study.status, study.result.samples) == ("contradicted", kept)
    assert not study.result.proven
    assert "does not follow from them" in study.result.contradictions[0]
    with pytest.raises(CertificateError, match=r"after the 10 measurements .* earlier release"):
        study.result.certificate.to_json()


@pytest.mark.parametrize("told", [{"noise": 0.5}, {"rewards": "bernoulli"}, {"noise": "unknown"}])
def test_nothing_is_looked_at_between_values_that_were_told_together(told: dict[str, Any]) -> None:
    """Their order may be anyone's: half way through, a is far better; at the end both are level."""
    study = mislid.create_study(candidates=["a", "b"], m=1, **told)
    first = [("a", 1.0), ("b", 0.0)] * 90 + [("a", 0.0), ("b", 1.0)] * 10
    rows = [*first, *((arm, 1.0 - value) for arm, value in first)]
    study.add_observations(rows)
    assert study.status == "running"
    state = study._replay.state
    with pytest.raises(CertificateError, match="does not find 'a' proven better than 'b'"):
        Log(state.settings, state.candidates, state.observations).settle((0,))
    apart = mislid.create_study(candidates=["a", "b"], m=1, **told)
    for part in (rows[:200], rows[200:]):
        apart.add_observations(part)
    state = apart._replay.state
    settled = Log(state.settings, state.candidates, state.observations).settle((0,))
    assert [one.samples for one in settled] == [200]
