"""The checker of certificates: what it accepts, and that it accepts nothing else."""

import ast
import json
import math
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mislid
from helpers.certificates import CASES, random_case
from helpers.tampering import (
    INFORMATION,
    WITNESSES,
    changed,
    digest,
    is_one_of,
    leaves,
    others,
    sealed,
)
from mislid.geometry.coordinates import coordinates
from mislid.rules import thresholds as library
from mislid.verification import checks, thresholds
from mislid.verification.geometry import Duality, Model, Witness

HERE = Path(checks.__file__).parent
CHECKS = (
    "schema", "candidates", "settings", "data", "model", "projection", "answer",
    "evidence of every pair", "closest alternative", "seal",
)  # fmt: skip
# Where features say nothing of any pair, the answer is right for other tubes as well.
UNSTRUCTURED = {"guaranteed by two arms", "mixture, wide tube", "pairwise"}


@cache
def text_of(name: str) -> str:
    return CASES[name].rounds().result.certificate.to_json()


def certificate_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text_of(name))
    return found


@pytest.mark.parametrize("name", CASES)
def test_certificates_hold(name: str, tmp_path: Path) -> None:
    found = certificate_of(name)
    (tmp_path / "answer.json").write_text(text_of(name))
    for given in (found, tmp_path / "answer.json", str(tmp_path / "answer.json")):
        outcome = mislid.verify(given)
        assert (outcome.ok, outcome.failure, outcome.checks) == (True, None, CHECKS)
        assert outcome
        assert outcome.answer == tuple(found["decision"]["answer"])
        assert (outcome.rule, outcome.proven) == (
            found["decision"]["rule"],
            found["decision"]["rule"] not in ("heuristic", "paper-printed"),
        )
    assert json.loads(json.dumps(outcome.to_dict()))["checks"] == list(CHECKS)


@pytest.mark.parametrize("name", CASES)
def test_any_change_is_caught(name: str) -> None:
    found = certificate_of(name)
    for path, value in leaves(found, most=5):
        for other in others(value, found["candidates"]["labels"]):
            outcome = mislid.verify(changed(found, path, other))
            assert not outcome.ok, (path, value, other)
            assert outcome.failure


@pytest.mark.parametrize("name", CASES)
def test_a_change_that_matters_is_caught_without_the_seal(name: str) -> None:
    found = certificate_of(name)
    harmless = f"{INFORMATION}|{WITNESSES}|seal"
    if name in UNSTRUCTURED:
        harmless += r"|settings\.misspecification"
    tried = 0
    for path, value in leaves(found):
        if is_one_of(path, harmless) or (path[-1] == "cost" and 0.0 < value < 1e-25):
            continue
        for other in others(value, found["candidates"]["labels"]):
            tried += 1
            outcome = mislid.verify(sealed(changed(found, path, other)))
            assert not outcome.ok, (path, value, other)
            assert "seal" not in outcome.failure
    assert tried > 100


def test_exchanged_labels_are_caught_without_the_seal() -> None:
    found = certificate_of("guaranteed by both")
    evidence, labels = found["evidence"], found["candidates"]["labels"]
    answer = found["decision"]["answer"]
    for forged in (
        changed(found, ("decision", "answer"), answer[::-1]),
        changed(found, ("decision", "pair"), found["decision"]["pair"][::-1]),
        changed(found, ("evidence",), evidence[1:]),
        changed(found, ("evidence",), [*evidence, evidence[0]]),
        changed(found, ("candidates", "labels"), [labels[1], labels[0], *labels[2:]]),
    ):
        assert not mislid.verify(sealed(forged)).ok
    # A forger may hash the candidates again, but then their means are others'.
    plain = {**found["candidates"], "labels": [labels[1], labels[0], *labels[2:]]}
    plain["sha256"] = digest({key: plain[key] for key in ("labels", "features")})
    outcome = mislid.verify(sealed(changed(found, ("candidates",), plain)))
    assert not outcome.ok
    assert "candidates" in outcome.checks


@pytest.mark.parametrize("name", ["mixture, linear", "heuristic", "forty arms"])
def test_other_features_are_caught_even_with_their_hash(name: str) -> None:
    found = certificate_of(name)
    for k in range(0, len(found["candidates"]["labels"]), 3):
        forged = changed(found, ("candidates", "features", k, 1), 1.0 + 1e-6 + k)
        plain = forged["candidates"]
        plain["sha256"] = digest({key: plain[key] for key in ("labels", "features")})
        assert not mislid.verify(sealed(forged)).ok


