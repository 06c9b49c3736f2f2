"""What the paper's rules compare, from the public geometry and dense matrices: slow and short."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from helpers.measured import Data, Floats
from mislid.geometry.alternatives import closest_alternative
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import top_arms
from mislid.geometry.projection import project


def estimated(data: Data) -> tuple[Floats, NDArray[np.int64]]:
    """The projected means, and the m best of them."""
    means = project(data.model, data.means, data.weights).means
    return means, top_arms(means, data.m)


def closest_cost(data: Data, means: Floats) -> float:
    """The least cost, from these means, of a model with another answer than the estimate's."""
    return closest_alternative(
        data.model,
        means,
        data.weights,
        data.m,
        tolerance=data.tol,
        incumbents=estimated(data)[1],
    ).cost


def explored(data: Data) -> bool:
    """Whether V >= 2 L^2 I, which the linear threshold needs."""
    X = coordinates(data.model).matrix / data.noise[:, None]
    V = (X * data.counts[:, None]).T @ X
    return bool(np.linalg.eigvalsh(V)[0] > 2 * np.max(np.sum(X**2, axis=1)))
