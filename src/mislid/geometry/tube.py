"""How far means are from linear: the tube around the linear models that contains them."""

from __future__ import annotations

from numpy.typing import ArrayLike

from mislid._chebyshev import chebyshev_deviation
from mislid._validation import as_vector
from mislid.model import Model


def smallest_misspecification(model: Model | ArrayLike, means: ArrayLike) -> float:
    """The smallest misspecification of a model that contains the means.

    Computes  min over theta (d,) of  max_k |means_k - phi_k' theta|  by one linear program whose
    answer is certified; the paper writes |means|_eps in its proof of Lemma 2.

    Parameters
    ----------
    model
        A model, whose own misspecification is not used, or features (K, d).
    means
        Means (K,).

    Returns
    -------
    float
        The largest distance of a mean to the best linear model.

    Raises
    ------
    ProblemError
        The features or the means have the wrong shape or entries that are not finite.
    CertificateError
        The linear program could not be solved to the accuracy that its proof needs.

    Examples
    --------
    >>> round(smallest_misspecification([[1, 0], [1, 1], [1, 2]], [0, 3, 2]), 9)
    1.0
    """
    if not isinstance(model, Model):
        model = Model(model, 0.0)
    return chebyshev_deviation(model.features, as_vector(means, "means", model.K))[0]
