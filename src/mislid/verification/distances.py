"""How far means are from a model at least, in spite of all rounding: for others to use."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from mislid.verification.geometry import Centred, Duality, Pair
from mislid.verification.intervals import exactly
from mislid.verification.model import model_of
from mislid.verification.reading import Arms, Failure, Matrix, Vector

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
    """

    def __init__(
        self, features: Matrix, spanner: Arms, eps: float, means: Vector, weights: Vector
    ) -> None:
        heavy = weights[weights > 0.0]
        if heavy.size == 0 or float(np.max(heavy)) > UNEVEN * float(np.min(heavy)):
            raise ArithmeticError("weights are too uneven")
        with np.errstate(all="ignore"), _uncertain():
            model = model_of(features, np.arange(features.shape[1]), spanner, eps)
            self._centred = Centred(model, [Fraction(mean) for mean in means.tolist()], weights)
            self._duality = Duality(model, exactly(weights), self._centred.off)

    def at_least(
        self, multipliers: Vector, alpha: float = 0.0, pair: Pair | None = None, tol: float = 0.0
    ) -> float:
        """How far every model is at least, or those that reverse a pair: half the squared distance.

        Parameters
        ----------
        multipliers, alpha
            Any numbers (K,), and any that is not negative.
        pair, tol
            Challenger and incumbent, and by how much the one is better at least; None for all
            models.

        Returns
        -------
        float
            At most the truth, in spite of all rounding.

        Raises
        ------
        ArithmeticError
            Numbers are too large or too alike: nothing is certain then.
        """
        with np.errstate(all="ignore"), _uncertain():
            gap = None if pair is None else self._centred.gap(pair, tol)
            # Those at hand, or with what rounding left of X'z taken from where it costs least.
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
