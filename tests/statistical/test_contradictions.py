"""Warnings without reason are rarer than their level, however often one looks.

The twins look as often, with quantiles of chi-square distributions that are right for one look.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import mislid
from mislid.stopping.assumptions import Dispersion, log_scatter
from statistical.trials import too_often

LEVEL = 0.2
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.5], [0.5, 1.0], [0.2, 0.1]])
LINEAR = FEATURES @ [0.3, 0.2]
K, D = FEATURES.shape


def scale_of_bernoulli(p: float) -> float:
    """The smallest noise for which it is sub-Gaussian (Kearns and Saul 1998)."""
    return 0.5 if p == 0.5 else math.sqrt((1 - 2 * p) / (2 * math.log((1 - p) / p)))


def standardised(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray:
    """Draws with mean 0 whose sub-Gaussian scale is exactly 1."""
    if name == "gaussian":
        return rng.standard_normal(shape)
    if name == "rademacher":
        return rng.choice([-1.0, 1.0], size=shape)
    p = float(name.removeprefix("bernoulli "))
    return ((rng.random(shape) < p) - p) / scale_of_bernoulli(p)


class Alarms(NamedTuple):
    ours: int
    twins: int


def noise_alarms(name: str, runs: int, rounds: int, arms: int = 3) -> Alarms:
    """Runs side by side, in which the arm that scatters most is measured every second time."""
    draws = 5.0 + standardised(name, np.random.default_rng(1), (rounds, runs))
    counts, sums, squares = np.zeros((3, runs, arms))
    each = np.arange(runs)
    ours, twins = np.zeros((2, runs), dtype=bool)
    for t, values in enumerate(draws):
        wildest = np.argmax(squares / np.maximum(counts, 1.0), axis=1)
        at = each, wildest if t % 2 else np.argmin(counts, axis=1)
        rest = values - sums[at] / np.maximum(counts[at], 1.0)
        squares[at] += rest**2 * counts[at] / (counts[at] + 1.0)
        counts[at] += 1.0
        sums[at] += values
        together = log_scatter(counts.sum(axis=1), squares.sum(axis=1))
        apart = np.logaddexp.reduce(log_scatter(counts, squares), axis=1) - math.log(arms)
        ours |= np.logaddexp(together, apart) - math.log(2) > -math.log(LEVEL)
        free = counts.sum(axis=1) - arms
        twins |= (free > 0) & (squares.sum(axis=1) > chi2.isf(LEVEL, np.maximum(free, 1.0)))
    one = Dispersion(counts[0], squares[0])
    last = np.logaddexp(together, apart)[0] - math.log(2)
    assert one.log_evidence() == pytest.approx(last)
    return Alarms(int(ours.sum()), int(twins.sum()))


@pytest.mark.parametrize(
    "name", ["gaussian", "rademacher", "bernoulli 0.5", "bernoulli 0.1", "bernoulli 0.01"]
)
def test_noise_of_the_declared_scale_seldom_warns(name: str) -> None:
    alarms = noise_alarms(name, runs=500, rounds=150)
    assert not too_often(alarms.ours, 500, LEVEL)
    if name == "gaussian":
        assert alarms.ours > 0
        assert too_often(alarms.twins, 500, LEVEL)


def twin_warns(counts: NDArray, means: NDArray) -> bool:
    """Whether twice the residual of least squares exceeds its quantile for one look."""
    root = np.sqrt(counts)
    rest = np.linalg.lstsq(root[:, None] * FEATURES, root * means)[1]
    return bool(counts.min() > 0 and rest[0] > chi2.isf(LEVEL, K - D))


def watched(
    seed: int, declared: float, noise: float, means: NDArray, rounds: int, wanted: str = ""
) -> set[str]:
    """What a study that measures all arms in turn warns of, or the twin would, until `wanted`."""
    rng = np.random.default_rng([11, seed])
    study = mislid.create_study(
        candidates=FEATURES,
        intercept=False,
        m=2,
        misspecification=declared,
        noise=noise,
        seed=seed,
        algorithm="uniform",
        delta=LEVEL,
    )
    seen: set[str] = set()
    for _ in range(rounds):
        trial = study.ask()
        study.tell(trial, means[trial.arm] + rng.standard_normal())
        seen |= {warning.kind for warning in study.warnings()}
        state = study._session.engine
        if twin_warns(state.counts, state.means):
            seen.add("twin")
        if wanted in seen:
            break
    return seen


def test_studies_seldom_warn_without_reason() -> None:
    runs = 60
    seen = [watched(seed, 0.0, 1.0, LINEAR, rounds=60) for seed in range(runs)]
    alarms = {kind: sum(kind in one for one in seen) for kind in ("misspecification", "noise")}
    assert not too_often(alarms["misspecification"], runs, LEVEL), alarms
    assert not too_often(alarms["noise"], runs, LEVEL), alarms
    assert too_often(sum("twin" in one for one in seen), runs, LEVEL)


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
@pytest.mark.parametrize("seed", range(3))
def test_gross_mistakes_are_found(seed: int) -> None:
    bent = LINEAR + np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    kind = "misspecification"
    assert kind in watched(seed, 0.1, 1.0, bent, rounds=150, wanted=kind)
    assert "noise" in watched(seed, 0.1, 0.5, LINEAR, rounds=60, wanted="noise")
    assert not watched(seed, 3.0, 1.0, bent, rounds=40) - {"twin"}
