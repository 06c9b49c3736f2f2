"""Evidence is that of brute force, and not more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from helpers.honest import KINDS, drawn, times_of
from mislid.verification.families import Proofs, family_of
from mislid.verification.geometry import model_of
from mislid.verification.question import By, read_question
from mislid.verification.reading import Value
from mislid.verification.record import entries_of, read_record
from oracles.certificates import LOSSES, Data, Study

CASES = [(kind, features) for kind in KINDS for features in (False, True)]


def proofs_of(plain: dict[str, Any], time: int) -> Proofs:
    """The checker's view of a study at a time."""
    parts = Value(plain, "certificate").parts(*plain)
    question = read_question(parts["question"], parts["changes"], entries_of(parts["data"]))
    record = read_record(parts["data"], question)
    features = np.ones((question.R, 1)) if question.features is None else question.features
    model = model_of(features, question.K, question.eps)
    families = {by: family_of(by, question) for by in By}
    (moment,) = record.moments([time])
    return Proofs(question, families, model, moment)


def compare(rng: np.random.Generator, kind: str, features: bool, cases: int) -> int:
    """Compare all families in random pairs; how often they prove something."""
    proved = 0
    rounds = [2, 8, 150 if kind == "bernoulli" else 40]
    for case in range(cases):
        plain = drawn(
            rng, kind, features=features, changes=case % 2 == 0, together=case % 3 == 0,
            rounds=int(rng.choice(rounds)), spread=float(rng.choice([0.2, 1.0, 4.0])),
        )  # fmt: skip
        study, time = Study(plain), int(rng.choice(times_of(plain)))
        moment = Data(study, plain["data"], time)
        i, j = rng.choice(study.R, 2, replace=False).tolist()
        i, j = (i, j) if moment.means[i] < moment.means[j] else (j, i)
        families = [By.TWO_ARMS, By.LINEAR, By.DIAGONAL] if study.linear else [By.TWO_ARMS]
        with np.errstate(all="ignore"):
            proofs = proofs_of(plain, time)
            for by in families:
                found = float(proofs.of(by, [(i, j)]).low[0])
                if by != By.TWO_ARMS and not np.all(moment.counts > 0):
                    continue  # the features may not be spanned: then nothing is proved
                truth = moment.evidence(str(by), i, j)
                if math.isinf(truth):
                    assert found == truth
                    continue
                assert found <= truth + 1e-8 * (1.0 + abs(truth)), (case, by, found, truth)
                loss = LOSSES[kind] * (1.0 + 0.3 * abs(truth))
                if truth > 3.0 or kind not in ("unknown", "unknown-equal"):
                    assert found >= truth - loss, (case, by, found, truth)
                proved += found > 3.0
    return proved


@pytest.mark.parametrize(("kind", "features"), CASES)
def test_evidence_is_that_of_brute_force(kind: str, features: bool) -> None:
    rng = np.random.default_rng([7, KINDS.index(kind), features])
    assert compare(rng, kind, features, 6) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "features"), CASES)
def test_evidence_of_hundreds_of_problems(kind: str, features: bool) -> None:
    rng = np.random.default_rng([8, KINDS.index(kind), features])
    assert compare(rng, kind, features, 60) > 3


@pytest.mark.parametrize("kind", ["known", "unknown-equal", "range"])
def test_the_basis_of_the_features_does_not_matter(kind: str) -> None:
    """Nor does a column that depends on others, nor one that nearly does."""
    rng = np.random.default_rng(3)
    plain = drawn(rng, kind, features=True, rounds=30, K=5)
    N = len(plain["data"]["arm"])
    X = np.array(plain["question"]["features"])
    others = [
        X @ np.array([[3.0, 1.0], [2.0, 1.0]]),
        np.column_stack([X, X @ [1.0, 2.0]]),
        X @ np.array([[1.0, 1.0], [1e-9, 2e-9]]) * [1e30, 1e-30],
    ]
    with np.errstate(all="ignore"):
        for by in (By.LINEAR, By.DIAGONAL):
            expected = float(proofs_of(plain, N).of(by, [(0, 1)]).low[0])
            for n, other in enumerate(others):
                question = {**plain["question"], "features": other.tolist()}
                found = float(proofs_of({**plain, "question": question}, N).of(by, [(0, 1)]).low[0])
                assert found == pytest.approx(expected, rel=1e-4 if n == 2 else 1e-8), (by, n)


def test_the_level_of_the_means_does_not_matter() -> None:
    """Values that are exact at either level have the same evidence, to the digits of bounds."""
    rng = np.random.default_rng(4)
    arm = np.arange(400) % 4
    value = np.rint(1024.0 * (arm + rng.normal(size=400))) / 1024.0
    features = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    for noise in ({"kind": "known", "sd": [1.0]}, {"kind": "unknown"}, {"kind": "unknown-equal"}):
        found = []
        for level in (0.0, 2.0**38):
            plain = drawn(rng, "known", K=4, rounds=1)
            plain["question"] |= {"noise": noise, "tolerance": 0.0, "direction": "maximize"}
            if noise["kind"] != "unknown":
                plain["question"] |= {"features": features, "misspecification": 0.1}
            plain["data"] |= {"arm": arm.tolist(), "value": (value + level).tolist()}
            families = list(By) if noise["kind"] != "unknown" else [By.TWO_ARMS]
            with np.errstate(all="ignore"):
                proofs = proofs_of(plain, 400)
                found.append([float(proofs.of(by, [(0, 3)]).low[0]) for by in families])
        assert min(found[0]) > 20.0
        assert found[1] == pytest.approx(found[0], rel=1e-9)
