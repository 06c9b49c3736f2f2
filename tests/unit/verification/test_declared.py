"""Evidence against declarations: the checker computes the same as the rules."""

import warnings

import numpy as np
from numpy.testing import assert_allclose

import mislid
from helpers.certificates import CASES
from helpers.tampering import changed, sealed
from mislid.geometry.projection import project
from mislid.stopping.assumptions import Dispersion
from mislid.verification import checks
from mislid.verification.geometry import Duality, model_of
from mislid.verification.intervals import exactly


def test_evidence_against_noise_is_that_of_the_rules() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        counts = rng.integers(0, 300, rng.integers(2, 12)).astype(float)
        counts[0] += 1.0
        squares = counts * rng.uniform(0.2, 3.0, counts.size) * rng.choice([1.0, 10.0, 1000.0])
        squares[counts < 2.0] = 0.0
        expected = Dispersion(counts, squares).log_evidence()
        found = checks.against_noise(counts, exactly(squares))
        assert_allclose([found.low, found.high], expected, rtol=1e-10, atol=1e-10)


def test_distances_are_those_of_projections() -> None:
    rng = np.random.default_rng(1)
    tried = 0
    for _ in range(80):
        K = int(rng.integers(3, 30))
        d = int(rng.integers(1, min(K, 7)))
        model = mislid.Model(rng.normal(size=(K, d)), float(rng.choice([0.0, 0.1, 0.5, 2.0])))
        means = model.features @ rng.normal(size=d) + rng.normal(size=K) * rng.choice([0.1, 1, 3.0])
        q = rng.choice([0.0, 1.0, 1.0, 100.0], size=K) * rng.exponential(size=K)
        if np.count_nonzero(q) < d:
            continue
        tried += 1
        own = model_of(
            model.features, np.arange(d), np.asarray(mislid.spanner(model)), model.misspecification
        )
        expected = project(model, means, q).cost
        found = checks.distance(Duality(own, exactly(q), exactly(means)))
        assert_allclose([found.low, found.high], expected, rtol=1e-7, atol=1e-7)
    assert tried > 60


def contradicted() -> dict:
    study = CASES["by both"].decided()
    label = study.candidates.labels[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_observations([(label, 5.0), (label, -5.0)] * 5)
    assert study.status == "contradicted"
    return study.result.certificate.to_dict()


def test_a_refuted_declaration_proves_nothing() -> None:
    found = contradicted()
    assert found["decision"]["proven"] is False
    outcome = mislid.verify(found)
    assert (outcome.ok, outcome.proven) == (True, False)


def test_no_file_can_claim_a_proof_that_the_data_refute() -> None:
    found = contradicted()
    claimed = changed(found, ("decision", "proven"), True)
    assert "false: the data refute" in mislid.verify(sealed(claimed)).failure
    forgotten = changed(claimed, ("log", "contradictions"), [])
    assert "false: the data refute" in mislid.verify(sealed(forgotten)).failure
    calm = changed(forgotten, ("now", "squares"), [0.0] * len(found["now"]["squares"]))
    assert "the mean has moved" in mislid.verify(sealed(calm)).failure
    halved = [0.5 * one for one in found["now"]["squares"]]
    calmer = changed(forgotten, ("now", "squares"), halved)
    assert "evidence must be" in mislid.verify(sealed(calmer)).failure
    left_out = changed(forgotten, ("tests",), found["tests"][1:])
    assert "tests must have 2 entries" in mislid.verify(sealed(left_out)).failure
    twice = changed(forgotten, ("tests",), [found["tests"][1]] * 2)
    assert "another declaration" in mislid.verify(sealed(twice)).failure
    lenient = changed(forgotten, ("tests", 0, "level"), 1e-300)
    assert "level must be" in mislid.verify(sealed(lenient)).failure
    lost = changed(forgotten, ("now", "counts"), [1] * len(found["now"]["counts"]))
    assert not mislid.verify(sealed(lost)).ok
