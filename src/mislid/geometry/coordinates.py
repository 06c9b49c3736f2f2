"""Spanner coordinates and workspaces of the compiled functions.

Arms are combinations of the arms of a barycentric spanner, the basis. Whatever the features' scale
or collinearity, the coordinates X (K, d) are at most 1 in size, and X[basis] is the identity. A
theta in these coordinates lists the linear model's values at the basis arms. Arms added late have
no part in the choice of the basis, and their coordinates may be larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mislid._jit import Indices, Matrix, Vector
from mislid.errors import ProblemError
from mislid.geometry.problem import NewtonSpace
from mislid.geometry.search import SearchSpace
from mislid.geometry.spanner import Arms, coordinates_in, spanner_coordinates
from mislid.model import Model

# Largest coordinate of arms added late; beyond it their features would have few digits.
LARGEST = 1e4
# Certificates that a search keeps: of all pairs if these take at most ROOM numbers, else enough for
# the near ones. A rule that visits more pairs than are kept solves each of them again in every
# round.
ROOM = 1 << 18
NEAR_SLOTS, NEAR_ROOM = 256, 1 << 23


class Coordinates(NamedTuple):
    """All arms as combinations of the arms of a spanner.

    Attributes
    ----------
    basis
        Indices of the spanner's arms (d,), increasing.
    matrix
        Coordinates of all arms (K, d), at most 1 in size; matrix[basis] is the identity.
    """

    basis: Arms
    matrix: Matrix

    def theta(self, model: Model, values: Vector) -> Vector:
        """The model's own theta (d,) from the values (d,) at the basis arms."""
        return np.asarray(np.linalg.solve(model.features[self.basis], values), np.float64)


def coordinates(model: Model) -> Coordinates:
    """The model's coordinates, computed once; `CertificateError` where no spanner could be proved.

    Examples
    --------
    >>> coordinates(Model([[2.0, 0.0], [0.0, 1e-8], [1.0, 1e-8]], 0.1)).matrix.tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.5, 1.0]]
    """
    if "coordinates" not in model._cache:
        if "spanner" not in model._cache:
            model._cache["spanner"] = spanner_coordinates(model.features)
        basis, matrix = model._cache["spanner"]
        model._cache["coordinates"] = Coordinates(basis, matrix)
    found: Coordinates = model._cache["coordinates"]
    return found


def set_late(model: Model, late: Sequence[int]) -> None:
    """Exclude the arms `late` from the choice of the model's basis.

    The coordinates of the other arms then do not depend on them. They must be combinations of the
    others.

    Examples
    --------
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]], 0.1)
    >>> set_late(model, [2])
    >>> coordinates(model).basis.tolist(), coordinates(model).matrix[2].tolist()
    ([0, 1], [3.0, 1.0])
    """
    features = model.features
    known = np.setdiff1d(np.arange(model.K), late)
    basis = known[_spanner_of(features[known])] if known.size else known
    if basis.size < model.d:
        raise ProblemError(
            "candidates that were added must have features that are combinations of the others', "
            f"which span {basis.size} of {model.d} dimensions"
        )
    matrix = coordinates_in(features, basis)
    largest = float(np.max(np.abs(matrix)))
    if largest > LARGEST:
        raise ProblemError(
            "candidates must have features like those of the others: one that was added is "
            f"{largest:.3g} times a combination of them, more than {LARGEST:g}"
        )
    model._cache["spanner"] = basis, matrix


def _spanner_of(features: Matrix) -> Arms:
    """Arms with the same span as all features (K, d), increasing."""
    if len(features) == 1 or not features.any():
        return np.flatnonzero(features.any(axis=1))[:1]
    return spanner_coordinates(Model(features, 0.0).features)[0]


def newton_space(X: Matrix, basis: Indices) -> NewtonSpace:
    """A workspace for one problem with the features X (K, d), the identity on the basis."""
    K, d = X.shape
    rest = np.setdiff1d(np.arange(K), basis)
    return NewtonSpace.zeros({"K": K, "d": d}, X=X, spanner=basis, rest=rest, pair=np.zeros(2))


def search_space(X: Matrix, basis: Indices, m: int) -> SearchSpace:
    """A workspace for the m(K - m) pairs of the features X (K, d), the identity on the basis."""
    K, d = X.shape
    count = m * (K - m)
    near = min(count, NEAR_SLOTS, max(1, NEAR_ROOM // K))
    slots = count if count * K <= ROOM else near
    return SearchSpace.zeros(
        {"K": K, "d": d, "P": count, "slots": slots},
        newton=newton_space(X, basis),
        kept_challenger=np.full(slots, -1, np.int64),
    )
