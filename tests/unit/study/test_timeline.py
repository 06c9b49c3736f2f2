"""Intervals, and the evidence of pairs over time against the study's own decision."""

import numpy as np
import pytest

from helpers.report_studies import decided_study
from mislid.forecast.history import (
    BY_ALL_ARMS,
    BY_FEATURES,
    BY_TWO_ARMS,
    Rule,
)
from mislid.forecast.overview import Overview
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.stopping.evidence import by_features, by_two_arms, families_of


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_all_pairs_reach_the_threshold_when_the_study_decides(sign: float) -> None:
    study = decided_study(sign, m=2, direction="maximize" if sign > 0 else "minimize")
    overview = study.overview()
    decision = overview.decision
    assert decision is not None
    pairs = all_pairs(overview.K, np.sort(np.array(decision.answer)))
    evidence = Rule(overview).evidence([decision.samples - 1, decision.samples], pairs)
    before, after = evidence.shares.min(axis=1)
    assert before < 1.0 <= after


def test_statistics_and_thresholds_of_all_proofs(running_overview: Overview) -> None:
    overview = running_overview
    seen = overview.history
    assert seen is not None
    assert seen.closest.proofs == (BY_TWO_ARMS, BY_FEATURES, BY_ALL_ARMS)
    weights, means, settings = overview.counts, overview.means, overview.settings
    X = coordinates(overview.candidates.model(0.1)).matrix
    known = families_of(5, 2, True, settings.delta, np.ones(5))
    V = X.T @ (weights[:, None] * X)
    theta = np.linalg.solve(V, X.T @ (weights * means))
    for p, (i, j) in enumerate(seen.closest.pairs.tolist()):
        statistics, thresholds = (
            seen.closest.statistics[:, -1, p],
            seen.closest.thresholds[:, -1, p],
        )
        alone = max(means[j] - means[i], 0) ** 2 / (2 / weights[i] + 2 / weights[j])
        g = X[j] - X[i]
        tilt = weights * (X @ np.linalg.solve(V, g)) + np.eye(5)[i] - np.eye(5)[j]
        beyond = max(g @ theta - 0.1 * np.sum(np.abs(tilt)), 0.0)
        along = beyond**2 / (2 * g @ np.linalg.solve(V, g))
        np.testing.assert_allclose(statistics[:2], [alone, along], rtol=1e-6, atol=1e-9)
        evidence = known.level + statistics - thresholds
        gap = means[j] - means[i]
        by_two = by_two_arms(
            known.two_arms, *(np.array([x]) for x in (gap, weights[i], weights[j]))
        )
        linear = by_features(known.linear, X, weights, means, 0.1, 0.0, np.array([[i, j]]))
        np.testing.assert_allclose(evidence[:2], [by_two[0], linear[0]], rtol=1e-9, atol=1e-9)
