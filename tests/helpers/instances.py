"""Seeded random problems, from pleasant to nasty.

Every part (features, misspecification, means, weights, tolerance) is drawn from a list of named
regimes. `kind` joins the names; `hard` says that features or weights are badly scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """features (K, d) of full column rank, means (K,), weights (K,) with at least one positive."""

    features: Floats
    misspecification: float
    means: Floats
    weights: Floats
    m: int
    tolerance: float
    kind: str
    hard: bool

    @property
    def incumbents(self) -> list[int]:
        """The m best arms, ties to the smaller index."""
        return [int(arm) for arm in np.argsort(-self.means, kind="stable")[: self.m]]

    def random_pair(self, rng: Generator) -> tuple[int, int]:
        """A challenger outside and an incumbent inside the m best arms."""
        inside = self.incumbents
        outside = [arm for arm in range(len(self.means)) if arm not in inside]
        return int(rng.choice(outside)), int(rng.choice(inside))


def random_problem(rng: Generator, *, largest: int = 60, hard: bool | None = None) -> Problem:
    """Draw a problem with 2 <= K <= largest and 1 <= d <= min(K, 20); `hard` restricts the regimes.

    >>> import numpy as np
    >>> problem = random_problem(np.random.default_rng(0))
    >>> problem.features.shape == (len(problem.means), problem.features.shape[1])
    True
    """
    while True:
        problem = _draw(rng, largest)
        if hard is None or problem.hard == hard:
            return problem


def random_problems(
    seed: int, count: int, *, largest: int = 60, hard: bool | None = None
) -> Iterator[Problem]:
    """The first `count` problems of a seed, each with its own generator."""
    for index in range(count):
        yield random_problem(np.random.default_rng([seed, index]), largest=largest, hard=hard)


def _draw(rng: Generator, largest: int) -> Problem:
    arms = int(rng.integers(2, largest + 1))
    dimension = int(rng.integers(1, min(arms, 20) + 1))
    features_kind = str(rng.choice(list(_FEATURES)))
    features = _FEATURES[features_kind](rng, arms, dimension)
    place = str(rng.choice(["linear", "inside", "edge", "outside", "ties"]))
    linear, spread = _linear_means(rng, features)
    regime = str(rng.choice(list(_MISSPECIFICATION)))
    misspecification = _MISSPECIFICATION[regime] * spread
    width = min(misspecification, 10 * spread)
    means = _means(rng, linear, width, spread, place)
    weights_kind = str(rng.choice(list(_WEIGHTS)))
    weights = _WEIGHTS[weights_kind](rng, arms, features.shape[1])
    slack = str(rng.choice(["exact", "exact", "tolerant"]))
    tolerance = 0.0 if slack == "exact" else float(spread * rng.uniform(0.01, 0.5))
    return Problem(
        features,
        misspecification,
        means,
        weights,
        int(rng.choice([1, arms - 1, int(rng.integers(1, arms))])),
        tolerance,
        f"{features_kind}/{regime}/{place}/{weights_kind}/{slack}",
        features_kind == "collinear" or weights_kind in {"18 orders", "18 orders and zeros"},
    )


def _gaussian(rng: Generator, arms: int, dimension: int) -> Floats:
    return rng.normal(size=(arms, dimension))


def _collinear(rng: Generator, arms: int, dimension: int) -> Floats:
    left, _, right = np.linalg.svd(_gaussian(rng, arms, dimension), full_matrices=False)
    return np.ascontiguousarray(left * np.geomspace(1e-1, 1e-8, dimension) @ right)


def _duplicated(rng: Generator, arms: int, dimension: int) -> Floats:
    distinct = max(dimension, arms // 2)
    rows = _gaussian(rng, distinct, dimension)
    repeated = np.concatenate([np.arange(distinct), rng.integers(distinct, size=arms - distinct)])
    return rows[rng.permutation(repeated)]


def _square(rng: Generator, arms: int, dimension: int) -> Floats:
    del dimension
    return _gaussian(rng, arms, min(arms, 20))


def _one_hot(rng: Generator, arms: int, dimension: int) -> Floats:
    groups = np.concatenate([np.arange(dimension), rng.integers(dimension, size=arms - dimension)])
    return np.eye(dimension)[rng.permutation(groups)]


_FEATURES: dict[str, Callable[[Generator, int, int], Floats]] = {
    "gaussian": _gaussian,
    "collinear": _collinear,
    "duplicated": _duplicated,
    "square": _square,
    "one-hot": _one_hot,
    "tiny": lambda rng, arms, dimension: 1e-6 * _gaussian(rng, arms, dimension),
    "huge": lambda rng, arms, dimension: 1e6 * _gaussian(rng, arms, dimension),
}

# In units of the spread of the linear means.
_MISSPECIFICATION = {
    "linear model": 0.0,
    "tiny": 1e-5,
    "comparable": 0.2,
    "large": 2.0,
    "huge": 1e6,
    "unstructured": float("inf"),
}


def _linear_means(rng: Generator, features: Floats) -> tuple[Floats, float]:
    """Linear means on the scale of a random power of ten, and their spread."""
    basis, _ = np.linalg.qr(features)
    fitted = basis @ rng.normal(size=features.shape[1]) * 10.0 ** rng.integers(-2, 3)
    size, spread = float(np.max(np.abs(fitted))), float(np.ptp(fitted))
    # All arms alike (one-hot with d = 1): their spread is rounding, not a scale.
    return fitted, spread if spread > 1e-9 * size else size


def _means(rng: Generator, linear: Floats, width: float, spread: float, place: str) -> Floats:
    arms = len(linear)
    if place == "linear":
        return linear
    if place == "inside":
        return linear + width * rng.uniform(-1, 1, size=arms)
    if place == "edge":
        return linear + width * rng.choice([-1.0, 0.0, 1.0], size=arms)
    if place == "outside":
        return linear + (width + spread) * rng.normal(size=arms)
    return spread * rng.integers(0, 4, size=arms)


def _log_uniform(rng: Generator, arms: int, dimension: int) -> Floats:
    del dimension
    return 10.0 ** rng.uniform(-12, 6, size=arms)


def _zeros(weights: Floats, rng: Generator, survivors: int) -> Floats:
    """Keep `survivors` arms (at least one), zero for the others."""
    kept = rng.permutation(len(weights))[: max(1, survivors)]
    return np.where(np.isin(np.arange(len(weights)), kept), weights, 0.0)


def _some_zeros(rng: Generator, arms: int, dimension: int) -> Floats:
    return _zeros(rng.dirichlet(np.ones(arms)), rng, int(rng.integers(dimension, arms + 1)))


def _too_few(rng: Generator, arms: int, dimension: int) -> Floats:
    return _zeros(rng.dirichlet(np.ones(arms)), rng, int(rng.integers(1, dimension + 1)))


def _counts(rng: Generator, arms: int, dimension: int) -> Floats:
    del dimension
    return rng.integers(1, 10 ** int(rng.integers(1, 6)), size=arms).astype(np.float64)


_WEIGHTS: dict[str, Callable[[Generator, int, int], Floats]] = {
    "uniform": lambda rng, arms, dimension: np.full(arms, 1 / arms),
    "dirichlet": lambda rng, arms, dimension: rng.dirichlet(np.ones(arms)),
    "18 orders": _log_uniform,
    "18 orders and zeros": lambda rng, arms, dimension: _zeros(
        _log_uniform(rng, arms, dimension), rng, int(rng.integers(1, arms + 1))
    ),
    "zeros": _some_zeros,
    "not spanning": _too_few,
    "counts": _counts,
}
