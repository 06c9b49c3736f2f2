"""What data prove of pairs, for every misspecification at once."""

import math

import numpy as np
import pytest

from helpers.measured import Data, random_data
from mislid import pair_alternative
from mislid.engine import Engine
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import by_features, by_two_arms, diagonal_weights, families_of
from mislid.stopping.pairs import AnswerEvidence, Standing

LEVEL = -math.log(0.05)


def evidence_of(data: Data, answer: tuple[int, ...] | None = None) -> AnswerEvidence:
    families = families_of(data.model.K, data.m, True, data.delta, data.noise)
    standing = Standing(data.model, families, data.tol, data.weights, data.means)
    if answer is None:
        answer = tuple(np.argsort(-data.means)[: data.m].tolist())
    return AnswerEvidence(standing, answer)


def samples(count: int = 12) -> list[Data]:
    found = []
    for seed in range(count):
        rng = np.random.default_rng([41, seed])
        found.append(random_data(rng, eps=0.1, size=float(rng.choice([20.0, 200.0]))))
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("eps", [0.0, 0.08, 0.6, math.inf])
def test_evidence_is_that_of_the_best_family(seed: int, eps: float) -> None:
    data = samples()[seed]
    found = evidence_of(data)
    families, w = found.data.families, data.weights
    X, expected = coordinates(data.model).matrix, []
    for i, j in found.pairs.tolist():
        gap = np.array([data.means[j] - data.means[i] + data.tol])
        alone = by_two_arms(families.two_arms, gap, w[[i]], w[[j]])[0]
        pair = np.array([[i, j]])
        along = by_features(families.linear, X, w, data.means, eps, data.tol, pair)[0]
        logs = []
        for s in families.diagonal.scales:
            q, price = diagonal_weights(w, float(s))
            model = data.model.with_misspecification(eps)
            nearest = pair_alternative(model, data.means, q, i, j, tolerance=data.tol)
            logs.append(nearest.cost - price)
        together = np.logaddexp.reduce(families.diagonal.logs + logs)
        expected.append(max(alone, along, together))
    np.testing.assert_allclose(found.at(eps), expected, rtol=1e-8, atol=1e-8)
    assert found.weakest(eps) == pytest.approx(min(expected), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_where_a_proof_ends(seed: int) -> None:
    found = evidence_of(samples()[seed])
    reach = found.reach(LEVEL)
    if reach is None:
        assert found.weakest(0.0) < LEVEL
    elif math.isinf(reach):
        assert found.weakest(math.inf) >= LEVEL
    else:
        assert found.weakest(reach) >= LEVEL
        assert found.weakest(1.002 * reach + 1e-8) < LEVEL


@pytest.mark.parametrize("seed", range(12))
def test_what_the_rule_decides_is_proved(seed: int) -> None:
    """The compiled rule takes one scale of the diagonal family, so that it may decide later."""
    data = samples()[seed]
    engine = Engine(data.question, "uniform", "guaranteed")
    engine.reset(data.counts, data.counts * data.means)
    if engine.judge().decided:
        assert evidence_of(data, engine.incumbents).weakest(0.1) >= LEVEL - 1e-9


def test_what_is_known_from_earlier_times() -> None:
    data = samples()[0]._replace(means=np.zeros(samples()[0].model.K))
    open_ = evidence_of(data, tuple(range(data.m)))
    assert open_.reach(LEVEL) is None
    n = len(open_.pairs)
    enough, nothing = np.full(n, LEVEL), np.full(n, -math.inf)
    known = AnswerEvidence(open_.data, open_.answer, enough, 0.1, nothing)
    assert known.reach(LEVEL) == 0.1
    assert known.reach(LEVEL + 0.1) is None
    always = AnswerEvidence(open_.data, open_.answer, nothing, 0.1, enough)
    assert always.reach(LEVEL) == math.inf
    mixed = AnswerEvidence(
        open_.data,
        open_.answer,
        np.where(np.arange(n) == 0, LEVEL, -math.inf),
        0.1,
        np.where(np.arange(n) == 0, -math.inf, LEVEL),
    )
    assert mixed.reach(LEVEL) == 0.1
