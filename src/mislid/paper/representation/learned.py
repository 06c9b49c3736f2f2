"""Learned representations: candidates in a network's last layer, and with fewer features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mislid._formatting import shown
from mislid._validation import (
    Labels,
    Matrix,
    Vector,
    as_array,
    as_count,
    as_labels,
    as_number,
    as_vector,
    is_one_of,
)
from mislid.errors import ProblemError
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model, WithFeatures
from mislid.paper.representation.network import EpochListener, Network, Recipe, Split, train
from mislid.paper.representation.observations import numbered
from mislid.paper.representation.trade_off import Order, TradeOff, refuse_other_orders, weigh

Intercept = Literal["feature", "fold"]


@dataclass(frozen=True, eq=False, repr=False)
class Representation(WithFeatures):
    """Means of K candidates as a linear model: `features @ theta` up to `misspecification`.

    Attributes
    ----------
    network
        What was trained, with `r2_train` and `r2_test`.
    features
        Shape (K, d), one row per candidate.
    theta
        The network's own parameters (d,) in these coordinates.
    means
        Average rewards of the candidates (K,).
    names
        Their labels, or None.

    Examples
    --------
    >>> from mislid.paper.representation import learn
    >>> X = np.random.default_rng(3).normal(size=(30, 3))
    >>> learned = learn(X, np.abs(X[:, 0]) + X[:, 1], hidden=(16,), width=4, epochs=200)
    >>> learned.d
    5
    >>> small = learned.reduce(2, order="prediction")  # fewer features, the same predictions
    >>> small.features.shape, bool(np.allclose(small.predictions, learned.predictions))
    ((30, 2), True)
    >>> small.to_instance(noise=0.5).K
    30
    >>> one, both = small.trade_off(m=3, rtol=0.1).of("variance")
    >>> one.d < both.d and one.misspecification > both.misspecification
    True
    """

    network: Network
    features: Matrix
    theta: Vector
    means: Vector
    names: Labels | None = None

    @property
    def r2_train(self) -> float:
        """Share of the rewards' variance explained on the rows that the network was trained on.

        It is nan where all these rewards are equal.
        """
        return self.network.r2_train

    @property
    def r2_test(self) -> float:
        """Share of the rewards' variance explained on the rows that the network has not seen.

        It is nan where all these rewards are equal.
        """
        return self.network.r2_test

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
        """The same for the best theta there is: the smallest tube that contains the means."""
        return smallest_misspecification(self.features, self.means)

    @cached_property
    def rank(self) -> int:
        """Dimension that the features span; units that never fire do not count."""
        singular = np.linalg.svd(self.features, compute_uv=False)
        tolerance = 10 * max(self.features.shape) * np.finfo(np.float64).eps
        return int(np.count_nonzero(singular > tolerance * singular[0]))

    @property
    def condition(self) -> float:
        """Largest by smallest singular value of the features; infinite where they are dependent."""
        singular = np.linalg.svd(self.features, compute_uv=False)
        return float(singular[0] / singular[-1]) if self.rank == self.d else float("inf")

    def reduce(
        self,
        d: int | None = None,
        *,
        within: float | None = None,
        order: Order = "variance",
        whiten: bool = False,
    ) -> Representation:
        """The same candidates with d orthogonal features; without d as many as their rank.

        All of them lose nothing: predictions and the span stay the same. Fewer lose some of it.

        Parameters
        ----------
        d
            Number of features, at most their rank.
        within
            In place of d: as few features as keep the misspecification at most so large.
        order
            Which directions come first: `"variance"`, those along which the candidates spread most
            (a truncated singular value decomposition, whose predictions get worse with every
            direction that goes); or `"prediction"`, the predictions themselves, so that they
            stay as they are for every d, and then the spread of what is left.
        whiten
            Scale all features to the same spread; the condition becomes 1 and the span stays.

        Returns
        -------
        Representation
            The same network and means with other features and theta.

        Raises
        ------
        ProblemError
            Where d is no integer from 1 to the rank, no number of features is `within`, both are
            given, or there is no such order.
        """
        refuse_other_orders(order)
        if within is not None:
            return self._within(d, within, order, whiten)
        wanted = self.rank if d is None else as_count(d, "d", 1)
        if wanted > self.rank:
            raise ProblemError(f"d must be at most {self.rank}, the features' rank; got {wanted}")
        basis = self._orthonormal(order)[:, :wanted]
        # Rounding aside these are the basis times singular values, whose columns are orthogonal.
        size = np.linalg.norm(self.features.T @ basis, axis=0)
        if whiten:
            size = np.full(wanted, np.sqrt(self.K))
        return replace(self, features=basis * size, theta=(basis.T @ self.predictions) / size)

    def _within(self, d: int | None, within: float, order: Order, whiten: bool) -> Representation:
        if d is not None:
            raise ProblemError(f"d or within must be given, not both; got {d} and {within}")
        allowed = as_number(within, "within", low=0, high=math.inf)
        reduced = [self.reduce(n, order=order, whiten=whiten) for n in range(1, self.rank + 1)]
        for representation in reduced:
            if representation.misspecification <= allowed:
                return representation
        least = min(representation.misspecification for representation in reduced)
        raise ProblemError(
            f"within must be at least {least:.4g}, the misspecification of the best choice; "
            f"got {allowed:g}"
        )

    def trade_off(self, m: int, *, noise: ArrayLike = 1.0, rtol: float = 1e-2) -> TradeOff:
        """What each number of features costs, for finding the m best candidates.

        Parameters
        ----------
        m
            Number of candidates to find.
        noise, rtol
            Those of `mislid.characteristic_time`.

        Returns
        -------
        TradeOff
            Misspecification, characteristic time and initial design of every choice.

        Raises
        ------
        ProblemError
            Where m is no integer from 1 to K - 1, or `noise` or `rtol` is not allowed.
        CertificateError
            Where no characteristic time can be certified.
        """
        reduced = [
            (order, self.reduce(d, order=order), self.reduce(d, order=order, whiten=True))
            for order in get_args(Order)
            for d in range(1, self.rank + 1)
        ]
        return weigh(reduced, self.means, m, noise, rtol)

    def to_instance(
        self, *, noise: ArrayLike = 1.0, misspecification: float | None = None
    ) -> Instance:
        """The instance that algorithms run on.

        Parameters
        ----------
        noise
            Standard deviation of rewards: one for all candidates, or one for each.
        misspecification
            What the model declares; by default the `misspecification` measured here.

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

    def _orthonormal(self, order: Order) -> Matrix:
        """Basis (K, rank) of the features' span, the most important directions first."""
        predictions = self.predictions
        length = float(np.linalg.norm(predictions))
        first = np.empty((self.K, 0))
        if order == "prediction" and length > 0.0:
            first = (predictions / length)[:, None]
        rest = self.features - first @ (first.T @ self.features)
        left = np.linalg.svd(rest, full_matrices=False)[0][:, : self.rank - first.shape[1]]
        return np.hstack([first, left])


