"""What measurements can be expected to prove, against the evidence itself on made-up data."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from helpers.questions import QUESTION
from mislid.forecast.planning import Expected, best_design
from mislid.geometry.coordinates import coordinates
from mislid.stopping.evidence import by_features, by_two_arms, families_of
from mislid.study.candidates import as_candidates
from mislid.study.settings import as_settings

ASKED = {**QUESTION, "m": 2, "delta": 0.1, "misspecification": 0.05, "noise": 0.5}


def expected_of(X: Any, **changes: Any) -> Expected:
    candidates = as_candidates(X)
    return Expected(as_settings(candidates, **{**ASKED, **changes}), candidates)


def least_evidence(X: np.ndarray, n: int, gap: float, eps: float, tolerance: float) -> float:
    """Of all pairs that differ by the gap, one by one, by the rule's own formulas."""
    K, model = len(X), as_candidates(X).model(math.inf)
    at, families = (
        coordinates(model).matrix,
        families_of(K, 2, True, 0.1, np.full(K, 0.5)),
    )
    weights = n * best_design(at) / 0.25
    found = []
    for i, j in combinations(range(K), 2):
        theta = np.linalg.pinv(at[j : j + 1] - at[i : i + 1])[:, 0] * gap
        pair = np.array([[i, j]])
        means = at @ theta
        found += [*by_features(families.linear, at, weights, means, eps, tolerance, pair)]
    even = np.array([n / (K * 0.25)])
    own = by_two_arms(families.two_arms, np.array([gap + tolerance]), even, even)
    return max(min(found), float(own[0]))


@pytest.mark.parametrize("tolerance", [0.0, 0.2])
@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(2))
def test_numbers_are_the_first_with_enough_evidence(
    seed: int, eps: float, tolerance: float
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(6, 14)), int(rng.integers(1, 4))))
    expected, level = expected_of(X, tolerance=tolerance), -math.log(0.1)
    n = expected.samples(0.4, eps)
    assert least_evidence(X, n, 0.4, eps, tolerance) >= level - 1e-6
    assert least_evidence(X, n - 1, 0.4, eps, tolerance) < level + 1e-6
    gap = expected.gap(300, eps)
    assert least_evidence(X, 300, gap, eps, tolerance) >= level - 1e-6
    if gap > 0.0:  # the tolerance alone may be enough
        assert least_evidence(X, 300, 0.999 * gap, eps, tolerance) < level + 1e-6
