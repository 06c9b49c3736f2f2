"""Learned representations: linear models with a measured misspecification (Section 5).

A network learns features in which rewards are nearly linear. Fewer features have a larger
misspecification.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._formatting import shown
from mislid._validation import (
    LARGEST_SEED,
    Labels,
    Matrix,
    Vector,
    as_array,
    as_count,
    as_labels,
    as_vector,
)
from mislid.errors import MissingPackageError, ProblemError
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model

__all__ = ["Representation", "learn"]

Rows = NDArray[np.intp]

# Share of the rows that is held out for testing.
TESTED = 0.2
# Batch size: few enough rows that an epoch of a short table has several steps.
SMALLEST, LARGEST, STEPS = 16, 256, 16
# Training ends after PATIENCE epochs in which the loss fell by less than TOLERANCE in total. The
# loss is half the mean squared error in units of the rewards' variance.
PATIENCE, TOLERANCE = 10, 1e-4
# Most units of a layer; the weights between two such layers take 800 MB.
WIDEST = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Representation:
    """A linear model of the means of K candidates: `features @ theta` up to `misspecification`.

    Attributes
    ----------
    features
        Shape (K, d), one row per candidate.
    theta
        The network's last-layer parameters (d,) in these coordinates.
    means
        Average rewards of the candidates (K,).
    names
        Their labels, or None.
    r2_train, r2_test
        Share of the rewards' variance explained on the training rows and on the held-out rows; nan
        where all rewards of that part are equal.
    tested
        Indices of the held-out rows.

    Examples
    --------
    >>> from mislid.paper.representation import learn
    >>> X = np.random.default_rng(3).normal(size=(30, 3))
    >>> learned = learn(X, np.abs(X[:, 0]) + X[:, 1], hidden=(16,), width=4, epochs=200)
    >>> learned.d
    5
    >>> small = learned.reduce(2)
    >>> small.features.shape, small.to_instance(noise=0.5).K
    ((30, 2), 30)
    >>> small.misspecification > learned.misspecification
    True
    """

    features: Matrix
    theta: Vector
    means: Vector
    names: Labels | None = None
    r2_train: float = math.nan
    r2_test: float = math.nan
    tested: tuple[int, ...] = ()

    @property
    def K(self) -> int:
        """Number of candidates."""
        return int(self.features.shape[0])

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def predictions(self) -> Vector:
        """The linear model's means, features @ theta (K,)."""
        predictions: Vector = self.features @ self.theta
        return predictions

    @property
    def misspecification(self) -> float:
        """The largest absolute error of the predictions, `max_k |means - features @ theta|_k`."""
        return float(np.max(np.abs(self.means - self.predictions)))

    @cached_property
    def least_misspecification(self) -> float:
        """The misspecification for the best theta: the smallest tube that contains the means."""
        return smallest_misspecification(self.features, self.means)

    @property
    def rank(self) -> int:
        """Dimension of the features' span; units that are always 0 do not count."""
        tolerance = 10 * max(self.features.shape) * np.finfo(np.float64).eps
        values = np.linalg.svd(self.features, compute_uv=False)
        return int(np.count_nonzero(values > tolerance * values[0]))

    def reduce(self, d: int | None = None) -> Representation:
        """Reduce the features to d orthogonal ones, scaled to the same spread.

        They are the directions of largest spread, by a singular value decomposition. By default
        their number is the rank, and predictions and span stay the same.

        Parameters
        ----------
        d
            Number of features, at most their rank.

        Returns
        -------
        Representation
            The same means with other features and theta.

        Raises
        ------
        ProblemError
            Where d is not an integer from 1 to the rank.
        """
        wanted = self.rank if d is None else as_count(d, "d", 1)
        if wanted > self.rank:
            raise ProblemError(f"d must be at most {self.rank}, the features' rank; got {wanted}")
        basis = np.linalg.svd(self.features, full_matrices=False)[0][:, :wanted]
        size = math.sqrt(self.K)
        return replace(self, features=size * basis, theta=basis.T @ self.predictions / size)

    def to_instance(
        self, *, noise: ArrayLike = 1.0, misspecification: float | None = None
    ) -> Instance:
        """The instance of this model and these means.

        Parameters
        ----------
        noise
            Standard deviation of rewards: one for all candidates, or one for each.
        misspecification
            The declared misspecification; by default the measured one.

        Returns
        -------
        Instance
            Its means are those of the candidates.

        Raises
        ------
        ProblemError
            Where `noise` is not above 0 or has another number of entries, or `misspecification`
            is less than 0.
        """
        declared = self.misspecification if misspecification is None else misspecification
        return Instance(Model(self.features, declared), self.means, noise, self.names)

    def __repr__(self) -> str:
        return (
            f"Representation(K={self.K}, d={self.d}, misspecification={self.misspecification:.3g}, "
            f"R^2 {self.r2_train:.3f} in training and {self.r2_test:.3f} in test)"
        )


