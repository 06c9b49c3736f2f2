"""The checker of certificates: what it accepts, and that it accepts nothing else."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.certificates import CASES, certificate_of, random_case, text_of
from helpers.tampering import (
    changed,
    digest,
    harmless,
    is_one_of,
    leaves,
    others,
    sealed,
    unused_sums,
)

CHECKS = (
    "schema", "candidates", "settings", "data", "model", "times", "answer",
    "evidence of every pair", "what was declared", "seal",
)  # fmt: skip
# One of each kind, for tests that change everything in turn.
SLOW_KINDS = (
    "by all arms", "features none", "an arm not measured", "unknown noise", "bounded",
    "equal noise", "rates",
)  # fmt: skip
KINDS = [
    "drifting", "by the features",
    *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_KINDS),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_certificates_hold(name: str, tmp_path: Path) -> None:
    found = certificate_of(name)
    (tmp_path / "answer.json").write_text(text_of(name))
    for given in (found, tmp_path / "answer.json", str(tmp_path / "answer.json")):
        outcome = mislid.verify(given)
        assert (outcome.ok, outcome.failure, outcome.checks) == (True, None, CHECKS)
        assert outcome
        assert outcome.answer == tuple(found["decision"]["answer"])
        assert (outcome.rule, outcome.proven) == ("guaranteed", True)
    assert json.loads(json.dumps(outcome.to_dict()))["checks"] == list(CHECKS)


@pytest.mark.parametrize("name", KINDS)
def test_any_change_is_caught(name: str) -> None:
    found = certificate_of(name)
    for path, value in leaves(found, most=5):
        for other in others(value, found["candidates"]["labels"]):
            outcome = mislid.verify(changed(found, path, other))
            assert not outcome.ok, (path, value, other)
            assert outcome.failure


@pytest.mark.parametrize("name", KINDS)
def test_a_change_that_matters_is_caught_without_the_seal(name: str) -> None:
    found = certificate_of(name)
    patterns = harmless(found)
    unused = set(unused_sums(found))
    tried = 0
    for path, value in leaves(found):
        if is_one_of(path, patterns) or path in unused:
            continue
        for other in others(value, found["candidates"]["labels"]):
            tried += 1
            outcome = mislid.verify(sealed(changed(found, path, other)))
            assert not outcome.ok, (path, value, other)
            assert "seal" not in outcome.failure
    assert tried > 60


def refusal(forged: dict[str, Any]) -> str:
    """Why a certificate that is sealed again is refused."""
    outcome = mislid.verify(sealed(forged))
    assert not outcome.ok
    assert outcome.failure is not None
    return outcome.failure


def test_forged_times_are_refused() -> None:
    found = certificate_of("drifting")
    times, data = found["times"], found["data"]

    def refusal_of(*other: dict[str, Any]) -> str:
        return refusal(changed(found, ("times",), list(other)))

    assert "must be that of the decision or of one of the times" in refusal_of(*times[1:])
    for disordered in ([times[1], times[0], *times[2:]], [times[0], *times], [*times, data]):
        assert "fewer than those of the next time" in refusal_of(*disordered)
    zeros = [0] * (len(data["counts"]) - 1)
    idle = {"samples": 1, "counts": [1, *zeros], "sums": [data["sums"][0], *map(float, zeros)]}
    assert "none was settled at 1" in refusal_of({**idle, "scatter": None}, *times)
    # More of an arm than there was later, at the expense of another.
    first, second, *rest = times[0]["counts"]
    assert first == times[1]["counts"][0]
    more = {**times[0], "counts": [first + 1, second - 1, *rest]}
    assert "must be at most that of the next time" in refusal_of(more, *times[1:])


def test_a_sum_that_changes_while_its_count_does_not_is_refused() -> None:
    refused = 0
    found = certificate_of("drifting")
    for n, (before, after) in enumerate(pairwise([*found["times"], found["data"]])):
        for k, count in enumerate(before["counts"]):
            if count == after["counts"][k]:
                forged = changed(found, ("times", n, "sums", k), before["sums"][k] + 0.5)
                assert "must be that of the next time" in refusal(forged)
                refused += 1
    assert refused


def test_evidence_of_another_time_or_family_is_refused() -> None:
    found = certificate_of("drifting")
    moments = [found["data"]["samples"], *(one["samples"] for one in found["times"])]
    tried = 0
    for n, one in enumerate(found["evidence"]):
        for samples in moments:
            for family in ("two arms", "linear"):
                if (family, samples) != (one["family"], one["samples"]):
                    entry = {**one, "family": family, "samples": samples}
                    forged = changed(found, ("evidence", n), entry)
                    assert refusal(forged).startswith(f"evidence[{n}]")
                    tried += 1
    assert tried == 5 * len(found["evidence"])


def test_too_little_evidence_is_refused_even_if_it_is_stated_right() -> None:
    found = certificate_of("drifting")
    for n, one in enumerate(found["evidence"]):
        if one["samples"] == found["data"]["samples"]:
            continue
        late = {**one, "samples": found["data"]["samples"], "evidence": 5.0}
        short = refusal(changed(found, ("evidence", n), late))
        derived = float(short.split("must be ")[1].split(";")[0])
        late["evidence"] = derived
        assert "must reach the level" in refusal(changed(found, ("evidence", n), late))


def test_the_pair_that_the_decision_names_has_the_least_evidence() -> None:
    found = certificate_of("drifting")
    easier = max(found["evidence"], key=lambda one: one["evidence"])
    forged = changed(found, ("decision", "pair"), [easier["challenger"], easier["incumbent"]])
    forged["decision"]["evidence"] = easier["evidence"]
    assert refusal(forged).startswith("decision.pair must be the pair with the least evidence")


def test_a_smaller_error_rate_cannot_be_claimed() -> None:
    found = certificate_of("drifting")
    forged = changed(found, ("settings", "delta"), 1e-30)
    assert refusal(forged).startswith("decision.level must be")
    forged["decision"]["level"] = -math.log(forged["settings"]["delta"])
    assert "must reach the level" in refusal(forged)


@pytest.mark.parametrize("name", ["by both", "one by one"])
def test_exchanged_labels_are_caught_without_the_seal(name: str) -> None:
    found = certificate_of(name)
    evidence, labels = found["evidence"], found["candidates"]["labels"]
    for forged in (
        changed(found, ("decision", "pair"), found["decision"]["pair"][::-1]),
        changed(found, ("evidence",), evidence[1:]),
        changed(found, ("evidence",), [*evidence, evidence[0]]),
        changed(found, ("candidates", "labels"), [labels[1], labels[0], *labels[2:]]),
    ):
        assert not mislid.verify(sealed(forged)).ok
    # Proved is who is in the answer; the order within it is the estimates'.
    reverse = changed(found, ("decision", "answer"), found["decision"]["answer"][::-1])
    assert mislid.verify(sealed(reverse)).ok
    # A forger may hash the candidates again, but then their means are others'.
    plain = {**found["candidates"], "labels": [labels[1], labels[0], *labels[2:]]}
    plain["sha256"] = digest({key: plain[key] for key in ("labels", "features")})
    outcome = mislid.verify(sealed(changed(found, ("candidates",), plain)))
    assert not outcome.ok
    assert "candidates" in outcome.checks


@pytest.mark.parametrize("name", ["by the features", "noise per arm"])
def test_other_features_are_caught_even_with_their_hash(name: str) -> None:
    found = certificate_of(name)
    for k in range(0, len(found["candidates"]["labels"]), 3):
        forged = changed(found, ("candidates", "features", k, 1), 1.0 + 1e-6 + k)
        plain = forged["candidates"]
        plain["sha256"] = digest({key: plain[key] for key in ("labels", "features")})
        assert not mislid.verify(sealed(forged)).ok


@pytest.mark.parametrize("name", ["one by one", "features none"])
def test_nothing_that_can_be_in_a_file_raises(name: str) -> None:
    found = certificate_of(name)
    odd = (None, True, "x", "inf", [], {}, [[1.0]], 0, -1, 1e308, 5e-324, 10**400, math.nan)
    for path, value in leaves(found, most=2):
        for other in odd:
            if other is not value and (type(other), other) != (type(value), value):
                assert not mislid.verify(changed(found, path, other)).ok, (path, other)
    containers = {path[:n] for path, _ in leaves(found, most=2) for n in range(1, len(path))}
    for path in containers:
        for other in odd:
            assert not mislid.verify(changed(found, path, other)).ok, (path, other)


@pytest.mark.parametrize("place", [(), ("candidates",), ("settings",), ("data",), ("evidence", 0)])
def test_keys_are_those_that_belong_there(place: tuple[Any, ...]) -> None:
    found = certificate_of("by both")
    part: Any = found
    for key in place:
        part = part[key]
    for key in list(part):
        left = {name: value for name, value in part.items() if name != key}
        failure = mislid.verify(changed(found, place, left) if place else left).failure
        assert key in failure
    more = {**part, "note": "trust me"}
    failure = mislid.verify(changed(found, place, more) if place else more).failure
    assert failure.endswith("note is unknown")


@pytest.mark.parametrize("studies", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_certificates_of_random_studies(studies: int) -> None:
    """Random studies, those that decide; at least half of them do."""
    rng = np.random.default_rng(studies)
    decided = 0
    for _ in range(studies):
        case = random_case(rng)
        study = case.rounds(most=30) if case.n else case.one_by_one(most=300)
        if study.status == "decided":
            decided += 1
            outcome = mislid.verify(study.result.certificate.to_dict())
            assert outcome.ok, (case, outcome.failure)
    assert decided > 0.5 * studies
