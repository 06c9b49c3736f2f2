"""What the rules are told of the noise in a simulation."""

from __future__ import annotations

import numpy as np
import pytest

import mislid
from mislid.errors import ProblemError
from mislid.simulation.environments import Bounded, Environment, Gaussian, Table

RATES = np.array([0.9, 0.4, 0.2])
MODEL = mislid.Model([[1, 0], [0, 1], [0.2, 0.4]], misspecification=0.2)
INSTANCE = mislid.Instance(MODEL, RATES, noise=0.3)


@pytest.mark.parametrize("algorithm", ["mislid", "uniform", "lucb", "mislid-paper"])
@pytest.mark.parametrize("noise", ["unknown", "unknown-equal", "bounded", "bernoulli"])
def test_every_rule_finds_the_best(noise: str, algorithm: str) -> None:
    found = mislid.identify(INSTANCE, 1, assume_noise=noise, algorithm=algorithm, seed=3)
    assert (found.status, found.answer, found.correct) == ("stopped", (0,), True)
    assert found.certificate.proven
    assert found.certificate.statistic >= found.certificate.threshold - 1e-9
    low, high = found.intervals.T
    assert np.all((low <= RATES) & (high >= RATES))


class Strange(Environment):
    """Someone's own, whose rewards are not what is assumed."""

    def sample(self, arm: int, size: int, generator: np.random.Generator) -> np.ndarray:
        return np.full(size, 0.5)


@pytest.mark.parametrize(
    ("noise", "environment", "message"),
    [
        ("normal", None, "assume_noise must be a standard deviation"),
        ("known", None, "assume_noise must be"),
        (-1.0, None, "assume_noise must be"),
        ("bounded", Gaussian(RATES), "within a range"),
        ("bernoulli", Gaussian(RATES), "rewards 0 and 1"),
        ("bernoulli", Bounded(RATES), "rewards 0 and 1"),
        ("bernoulli", Table([[0.9, 0.4, 0.2]], low=0, high=1), "rewards 0 and 1"),
        ("bernoulli", Strange(RATES, np.full(3, 0.5)), "0 or 1"),
    ],
)
def test_what_does_not_fit_is_refused(noise, environment, message) -> None:
    with pytest.raises(ProblemError, match=message):
        mislid.identify(INSTANCE, 1, assume_noise=noise, environment=environment)
