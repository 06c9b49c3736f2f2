"""How far means are from a model at least, in spite of all rounding: for others to use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mislid.verification.geometry import Centred, Duality, Pair
from mislid.verification.intervals import exactly
from mislid.verification.model import model_of
from mislid.verification.reading import Arms, Failure, Matrix, Vector

# Beyond this ratio of weights, rounding of the heavy ones may matter for the light ones.
UNEVEN = 1e10


def certain_distance(
    features: Matrix,
    spanner: Arms,
    eps: float,
    means: Vector,
    weights: Vector,
    multipliers: Vector,
    alpha: float = 0.0,
    pair: Pair | None = None,
    tolerance: float = 0.0,
) -> float | None:
    """What multipliers prove of the cost of every model, or of those that reverse a pair.

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
    multipliers, alpha
        Any numbers (K,), and any that is not negative.
    pair, tolerance
        Challenger and incumbent, and by how much the one is better at least; None for all models.

    Returns
    -------
    float or None
        A lower bound on half the squared distance; None where the arms that have weights do not
        span the features, or these differ by more than doubles can tell: nothing is certain then.
    """
    heavy = weights[weights > 0.0]
    if heavy.size == 0 or float(np.max(heavy)) > UNEVEN * float(np.min(heavy)):
        return None
    with np.errstate(all="ignore"):
        try:
            model = model_of(features, np.arange(features.shape[1]), spanner, eps)
            centred = Centred(model, [Fraction(mean) for mean in means.tolist()], weights)
            duality = Duality(model, exactly(weights), centred.off)
            gap = None if pair is None else centred.gap(pair, tolerance)
            # Those at hand, or with what rounding left of X'z taken from where it costs least.
            both = multipliers, duality.balanced(multipliers)
            found = max(float(duality.distance(z, alpha, pair, gap).low) for z in both)
        except (np.linalg.LinAlgError, ArithmeticError, Failure):
            return None
    return max(found, 0.0) if found == found else None