@pytest.mark.parametrize("name", ["guaranteed by both", "guaranteed, features none", "heuristic"])
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
    found = certificate_of("guaranteed by both")
    part: Any = found
    for key in place:
        part = part[key]
    for key in list(part):
        left = {name: value for name, value in part.items() if name != key}
        outcome = mislid.verify(changed(found, place, left) if place else left)
        assert not outcome.ok
        assert key in outcome.failure
    more = {**part, "note": "trust me"}
    failure = mislid.verify(changed(found, place, more) if place else more).failure
    assert failure.endswith("note is unknown")


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a": NaN}', "NaN is not a number of JSON"),
        (b'{"a": -Infinity}', "-Infinity is not a number of JSON"),
        (b'{"a": 1, "a": 2}', "a key twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "not JSON"),
        (b"[]", "certificate must be an object"),
        (b"{}", "schema must be one of mislid-certificate; got None"),
        (b'{"schema": "mislid-certificate", "version": 2}', "version must be 1"),
        (b'{"schema": "mislid-certificate", "version": 1}', "study is missing"),
    ],
)
def test_files_that_are_no_certificates(content: bytes, failure: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(content)
    outcome = mislid.verify(tmp_path / "file.json")
    assert not outcome.ok
    assert failure in outcome.failure
    assert (outcome.answer, outcome.checks, outcome.proven) == ((), (), None)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path, "a\0b"):
        outcome = mislid.verify(path)
        assert not outcome.ok
        assert "file" in outcome.failure
    with pytest.raises(TypeError, match="int"):
        mislid.verify(3)


def test_the_checker_imports_numpy_and_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "mislid.verification"}
    for file in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                home = name if not name.startswith("mislid.") else ".".join(name.split(".")[:2])
                assert home in allowed or home.partition(".")[0] in allowed, (file, name)


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9])
def test_thresholds_are_those_of_the_rules(delta: float) -> None:
    for t, K, d, m in ((2, 2, 1, 1), (100, 10, 5, 3), (10**6, 103, 8, 4)):
        assert_allclose(
            thresholds.heuristic(t, delta), library.heuristic_threshold(t, delta), rtol=1e-13
        )
        counts = np.array([t, 3.0])
        assert_allclose(
            thresholds.pairwise(counts, K, m, delta),
            library.pairwise_threshold(t, 3, K, m, delta),
            rtol=1e-12,
        )
        X, weights = np.eye(K)[:, :d], np.full(K, t / K)
        for eps in (0.0, 0.01, math.inf):
            model = Model(X, eps)
            assert_allclose(
                thresholds.paper_printed(t, model, weights, delta),
                library.paper_threshold(t, K, d, delta, eps, information=t, printed=True),
                rtol=1e-12,
            )


def test_certificates_of_random_studies() -> None:
    _hold(np.random.default_rng(20), 60)


@pytest.mark.slow
def test_certificates_of_hundreds_of_studies() -> None:
    _hold(np.random.default_rng(21), 600)


def _hold(rng: np.random.Generator, studies: int) -> None:
    """Random studies of all rules, those that decide; at least half of them do."""
    decided = 0
    for _ in range(studies):
        case = random_case(rng)
        study = case.rounds(most=30, undecided=True)
        if study.status == "decided":
            decided += 1
            outcome = mislid.verify(study.result.certificate.to_dict())
            assert outcome.ok, (case, outcome.failure)
    assert decided > 0.5 * studies


def test_no_witness_proves_more_than_the_truth() -> None:
    rng = np.random.default_rng(22)
    informative = 0
    for _ in range(60):
        K, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
        model = mislid.Model(rng.normal(size=(K, d)), float(rng.choice([0.0, 0.1, 1.0])))
        at = coordinates(model)
        means, weights = rng.normal(size=K), rng.uniform(1.0, 50.0, size=K)
        weights[rng.random(K) < 0.1] = 0.0
        if np.linalg.matrix_rank(np.sqrt(weights)[:, None] * model.features) < d:
            continue
        duality = Duality(Model(at.matrix, model.misspecification), weights)
        tol = float(rng.choice([0.0, 0.3]))
        truth = mislid.pair_alternative(model, means, weights, 0, 1, tolerance=tol)
        values = model.features[at.basis] @ truth.theta
        for spread in (1e-3, 0.1, 10.0):
            witness = Witness(
                values + spread * rng.normal(size=d),
                float(truth.alpha * math.exp(spread * rng.normal())),
            )
            proved = duality.pair_bound(means, witness, (0, 1), tol)
            assert proved <= truth.cost * (1.0 + 1e-8) + 1e-9
            informative += proved > 0.5 * truth.cost > 0.0
    assert informative > 20
