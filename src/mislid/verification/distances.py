"""How far means are from a model at least, in spite of all rounding: for others to use."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    ValueError
        Shapes do not fit, a mean is no number, there are no such arms, or `eps` is negative.

    Examples
    --------
    No linear model has all these means within less than 0.2. How far those with a misspecification
    of 0.1 are at least follows from multipliers z with A'z = 0.

    >>> features = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> means, weights = np.array([0.4, 0.6, 0.9]), np.full(3, 100.0)
    >>> distances = Distances(features, np.array([0, 1]), 0.1, means, weights)
    >>> round(distances.at_least(np.array([-1.0, -1.0, 2.0])), 6)
    1.333333

    Models in which arm 0 is at least as good as arm 2 are farther away:

    >>> round(distances.at_least(np.zeros(3), alpha=1.0, pair=(0, 2)), 6)
    6.25
    """

    def __init__(
        self, features: Matrix, spanner: Arms, eps: float, means: Vector, weights: Vector
    ) -> None:
        if np.ndim(features) != 2:
            raise ValueError(f"features must be of shape (K, d); got {reprlib.repr(features)}")
        K, d = np.shape(features)
        features, weights = _numbers(features, "features", K, d), _numbers(weights, "weights", K)
        means = _refuse_nan(_numbers(means, "means", K), "means")
        spanner = _arms(spanner, "spanner", d, K)
        if not _numbers(eps, "eps") >= 0.0:
            raise ValueError(f"eps must be at least 0; got {eps!r}")
        self._K = K
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
        ValueError
            There are not K multipliers or no two such arms, or `alpha` or `tol` cannot be.
        """
        if not _numbers(alpha, "alpha") >= 0.0:
            raise ValueError(f"alpha must not be negative; got {alpha!r}")
        multipliers = _numbers(multipliers, "multipliers", self._K)
        if pair is not None:
            challenger, incumbent = _arms(pair, "pair", 2, self._K).tolist()
            if challenger == incumbent:
                raise ValueError(f"pair must be two arms; got {reprlib.repr(pair)}")
            pair = challenger, incumbent
        _refuse_nan(_numbers(tol, "tol"), "tol")
        with np.errstate(all="ignore"), _uncertain():
            gap = None if pair is None else self._centred.gap(pair, tol)
            # Those at hand, or with what rounding left of X'z taken from where it costs least.
            both = multipliers, self._duality.balanced(multipliers)
            found = max(float(self._duality.distance(z, alpha, pair, gap).low) for z in both)
            if math.isnan(found):
                raise ArithmeticError("numbers are too large")
        return max(found, 0.0)


def _numbers(given: Any, name: str, *shape: int) -> NDArray[np.float64]:
    """Numbers of this shape."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; got {reprlib.repr(given)}") from None
    if numbers.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}; got {numbers.shape}")
    return numbers


def _refuse_nan(numbers: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if np.isnan(numbers).any():
        raise ValueError(f"{name} must be numbers; got nan")
    return numbers


def _arms(given: Any, name: str, size: int, K: int) -> Arms:
    """So many indices of K arms."""
    arms = np.asarray(given)
    fits = arms.shape == (size,) and arms.dtype.kind in "iu"
    if not fits or not np.all((arms >= 0) & (arms < K)):
        raise ValueError(f"{name} must be {size} arms from 0 to {K - 1}; got {reprlib.repr(given)}")
    return arms


@contextmanager
def _uncertain() -> Iterator[None]:
    try:
        yield
    except (np.linalg.LinAlgError, Failure) as problem:
        raise ArithmeticError(str(problem)) from None
