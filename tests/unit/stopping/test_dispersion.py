"""The evidence that measurements scatter more than declared."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from mislid.stopping.assumptions import Dispersion, log_scatter


@pytest.mark.parametrize(("n", "square"), [(0, 0.0), (1, 0.5), (5, 30.0), (40, 20.0), (40, 90.0)])
def test_scatter_is_the_integral(n: int, square: float) -> None:
    integral = quad(lambda p: p ** (n / 2) * math.exp((1 - p) * square / 2), 0, 1)[0]
    assert log_scatter(n, square) == pytest.approx(math.log(integral), rel=1e-10, abs=1e-10)


def test_scatter_of_extreme_sizes() -> None:
    # Laplace's approximation around p = n / q, at which the integrand is largest.
    n, square = 1e7, 2e7
    peak = 0.5 * n * (square / n - 1 - math.log(square / n))
    width = 0.5 * math.log(2 * math.pi / (0.5 * n)) + math.log(n / square)
    assert log_scatter(n, square) == pytest.approx(peak + width, rel=1e-9)
    # Where the incomplete gamma function vanishes in double precision, the value for 0 is below.
    assert log_scatter(1e5, 1.0) == pytest.approx(-math.log(5e4 + 1))
    assert log_scatter(1e5, 0.0) == pytest.approx(-math.log(5e4 + 1))
    assert np.all(np.diff(log_scatter(50.0, np.linspace(0, 200, 400))) >= 0)


def random_values(noise: np.ndarray, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    arms = rng.integers(noise.size, size=n)
    return arms, 10.0 * arms + noise[arms] * rng.standard_normal(n)


def test_the_smallest_noise_that_is_not_contradicted() -> None:
    arms, values = random_values(np.array([1.0, 1.0, 1.0]))
    found = Dispersion.of(arms, values, np.full(3, 0.25))
    factor = found.least_factor(0.01)
    assert 3.0 < factor < 4.0
    assert found.log_evidence(factor * 0.999) > math.log(100) > found.log_evidence(factor * 1.001)
    assert found.suspects(0.01) == sorted(range(3), key=lambda k: -found.deviation(k))
    assert found.deviation(1) == pytest.approx(np.std(values[arms == 1], ddof=1) / 0.25)
