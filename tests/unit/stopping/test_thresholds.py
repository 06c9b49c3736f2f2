"""Thresholds against plain formulas, reference values, and the bounds that stand behind them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import lambertw

from mislid.stopping import published as thresholds
from oracles.paper_thresholds import (
    heuristic_threshold,
    paper_linear_threshold,
    paper_unstructured_threshold,
)
from oracles.thresholds import deviation_constant

wbar = thresholds.wbar
heuristic = thresholds.heuristic
unstructured = thresholds.unstructured
linear, printed_linear = thresholds.linear, thresholds.printed_linear

CONFIDENCES = [0.5, 0.05, 1e-3, 1e-10, 1e-100]


@pytest.mark.parametrize("delta", CONFIDENCES)
@pytest.mark.parametrize(("t", "K", "d"), [(2, 2, 1), (100, 7, 3), (3e5, 103, 8), (1e9, 1000, 20)])
def test_thresholds_are_the_printed_formulas(delta: float, t: float, K: int, d: int) -> None:
    assert_allclose(heuristic_threshold(t, delta), np.log((1 + np.log(t + 1)) / delta))
    x = np.log(2 * np.e / delta) / (2 * K) + np.log(8 * np.e * K * np.log(t)) / 2
    assert_allclose(
        paper_unstructured_threshold(t, K, delta),
        -2 * K * lambertw(-np.exp(-x), -1).real,
        rtol=1e-12,
    )

    def b0(c: float) -> float:
        inverse = np.log(1 / c)
        return float(1 + inverse + (1 + 1 / inverse) * d / 2 * np.log(1 + t * inverse / (2 * d)))

    for eps in (0.0, 0.1, 3.0):
        printed = 0.5 * (4 * np.sqrt(t) * eps + np.sqrt(2) * np.sqrt(b0(delta))) ** 2
        assert_allclose(paper_linear_threshold(t, d, delta, eps, printed=True), printed)
        assert_allclose(paper_linear_threshold(t, d, delta, eps), b0(delta / 2) + 2 * t * eps**2)
        # Squares of orthogonal parts never exceed the square of the sum.
        assert paper_linear_threshold(t, d, delta, eps) <= (1 + 1e-12) * paper_linear_threshold(
            t, d, delta / 2, eps, printed=True
        )


@pytest.mark.parametrize("K", [2, 3, 10, 103, 1000])
def test_unstructured_threshold_holds_for_all_samples_at_once(K: int) -> None:
    # Kaufmann and Koolen's bound for all K arms, at confidence delta/2, is valid at all t.
    # The sum of 2 ln(4 + ln N_k) is largest where the counts are even.
    for delta in CONFIDENCES:
        constant = K * deviation_constant(math.log(2 / delta) / K)
        for t in np.geomspace(2, 1e16, 40):
            proven = 2 * K * math.log(4 + math.log(max(t / K, 1))) + constant
            assert proven < paper_unstructured_threshold(t, K, delta)


@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-10, 1e-100])
@pytest.mark.parametrize("t", [0.0, 1.0, 2.0, 100.0, 3e5, 1e12])
@pytest.mark.parametrize(("K", "d"), [(2, 1), (7, 7), (1000, 20)])
def test_compiled_thresholds_are_the_formulas(delta: float, t: float, K: int, d: int) -> None:
    level = -math.log(delta)
    assert_allclose(heuristic(t, level), heuristic_threshold(t, delta), rtol=1e-14)
    free = paper_unstructured_threshold(t, K, delta)
    assert_allclose(unstructured(t, K, level), free, rtol=1e-12)
    for eps in (0.0, 1e-9, 0.1, 3.0, 1e200, math.inf):
        for weight in (0.0, t, t / 4e6):
            if weight == 0.0 and eps == math.inf:
                continue
            given = delta, eps
            found = linear(t, d, eps, weight, level), printed_linear(t, d, eps, weight, level)
            wanted = [
                paper_linear_threshold(t, d, *given, information=weight, printed=printed)
                for printed in (False, True)
            ]
            assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("excess", [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6, 1e12])
def test_wbar_solves_its_equation(excess: float) -> None:
    w = wbar(1.0 + excess)
    assert w >= 1.0
    assert_allclose(w - math.log(w), 1.0 + excess, rtol=4e-16)
