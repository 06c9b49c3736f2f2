"""The coordinates in which the kernels work: values at the arms of a barycentric spanner.

Whatever the features' scale or collinearity, the coordinates X (K, d) of the arms have
entries of at most one and X[basis] is the identity. A theta in them lists the linear model's
values at the basis arms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry.spanner import Arms, spanner_coordinates
from mislid.model import Model


class Coordinates(NamedTuple):
    """All arms, written as combinations of a spanner's arms.

    Attributes
    ----------
    basis
        Indices of the spanner's arms (d,), increasing.
    matrix
        Coordinates of all arms (K, d), at most 1 in size; matrix[basis] is the identity.
    rest
        Indices of the other arms (K - d,).
    """

    basis: Arms
    matrix: Matrix
    rest: Arms

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
        rest = np.setdiff1d(np.arange(model.K), basis)
        model._cache["coordinates"] = Coordinates(basis, matrix, rest)
    found: Coordinates = model._cache["coordinates"]
    return found
