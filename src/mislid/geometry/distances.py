"""Lower bounds on distances to a model's means, with all rounding bounded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.verification.geometry import Centred, Duality
from mislid.verification.intervals import exactly
from mislid.verification.model import model_of
from mislid.verification.reading import Failure

# Beyond this ratio of weights, rounding of the heavy ones may matter for the light ones.
UNEVEN = 1e10


class Distances:
    """What multipliers prove of the cost of models, for given means and weights.

    Parameters
    ----------
    features
        Of independent columns (K, d).
    spanner
        Arms (d,) in which all others have coordinates of at most 1.
    eps
        How far means may be from linear.
    means, weights
        From which distances are measured, and their weights (K,).

    Raises
    ------
    ArithmeticError
        The arms that have weights do not span the features, or these differ by more than doubles
        can tell: nothing is certain then.

    Examples
    --------
    No linear model has all these means within less than 0.2. How far those with a misspecification
    of 0.1 are at least follows from multipliers z with A'z = 0.

    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> means, weights = np.array([0.4, 0.6, 0.9]), np.full(3, 100.0)
    >>> distances = Distances(features, np.array([0, 1]), 0.1, means, weights)
    >>> round(distances.at_least(np.array([-1.0, -1.0, 2.0])), 6)
    1.333333
    """

    def __init__(
        self,
        features: Matrix,
        spanner: NDArray[np.int64],
        eps: float,
        means: Vector,
        weights: Vector,
    ) -> None:
        heavy = weights[weights > 0.0]
        if heavy.size == 0 or float(np.max(heavy)) > UNEVEN * float(np.min(heavy)):
            raise ArithmeticError("weights are too uneven")
        with np.errstate(all="ignore"), _uncertain():
            model = model_of(features, np.arange(features.shape[1]), spanner, eps)
            self._centred = Centred(model, [Fraction(mean) for mean in means.tolist()], weights)
            self._duality = Duality(model, exactly(weights), self._centred.off)

    def at_least(
        self,
        multipliers: Vector,
        alpha: float = 0.0,
        pair: tuple[int, int] | None = None,
        tol: float = 0.0,
    ) -> float:
        """Half the squared distance of every model at least, or of those that reverse a pair.

        Any multipliers (K,) and any alpha that is not negative give a valid bound.
        """
        with np.errstate(all="ignore"), _uncertain():
            gap = None if pair is None else self._centred.gap(pair, tol)
            # Those given, or with what rounding left of X'z taken from where it costs least.
            both = multipliers, self._duality.balanced(multipliers)
            found = max(float(self._duality.distance(z, alpha, pair, gap).low) for z in both)
            if math.isnan(found):
                raise ArithmeticError("numbers are too large")
        return max(found, 0.0)


@contextmanager
def _uncertain() -> Iterator[None]:
    try:
        yield
    except (np.linalg.LinAlgError, Failure) as problem:
        raise ArithmeticError(str(problem)) from None
