"""The problems that are timed: seeded random ones and the published instances."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# Top-m size and declared misspecification of each published instance.
PUBLISHED: Mapping[str, tuple[int, float]] = {
    "A_eps0": (3, 0.0),
    "A_eps5": (3, 5.0),
    "B": (3, 1.0),
    "D": (5, 0.02),
    "E": (4, 0.206),
}


class MissingData(Exception):
    """The published instances are not there."""

    def __init__(self) -> None:
        super().__init__(
            "Skipped: the published instances are not there; set MISLID_DATA to their folder."
        )


@dataclass(frozen=True)
class Case:
    """features (K, d), means (K,), weights (K,) on the simplex, and a pair of arms."""

    name: str
    features: Floats
    misspecification: float
    means: Floats
    weights: Floats
    m: int
    challenger: int
    incumbent: int
    tolerance: float = 0.0

    @property
    def incumbents(self) -> list[int]:
        """The m best arms, best first."""
        return [int(arm) for arm in np.argsort(-self.means, kind="stable")[: self.m]]


def random_case(
    arms: int, dimension: int, seed: int = 0, *, m: int = 3, misspecification: float = 0.03
) -> Case:
    """Unit features in random directions, means linear up to the misspecification, uneven weights.

    The best arms are a few tenths apart when K = 10 and a few hundredths when K = 1000. The pair is
    the m-th best arm and the m-th below it, a challenge that needs many arms to move.

    >>> random_case(10, 5).features.shape
    (10, 5)
    """
    rng = np.random.default_rng([seed, arms, dimension])
    features = rng.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    linear = features @ rng.normal(size=dimension)
    means = linear + misspecification * rng.uniform(-1, 1, size=arms)
    order = np.argsort(-means, kind="stable")
    return Case(
        f"K={arms} d={dimension}",
        features,
        misspecification,
        means,
        rng.dirichlet(np.ones(arms)),
        m,
        int(order[min(2 * m - 1, arms - 1)]),
        int(order[m - 1]),
    )


def published_case(name: str, *, misspecification: float | None = None, seed: int = 0) -> Case:
    """A published instance with uneven weights; raises MissingData when the data is absent.

    `misspecification` replaces the declared one. The pair is (m+1)-th best against m-th best.
    """
    folder = Path(os.environ.get("MISLID_DATA", DATA)) / "instances"
    if not folder.is_dir():
        raise MissingData
    m, declared = PUBLISHED[name]
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        features = np.ascontiguousarray(arrays["features"], dtype=np.float64)
        means = np.ascontiguousarray(arrays["means"], dtype=np.float64)
    order = np.argsort(-means, kind="stable")
    return Case(
        name,
        features,
        declared if misspecification is None else misspecification,
        means,
        np.random.default_rng(seed).dirichlet(np.ones(len(means))),
        m,
        int(order[m]),
        int(order[m - 1]),
    )


def linear_up_to(case: Case, amount: float) -> Case:
    """The case with means made linear up to `amount`, and that amount as its misspecification.

    means = A theta + clip(mu - A theta, -amount, amount) with theta by least squares. The m best
    arms and the pair are those of the new means.
    """
    theta, *_ = np.linalg.lstsq(case.features, case.means)
    linear = case.features @ theta
    means = linear + np.clip(case.means - linear, -amount, amount)
    order = np.argsort(-means, kind="stable")
    return replace(
        case,
        name=f"{case.name} linear up to {amount:g}",
        misspecification=amount,
        means=means,
        challenger=int(order[case.m]),
        incumbent=int(order[case.m - 1]),
    )