def represent(
    network: Network,
    candidates: Matrix,
    means: Vector,
    names: Labels | None,
    intercept: Intercept,
) -> Representation:
    """The candidates (K, p) in the network's last layer, with its parameters.

    The layer's parameters are theta and an intercept b: predictions are h'theta + b for
    activations h. `"feature"` makes (h, 1) the features and (theta, b) the parameters: the model
    does not change with the origin of the rewards, as the question for the best does not.
    `"fold"` saves that dimension: h + theta b / |theta|^2 with parameters theta predicts the same.
    """
    activations, theta, b = network.activations(candidates), network.theta, network.intercept
    if not activations.any():
        raise ProblemError(
            "candidates must excite the network; all units of its last layer are 0 for them, "
            "try another seed or a larger width"
        )
    if intercept == "feature":
        features = np.hstack([activations, np.ones((len(activations), 1))])
        return Representation(network, features, np.append(theta, b), means, names)
    square = float(theta @ theta)
    if square == 0.0:
        raise ProblemError('intercept="fold" needs a network that is not constant; use "feature"')
    return Representation(network, activations + theta * (b / square), theta, means, names)


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
    if candidates is None:
        arms = rows[np.unique(numbered(rows), return_index=True)[1]]
    else:
        arms = as_array(candidates, "candidates", 2, "one row per arm")
    if arms.shape[1] != rows.shape[1]:
        raise ProblemError(
            f"candidates must have {rows.shape[1]} columns, as X has; got {arms.shape[1]}"
        )
    if len(arms) < 2:
        raise ProblemError(f"candidates must be at least 2 distinct rows; got {len(arms)}")
    averages = _averages(rows, rewards, arms) if means is None else means
    rewarded = as_vector(averages, "means", len(arms))
    labels = None if names is None else as_labels(names, len(arms))
    network = train(rows, rewards, recipe, progress)
    return represent(network, arms, rewarded, labels, intercept)


def _averages(rows: Matrix, rewards: Vector, arms: Matrix) -> Vector:
    """The mean reward of the rows that equal each arm's."""
    numbers = numbered(np.vstack([arms, rows]))
    arm, row = numbers[: len(arms)], numbers[len(arms) :]
    counts = np.bincount(row, minlength=len(numbers))[arm]
    if not counts.all():
        raise ProblemError(
            f"means must be given, because candidate {int(np.argmin(counts))} equals no row of X "
            "to average"
        )
    means: Vector = np.bincount(row, rewards, minlength=len(numbers))[arm] / counts
    return means
