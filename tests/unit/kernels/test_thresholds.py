"""Compiled thresholds against the plain formulas, and the function behind them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import lambertw

from mislid._jit import for_python
from mislid.stopping import thresholds
from oracles.paper_thresholds import (
    heuristic_threshold,
    paper_linear_threshold,
    paper_unstructured_threshold,
)

wbar = for_python(thresholds.wbar)
heuristic = for_python(thresholds.heuristic)
unstructured = for_python(thresholds.unstructured)
linear, printed_linear = for_python(thresholds.linear), for_python(thresholds.printed_linear)


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


@pytest.mark.parametrize("x", [1.1, 1.5, 2.0, 5.0, 10.0, 100.0, 600.0])
def test_wbar_is_the_lower_branch_of_lambert(x: float) -> None:
    assert_allclose(wbar(x), -lambertw(-math.exp(-x), -1).real, rtol=1e-13)


@pytest.mark.parametrize("excess", [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1e3, 1e6, 1e12])
def test_wbar_solves_its_equation(excess: float) -> None:
    w = wbar(1.0 + excess)
    assert w >= 1.0
    assert_allclose(w - math.log(w), 1.0 + excess, rtol=4e-16)


def test_wbar_has_the_bounds_of_the_paper() -> None:
    for x in np.geomspace(1.0, 1e4, 50):
        low = x + math.log(x)
        assert low * (1 - 1e-15) <= wbar(x) <= (low + min(0.5, x**-0.5)) * (1 + 1e-15)