def learn(
    X: ArrayLike,
    y: ArrayLike,
    *,
    candidates: ArrayLike | None = None,
    means: ArrayLike | None = None,
    names: Iterable[str] | Iterable[int] | None = None,
    hidden: Sequence[int] = (256, 256),
    width: int = 8,
    seed: int = 0,
    epochs: int = 200,
) -> Representation:
    """Learn features in which rewards are nearly linear, and measure the misspecification.

    A network with rectified linear units is trained to predict y (n,) from X (n, p). The
    activations of its last hidden layer, of `width` units, and a constant become the candidates'
    features, the parameters after it theta (the paper's Section 5 and its appendix on extracting
    representations). The same arguments give the same numbers. Needs scikit-learn:
    pip install 'mislid[representation]'.

    Parameters
    ----------
    X, y
        Observations (n, p), one row each, and their rewards (n,).
    candidates, means
        Rows (K, p) of the arms and their mean rewards (K,); by default the distinct rows of X, in
        their order, and the averages of y over equal rows.
    names
        K labels.
    hidden, width
        Sizes of the hidden layers before the last one, and of the last one.
    seed
        Seed of the split, the initial weights and the order of the rows.
    epochs
        Most passes over the rows; training ends earlier if the loss no longer falls.

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
    if not isinstance(hidden, Sequence):
        raise ProblemError(f"hidden must be a list of layer sizes; got {shown(hidden)}")
    layers = [as_count(size, "hidden", 1, WIDEST) for size in hidden]
    layers.append(as_count(width, "width", 1, WIDEST))
    epochs, seed = as_count(epochs, "epochs", 1), as_count(seed, "seed", 0, LARGEST_SEED)
    if (candidates is None) is not (means is None):
        raise ProblemError("candidates and means must be given together, or neither of them")
    if candidates is None:
        arms, averages = _distinct(rows, rewards)
    else:
        arms = as_array(candidates, "candidates", 2, "one row per arm")
        averages = as_vector(means, "means", len(arms))
    if len(arms) < 2 or arms.shape[1] != rows.shape[1]:
        raise ProblemError(
            f"candidates must be at least 2 distinct rows of {rows.shape[1]} columns, as X has; "
            f"got {arms.shape[0]} of {arms.shape[1]}"
        )
    labels = None if names is None else as_labels(names, len(arms))
    fitted, tested = _split(len(rows), seed)
    for rule, values in (("X must have a column that varies", rows), ("y must vary", rewards)):
        if not np.ptp(values[fitted], axis=0).any():
            raise ProblemError(f"{rule} in the rows for training; all of these are equal")

    centre, scale = rows[fitted].mean(axis=0), rows[fitted].std(axis=0)
    # By rounding, the spread of a constant column may differ from zero.
    scale[(np.ptp(rows[fitted], axis=0) == 0.0) | (scale == 0.0)] = 1.0
    offset, unit = float(rewards[fitted].mean()), float(rewards[fitted].std())
    inputs = ((rows[fitted] - centre) / scale).astype(np.float32)
    outputs = ((rewards[fitted] - offset) / unit).astype(np.float32)
    network = _train(inputs, outputs, layers, seed, epochs)
    *weights, out = (np.asarray(layer, dtype=np.float64) for layer in network.coefs_)
    *biases, last = (np.asarray(layer, dtype=np.float64) for layer in network.intercepts_)
    theta = np.append(unit * out[:, 0], unit * float(last[0]) + offset)

    def features_of(some: Matrix) -> Matrix:
        layer = (some - centre) / scale
        for weight, bias in zip(weights, biases, strict=True):
            layer = np.maximum(layer @ weight + bias, 0.0)
        return np.hstack([layer, np.ones((len(layer), 1))])

    features = features_of(arms)
    if not features[:, :-1].any():
        raise ProblemError(
            "candidates must excite the network; all units of its last layer are 0 for them, "
            "try another seed or a larger width"
        )
    r2_train, r2_test = (
        _r2(rewards[part], features_of(rows[part]) @ theta) for part in (fitted, tested)
    )
    scores = r2_train, r2_test, tuple(tested.tolist())
    return Representation(features, theta, averages, labels, *scores)


def _distinct(rows: Matrix, rewards: Vector) -> tuple[Matrix, Vector]:
    """The distinct rows, in order of first occurrence, and the mean reward of each."""
    # Adding zero turns -0.0 into 0.0.
    kept, first, group = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    means = np.bincount(group.ravel(), rewards) / np.bincount(group.ravel())
    order = np.argsort(first)
    return kept[order], means[order]


def _split(n: int, seed: int) -> tuple[Rows, Rows]:
    """The rows to train on and to test on."""
    left_out = round(TESTED * n)
    if left_out < 2:
        raise ProblemError(f"X must have at least 8 rows, to train and to test; got {n}")
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[left_out:]), np.sort(order[:left_out])


def _train(
    X: NDArray[np.float32],
    y: NDArray[np.float32],
    layers: Sequence[int],
    seed: int,
    epochs: int,
) -> Any:
    """Train an `MLPRegressor`.

    Linear algebra runs in one thread, so the network does not depend on the number of cores.
    """
    try:
        from sklearn.neural_network import MLPRegressor
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingPackageError(
            "learning a representation needs scikit-learn (pip install 'mislid[representation]')"
        ) from None
    regressor = MLPRegressor(
        hidden_layer_sizes=tuple(layers),
        batch_size=min(max(y.size // STEPS, SMALLEST), LARGEST, y.size),
        # An integer seed would shuffle the rows in the same way in every epoch.
        random_state=np.random.RandomState(np.random.MT19937(seed)),
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # scikit-learn turns Ctrl-C into a warning and would train on.
        warnings.filterwarnings("error", message="Training interrupted")
        for _ in range(epochs):
            try:
                regressor.partial_fit(X, y)
            except UserWarning:
                raise KeyboardInterrupt from None
            earlier = regressor.loss_curve_[:-PATIENCE]
            if earlier and min(earlier) - min(regressor.loss_curve_[-PATIENCE:]) < TOLERANCE:
                break
    return regressor


def _r2(y: Vector, predicted: Vector) -> float:
    around = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - predicted) ** 2)) / around if around > 0.0 else math.nan
