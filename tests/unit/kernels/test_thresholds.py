"""The function behind the paper's thresholds, against SciPy and its equation."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import lambertw

from mislid._kernels import thresholds
from mislid._kernels.compile import for_python

wbar = for_python(thresholds.wbar)


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
