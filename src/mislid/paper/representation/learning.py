"""`learn`: from rows of data and their rewards to a representation of the candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Matrix, Vector, as_array, as_labels, as_vector, is_one_of
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.paper.representation.learned import Intercept, Representation, represent
from mislid.paper.representation.network import EpochListener, Recipe, Split, train
from mislid.paper.representation.observations import key_of, numbered


def learn(
    X: ArrayLike,
    y: ArrayLike,
    *,
    candidates: ArrayLike | None = None,
    means: ArrayLike | None = None,
    names: Iterable[str] | Iterable[int] | None = None,
    hidden: Sequence[int] = (256, 256),
    width: int = 8,
    test_size: float = 0.2,
    split: Split = "rows",
    seed: int = 0,
    epochs: int = 200,
    standardize: bool = True,
    intercept: Intercept = "feature",
    progress: EpochListener | None = None,
) -> Representation:
    """Learn features in which rewards are nearly linear, and measure how nearly.

    A network with rectified linear units is trained to predict y (n,) from X (n, p); its last
    hidden layer, of `width` units, becomes the candidates' features, and the parameters after it
    theta (the paper's Section 5 and its appendix on extracting representations). The same
    arguments give the same numbers. Needs scikit-learn: pip install 'mislid[representation]'.

    Parameters
    ----------
    X, y
        Observations (n, p), one row each, and their rewards (n,).
    candidates
        Rows (K, p) of the arms; by default the distinct rows of X, in their order.
    means
        The candidates' mean rewards (K,); by default averages of y over the equal rows of X.
    names
        K labels.
    hidden, width
        Sizes of the layers before the last one, and of that.
    test_size
        Share of the rows, drawn at random, that is left out of the training to test it.
    split
        What is drawn for that: `"rows"`, so that R^2 in test is for new measurements of known
        candidates where rows repeat; or `"candidates"`, all equal rows together, so that it is for
        candidates that the training has not seen.
    seed
        Of the split, the network's first weights and the order of the rows.
    epochs
        Most passes over the rows; fewer where the loss no longer falls.
    standardize
        Scale each column of X to unit variance; otherwise one scale for all columns.
    intercept
        What becomes of the network's last intercept: `"feature"`, a constant feature, so that d is
        width + 1; or `"fold"`, added along theta. Neither loses anything.
    progress
        Called after every epoch with its number, `epochs` and the loss.

    Returns
    -------
    Representation
        The candidates' features, the parameters, and how far means are from linear in them.

    Raises
    ------
    ProblemError
        Where an argument is wrong, or the data cannot be learned from.
    MissingPackageError
        Without scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> learned = learn(X, y, hidden=(16,), width=4, epochs=50)
    >>> learned.features.shape, learned.theta.shape
    ((60, 5), (5,))
    >>> learned.least_misspecification <= learned.misspecification
    True
    """
    rows = as_array(X, "X", 2, "one row per observation")
    rewards = as_vector(y, "y", rows.shape[0], what="one reward per row of X")
    recipe = Recipe(hidden, width, test_size, epochs, standardize, seed, split).checked()  # type: ignore[arg-type]  # checked() makes a tuple of them
    if not is_one_of(intercept, get_args(Intercept)):
        raise ProblemError(f'intercept must be "feature" or "fold"; got {shown(intercept)}')
    arms = _distinct(rows) if candidates is None else _as_candidates(candidates, rows.shape[1])
    if len(arms) < 2:
        raise ProblemError(f"candidates must be at least 2 distinct rows; got {len(arms)}")
    rewarded = (
        _averages(rows, rewards, arms) if means is None else as_vector(means, "means", len(arms))
    )
    labels = None if names is None else as_labels(names, len(arms))
    network = train(rows, rewards, recipe, progress)
    return represent(network, arms, rewarded, labels, intercept)


def _as_candidates(candidates: Any, columns: int) -> Matrix:
    arms = as_array(candidates, "candidates", 2, "one row per arm")
    if arms.shape[1] != columns:
        raise ProblemError(f"candidates must have {columns} columns, as X has; got {arms.shape[1]}")
    return arms


def _distinct(rows: Matrix) -> Matrix:
    return rows[np.unique(numbered(rows), return_index=True)[1]]


def _averages(rows: Matrix, rewards: Vector, arms: Matrix) -> Vector:
    """The mean reward of the rows that equal each arm's."""
    sums = {key_of(arm): (0.0, 0) for arm in arms}
    for row, reward in zip(rows, rewards.tolist(), strict=True):
        total, count = sums.get(key_of(row), (0.0, -1))
        if count >= 0:
            sums[key_of(row)] = total + reward, count + 1
    means = np.empty(len(arms))
    for k, arm in enumerate(arms):
        total, count = sums[key_of(arm)]
        if count == 0:
            raise ProblemError(
                f"means must be given, because candidate {k} equals no row of X to average"
            )
        means[k] = total / count
    return means
