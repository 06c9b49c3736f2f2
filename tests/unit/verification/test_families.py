"""What the checker says that displacements prove, against the rule and likelihood ratios."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import mislid
from mislid.geometry.coordinates import coordinates
from mislid.stopping import evidence as rule
from mislid.verification import families
from mislid.verification.families import DIAGONAL, LINEAR, TWO_ARMS, Family, Moment
from mislid.verification.geometry import Witness, model_of
from mislid.verification.intervals import exactly

PAIR = (0, 1)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


class Tube(NamedTuple):
    """Coordinates in a spanner (K, d), and the misspecification."""

    X: np.ndarray
    eps: float


def moment_of(tube: Tube, means: np.ndarray, weights: np.ndarray) -> Moment:
    """The same for the checker."""
    basis = mislid.spanner(tube.X)
    model = model_of(tube.X, np.arange(tube.X.shape[1]), np.asarray(basis), tube.eps)
    return Moment(model, [Fraction(one) for one in means.tolist()], exactly(weights))


def families_of(K: int, m: int, structured: bool, noise: float) -> dict[str, Family]:
    return families.families_of(K, m, structured, exactly(np.full(K, noise)))


class Drawn(NamedTuple):
    """A model in its coordinates, with data, and the tolerance of a pair."""

    model: Tube
    means: np.ndarray
    weights: np.ndarray
    tol: float

    def null(self, rng: np.random.Generator, spread: float) -> np.ndarray:
        """Means of the tube in which the challenger is better by the tolerance or more."""
        X, eps, (i, j) = self.model.X, self.model.eps, PAIR
        fit = np.linalg.lstsq(X, self.means, rcond=None)[0]
        while True:
            values = fit + spread * rng.normal(size=X.shape[1])
            found = X @ values + rng.choice([-eps, 0.0, eps], size=len(X))
            # Nearer to a tie, where the evidence is least.
            if found[i] >= found[j] + self.tol:
                return found
            spread *= 1.1


def drawn(rng: np.random.Generator, eps: float, unmeasured: float = 0.2) -> Drawn:
    K, d = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    while True:
        counts = rng.integers(1, 60, size=K).astype(float)
        counts[rng.random(K) < unmeasured] = 0.0
        at = coordinates(mislid.Model(rng.normal(size=(K, d)), eps))
        X = at.matrix
        if np.linalg.matrix_rank(np.sqrt(counts)[:, None] * X) == d:
            break
    means = np.where(counts > 0.0, X @ rng.normal(size=d) + rng.uniform(-eps, eps, size=K), 0.0)
    return Drawn(Tube(X, eps), means, counts / 0.5**2, float(rng.choice([0.0, 0.2])))


def of_two_arms(family: Family, at: Drawn, null: np.ndarray) -> float:
    """ln of the average likelihood ratio against these means."""
    (i, j), logs, scales = PAIR, family.logs.middle.copy(), family.scales.middle
    for arm, sign in ((j, 1.0), (i, -1.0)):
        w, r = at.weights[arm], sign * (at.means[arm] - null[arm])
        t2 = (families.SPREAD * scales) ** 2
        total = (w * r + scales / t2) ** 2 / (w + 1.0 / t2) - scales**2 / t2
        logs += 0.5 * total - 0.5 * np.log1p(w * t2)
    return float(logsumexp(logs))


def of_features(family: Family, at: Drawn, null: np.ndarray) -> float:
    X, W = at.model.X, np.diag(at.weights)
    V, h = X.T @ W @ X, X.T @ W @ (at.means - null)
    eye = np.eye(len(V))
    logs = [
        0.5 * h @ np.linalg.solve(V + eye / s**2, h) - 0.5 * np.linalg.slogdet(eye + s**2 * V)[1]
        for s in family.scales.middle
    ]
    return float(logsumexp(np.array(logs) + family.logs.middle))


def of_all_arms(family: Family, at: Drawn, null: np.ndarray) -> float:
    logs = []
    for s in family.scales.middle:
        expected = at.weights * s**2
        square = at.weights * expected / (1.0 + expected) * (at.means - null) ** 2
        logs.append(0.5 * float(np.sum(square)) - 0.5 * float(np.sum(np.log1p(expected))))
    return float(logsumexp(np.array(logs) + family.logs.middle))


def proved(at: Drawn, known: dict[str, Family], name: str) -> float:
    moment, (i, j) = moment_of(at.model, at.means, at.weights), PAIR
    if name == TWO_ARMS:
        gap, weights = at.means[j] - at.means[i] + at.tol, at.weights
        given = (exactly(np.array([one])) for one in (gap, weights[i], weights[j]))
        found = float(families.by_two_arms(known[name], *given).low[0])
        return found if weights[i] > 0.0 < weights[j] else -math.inf
    if name == LINEAR:
        return float(moment.by_features(known[name], [PAIR], at.tol).low[0])
    return max(best_by_all_arms(at, known[name], scale) for scale in range(6))


def best_by_all_arms(at: Drawn, family: Family, scale: int) -> float:
    """With the witness of the closest alternative."""
    q, _ = rule.diagonal_weights(at.weights, float(family.scales.middle[scale]))
    model = mislid.Model(at.model.X, at.model.eps)
    truth = mislid.pair_alternative(model, at.means, q, *PAIR, tolerance=at.tol)
    witness = Witness(truth.theta, truth.alpha)
    moment = moment_of(at.model, at.means, at.weights)
    return float(moment.by_all_arms(family, scale, witness, PAIR, at.tol).low)


RATIOS = {TWO_ARMS: of_two_arms, LINEAR: of_features, DIAGONAL: of_all_arms}


@pytest.mark.parametrize("name", RATIOS)
def test_no_means_of_the_null_have_less_evidence_against_them(name: str) -> None:
    rng = np.random.default_rng(30)
    near = math.inf
    for _ in range(40):
        at = drawn(rng, float(rng.choice([0.05, 0.3])))
        known = families_of(len(at.means), 1, math.isfinite(at.model.eps), 0.5)
        least = proved(at, known, name)
        for spread in (0.01, 0.1, 1.0):
            for _ in range(20):
                ratio = RATIOS[name](known[name], at, at.null(rng, spread))
                assert ratio >= least - 1e-9
                near = min(near, ratio - least)
    assert near < 1.0  # so that the statement is not an empty one


@pytest.mark.parametrize("eps", [0.0, 0.2, math.inf])
def test_displacements_are_those_of_the_rule(eps: float) -> None:
    noise = np.array([0.1, 0.2, 0.5, 1.0, 1.0])
    for m, delta in ((1, 0.05), (3, 1e-6)):
        known = families.families_of(5, m, math.isfinite(eps), exactly(noise))
        theirs = rule.families_of(5, m, math.isfinite(eps), delta, noise)
        named = {TWO_ARMS: theirs.two_arms, LINEAR: theirs.linear, DIAGONAL: theirs.diagonal}
        assert set(known) == ({TWO_ARMS} if math.isinf(eps) else set(named))
        for name, family in known.items():
            assert_allclose(family.scales.middle, named[name].scales, rtol=1e-14)
            assert_allclose(family.logs.middle, named[name].logs, rtol=1e-14)
        totals = {name: float(np.exp(family.logs.middle).sum()) for name, family in known.items()}
        totals[TWO_ARMS] *= m * (5 - m)
        assert_allclose(sum(totals.values()), 1.0, rtol=1e-14)
    assert families.SPREAD == rule.SPREAD


def test_evidence_is_that_of_the_rule() -> None:
    rng = np.random.default_rng(32)
    for _ in range(40):
        at = drawn(rng, float(rng.choice([0.0, 0.05, 0.3])))
        K = len(at.means)
        known = families_of(K, 2, math.isfinite(at.model.eps), 0.5)
        theirs = rule.families_of(K, 2, math.isfinite(at.model.eps), 0.05, np.full(K, 0.5))
        i, j = PAIR
        gap, (wi, wj) = at.means[j] - at.means[i] + at.tol, at.weights[[i, j]]
        alone = rule.by_two_arms(theirs.two_arms, *(np.array([x]) for x in (gap, wi, wj)))
        assert_allclose(proved(at, known, TWO_ARMS), alone[0], rtol=1e-11)
        along = rule.by_features(
            theirs.linear, at.model.X, at.weights, at.means, at.model.eps, at.tol, np.array([PAIR])
        )
        assert_allclose(proved(at, known, LINEAR), along[0], rtol=1e-8, atol=1e-9)
