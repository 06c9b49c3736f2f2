"""What the checker says that displacements prove, against the rule."""

from fractions import Fraction

import numpy as np
from numpy.testing import assert_allclose

import mislid
from mislid.geometry.coordinates import coordinates
from mislid.stopping import evidence as rule
from mislid.verification import families
from mislid.verification.families import LINEAR, TWO_ARMS, Moment
from mislid.verification.geometry import model_of
from mislid.verification.intervals import exactly


def test_evidence_is_that_of_the_rule() -> None:
    rng = np.random.default_rng(32)
    assert families.SPREAD == rule.SPREAD
    for _ in range(40):
        eps, tol = float(rng.choice([0.0, 0.05, 0.3])), float(rng.choice([0.0, 0.2]))
        K, d = int(rng.integers(4, 9)), int(rng.integers(2, 4))
        X = coordinates(mislid.Model(rng.normal(size=(K, d)), eps)).matrix
        weights = rng.integers(1, 60, size=K) / 0.5**2
        weights[d + 1 :] *= rng.random(K - d - 1) > 0.2
        means = X @ rng.normal(size=d) + rng.uniform(-eps, eps, size=K)
        means = np.where(weights > 0.0, means, 0.0)
        known = families.families_of(K, 2, True, exactly(np.full(K, 0.5)))
        theirs = rule.families_of(K, 2, True, 0.05, np.full(K, 0.5))
        gap, (wi, wj) = means[1] - means[0] + tol, weights[:2]
        alone = rule.by_two_arms(theirs.two_arms, *(np.array([x]) for x in (gap, wi, wj)))
        given = (exactly(np.array([x])) for x in (gap, wi, wj))
        found = families.by_two_arms(known[TWO_ARMS], *given)
        assert_allclose(found.low, alone, rtol=1e-11)
        pairs = np.array([[0, 1]])
        along = rule.by_features(theirs.linear, X, weights, means, eps, tol, pairs)
        own = model_of(X, np.arange(d), np.asarray(mislid.spanner(X)), eps)
        exact = [Fraction(one) for one in means.tolist()]
        found = Moment(own, exact, exactly(weights)).by_features(known[LINEAR], [(0, 1)], tol)
        assert_allclose(found.low, along, rtol=1e-8, atol=1e-9)
