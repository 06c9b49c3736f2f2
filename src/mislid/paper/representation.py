"""From raw data to a linear model with a measured misspecification (the paper's Section 5).

A network learns features in which rewards are nearly linear; fewer features cost more.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

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
    as_noise,
    as_number,
    as_top_m,
    as_vector,
    is_one_of,
)
from mislid.errors import FileFormatError, MissingPackageError, ProblemError
from mislid.geometry.spanner import initial_pulls
from mislid.geometry.time import characteristic_curve
from mislid.geometry.tube import smallest_misspecification
from mislid.io import read_sheet
from mislid.model import Instance, Model

__all__ = ["Choice", "Observations", "Representation", "learn", "read_observations"]

Rows = NDArray[np.intp]
Order = Literal["variance", "prediction"]
Split = Literal["rows", "candidates"]
EpochListener = Callable[[int, int, float], None]
"""Called with the epoch, the number of epochs and the loss."""

# Rows a step: few enough that an epoch of a short table is several steps.
SMALLEST, LARGEST, STEPS = 16, 256, 16
# Training ends after so many epochs in which the loss fell by less than TOLERANCE in all; the
# loss is half the mean squared error in units of the rewards' variance.
PATIENCE, TOLERANCE = 10, 1e-4
# Units of a layer; two such layers have 800 MB of weights between them.
WIDEST = 10_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of features, and its costs.

    Attributes
    ----------
    order, d
        The arguments of `Representation.reduce`.
    misspecification, time
        Largest absolute error of the network's own predictions in these features, and the
        characteristic time in a tube of that width.
    least_misspecification, least_time
        The same for the theta of least error.
    condition
        Largest by smallest singular value of the features.
    pulls, white_pulls
        Length of the initial design that the paper's analysis asks for (`rule="eigenvalue"`),
        with these features and after whitening; inf where it is beyond counting.
    """

    order: str
    d: int
    misspecification: float
    least_misspecification: float
    condition: float
    pulls: float
    white_pulls: float
    time: float
    least_time: float


@dataclass(frozen=True, eq=False, repr=False)
class Representation:
    """Means of K candidates as a linear model: `features @ theta` up to `misspecification`.

    Attributes
    ----------
    features
        Shape (K, d), one row per candidate.
    theta
        The network's own parameters (d,) in these coordinates.
    means
        Average rewards of the candidates (K,).
    names
        Their labels, or None.
    r2_train, r2_test
        Share of the rewards' variance explained on the rows that the network was trained on and on
        those left out; nan where all rewards of that part are equal.
    tested
        Indices of the rows left out.
    epochs
        Passes of the training over the rows.

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
    >>> one, both = small.trade_off(m=3, rtol=0.1)[:2]
    >>> one.d < both.d and one.misspecification > both.misspecification
    True
    """

    features: Matrix
    theta: Vector
    means: Vector
    names: Labels | None = None
    r2_train: float = math.nan
    r2_test: float = math.nan
    tested: tuple[int, ...] = ()
    epochs: int = 0

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
        """The same for the best theta there is: the smallest tube that contains the means."""
        return smallest_misspecification(self.features, self.means)

    @cached_property
    def _singular(self) -> Vector:
        return np.asarray(np.linalg.svd(self.features, compute_uv=False), dtype=np.float64)

    @property
    def rank(self) -> int:
        """Dimension that the features span; units that never fire do not count."""
        tolerance = 10 * max(self.features.shape) * np.finfo(np.float64).eps
        return int(np.count_nonzero(self._singular > tolerance * self._singular[0]))

    @property
    def condition(self) -> float:
        """Largest by smallest singular value of the features; infinite where they are dependent."""
        return float(self._singular[0] / self._singular[-1]) if self.rank == self.d else math.inf

    def reduce(
        self, d: int | None = None, *, order: Order = "variance", whiten: bool = False
    ) -> Representation:
        """The same candidates with d orthogonal features; without d as many as their rank.

        All of them lose nothing: predictions and the span stay the same. Fewer lose some of it.

        Parameters
        ----------
        d
            Number of features, at most their rank.
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
            The same means with other features and theta.

        Raises
        ------
        ProblemError
            Where d is no integer from 1 to the rank, or there is no such order.
        """
        if not is_one_of(order, get_args(Order)):
            raise ProblemError(f'order must be "variance" or "prediction"; got {shown(order)}')
        wanted = self.rank if d is None else as_count(d, "d", 1)
        if wanted > self.rank:
            raise ProblemError(f"d must be at most {self.rank}, the features' rank; got {wanted}")
        basis = self._orthonormal(order)[:, :wanted]
        # Rounding aside these are the basis times singular values, whose columns are orthogonal.
        size = np.linalg.norm(self.features.T @ basis, axis=0)
        if whiten:
            size = np.full(wanted, np.sqrt(self.K))
        return replace(self, features=basis * size, theta=(basis.T @ self.predictions) / size)

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

    def trade_off(self, m: int, *, noise: ArrayLike = 1.0, rtol: float = 1e-2) -> list[Choice]:
        """The costs of each number of features, for finding the m best candidates.

        Parameters
        ----------
        m
            Number of candidates to find.
        noise, rtol
            Those of `mislid.characteristic_time`.

        Returns
        -------
        list of Choice
            By order, fewest features first.

        Raises
        ------
        ProblemError
            Where m is no integer from 1 to K - 1, or `noise` or `rtol` is not allowed.
        CertificateError
            Where no characteristic time can be certified.
        """
        m, spread = as_top_m(m, self.K), as_noise(noise, self.K)
        choices = []
        for order in get_args(Order):
            for d in range(1, self.rank + 1):
                plain, white = (
                    self.reduce(d, order=order, whiten=whiten) for whiten in (False, True)
                )
                error = plain.misspecification
                # Of two numbers that differ by rounding the least error may be the larger one.
                widths = error, min(plain.least_misspecification, error)
                model = Model(plain.features, 0.0)
                times = characteristic_curve(model, self.means, m, widths, noise=spread, rtol=rtol)
                pulls = _pulls(plain.features), _pulls(white.features)
                costs = *widths, plain.condition, *pulls, *(time.value for time in times)
                choices.append(Choice(order, d, *costs))
        return choices

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


def _pulls(features: Matrix) -> float:
    try:
        return initial_pulls(Model(features, 0.0))
    except ProblemError:  # more than can be counted
        return math.inf


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
    progress: EpochListener | None = None,
) -> Representation:
    """Learn features in which rewards are nearly linear, and measure how nearly.

    A network with rectified linear units is trained to predict y (n,) from X (n, p). The
    activations of its last hidden layer, of `width` units, and a constant become the candidates'
    features, the parameters after it theta (the paper's Section 5 and its appendix on extracting
    representations). The same arguments give the same numbers. Needs scikit-learn:
    pip install 'mislid[representation]'.

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
    if not isinstance(hidden, Sequence):
        raise ProblemError(f"hidden must be a list of layer sizes; got {shown(hidden)}")
    layers = [as_count(size, "hidden", 1, WIDEST) for size in hidden]
    layers.append(as_count(width, "width", 1, WIDEST))
    epochs, seed = as_count(epochs, "epochs", 1), as_count(seed, "seed", 0, LARGEST_SEED)
    if candidates is None:
        arms = rows[np.unique(numbered(rows), return_index=True)[1]]
    else:
        arms = as_array(candidates, "candidates", 2, "one row per arm")
    if len(arms) < 2 or arms.shape[1] != rows.shape[1]:
        raise ProblemError(
            f"candidates must be at least 2 distinct rows of {rows.shape[1]} columns, as X has; "
            f"got {arms.shape[0]} of {arms.shape[1]}"
        )
    averages = as_vector(
        _averages(rows, rewards, arms) if means is None else means, "means", len(arms)
    )
    labels = None if names is None else as_labels(names, len(arms))
    fitted, tested = _split(rows, split, test_size, seed)
    for rule, values in (("X must have a column that varies", rows), ("y must vary", rewards)):
        if not np.ptp(values[fitted], axis=0).any():
            raise ProblemError(f"{rule} in the rows for training; all of these are equal")

    centre, scale = rows[fitted].mean(axis=0), rows[fitted].std(axis=0)
    # Rounding leaves a constant column a spread that is not quite zero.
    scale[(np.ptp(rows[fitted], axis=0) == 0.0) | (scale == 0.0)] = 1.0
    offset, unit = float(rewards[fitted].mean()), float(rewards[fitted].std())
    inputs = ((rows[fitted] - centre) / scale).astype(np.float32)
    outputs = ((rewards[fitted] - offset) / unit).astype(np.float32)
    network = _train(inputs, outputs, layers, seed, epochs, progress)
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
    left_out = tuple(tested.tolist())
    passes = len(network.loss_curve_)
    return Representation(features, theta, averages, labels, r2_train, r2_test, left_out, passes)


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


def _split(rows: Matrix, split: Split, test_size: float, seed: int) -> tuple[Rows, Rows]:
    """The rows to train on and to test on; equal rows in the same part where that is asked."""
    if not is_one_of(split, get_args(Split)):
        raise ProblemError(f'split must be "rows" or "candidates"; got {shown(split)}')
    share = as_number(test_size, "test_size", low=0, high=1, low_open=True, high_open=True)
    part = numbered(rows) if split == "candidates" else np.arange(len(rows))
    sizes = np.bincount(part)
    order = np.random.default_rng(seed).permutation(sizes.size)
    wanted = round(len(rows) * share)
    left_out = 1 + int(np.argmin(np.abs(np.cumsum(sizes[order]) - wanted)))
    if wanted < 2 or not 2 <= left_out <= sizes.size - 2:
        raise ProblemError(
            f"X must have enough {split} for 2 in each part of the split; "
            f"got {sizes.size} {split} with test_size={share:g}"
        )
    tested = np.isin(part, order[:left_out])
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def _train(
    X: NDArray[np.float32],
    y: NDArray[np.float32],
    layers: Sequence[int],
    seed: int,
    epochs: int,
    progress: EpochListener | None,
) -> Any:
    """A trained `MLPRegressor`.

    Linear algebra runs in one thread, so that the same seed gives the same network whatever the
    number of cores.
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
        # A number would shuffle the rows the same way in every epoch.
        random_state=np.random.RandomState(np.random.MT19937(seed)),
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # It turns Ctrl-C into a warning; the next epoch would follow.
        warnings.filterwarnings("error", message="Training interrupted")
        for epoch in range(1, epochs + 1):
            try:
                regressor.partial_fit(X, y)
            except UserWarning:
                raise KeyboardInterrupt from None
            if progress is not None:
                progress(epoch, epochs, float(regressor.loss_))
            earlier = regressor.loss_curve_[:-PATIENCE]
            if earlier and min(earlier) - min(regressor.loss_curve_[-PATIENCE:]) < TOLERANCE:
                break
    return regressor


def _r2(y: Vector, predicted: Vector) -> float:
    around = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - predicted) ** 2)) / around if around > 0.0 else math.nan


def numbered(rows: Matrix) -> Rows:
    """The candidate of every row (n, p), numbered in the order in which they come.

    >>> numbered(np.array([[5.0, 1.0], [2.0, 0.0], [5.0, 1.0], [2.0, -0.0]])).tolist()
    [0, 1, 0, 1]
    """
    found: dict[bytes, int] = {}
    # Adding zero turns -0.0 into 0.0.
    keys = [row.tobytes() for row in rows + 0.0]
    return np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.intp)


class Observations(NamedTuple):
    """Measured rows, and the candidates among them.

    Attributes
    ----------
    X, y
        Features (n, p) and rewards (n,) of the rows.
    candidates, means
        Features (K, p) and average rewards (K,) of the candidates.
    names
        Their names, if there are any.
    """

    X: Matrix
    y: Vector
    candidates: Matrix
    means: Vector
    names: Labels | None


def read_observations(
    path: str | os.PathLike[str],
    *,
    target: str,
    name: str | None = None,
    groups: Iterable[str] = (),
) -> Observations:
    r"""Read a table with a heading line and one line per observation.

    Parameters
    ----------
    path
        A .csv or .xlsx file.
    target
        Heading of the rewards.
    name
        Heading of the candidates' names; by default `name` where there is such a column. Without
        names, lines with the same features are one candidate.
    groups
        Headings of columns that are no features, such as patients or dates.

    Returns
    -------
    Observations
        All rows, and the candidates among them.

    Raises
    ------
    FileFormatError
        Where the file cannot be read, a cell is no number, or a candidate's features differ.
    ProblemError
        Where a column is not there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "measured.csv")
    ...     _ = path.write_text("name,day,x,reward\na,1,0.5,1\nb,1,0.7,3\na,2,0.5,2\n")
    ...     seen = read_observations(path, target="reward", groups=["day"])
    >>> seen.names, seen.means.tolist(), seen.candidates.tolist()
    (('a', 'b'), [1.5, 3.0], [[0.5], [0.7]])
    """
    sheet = read_sheet(path, "observation")
    naming = "name" if name is None and sheet.has("name") else name
    apart = {target, *groups, *([] if naming is None else [naming])}
    columns = [heading for heading in sheet.headings if heading not in apart]
    for heading in sorted(apart):
        sheet.column(heading)
    if not columns:
        raise FileFormatError(
            f"{sheet.path!r} must have a feature column besides target, name and groups; "
            f"got the headings {sheet.listed()}"
        )
    try:
        X = sheet.matrix(columns)
    except FileFormatError as problem:
        problem.add_note("name columns that are no features as groups")
        raise
    y = sheet.numbers(target)
    labels = numbered(X).tolist() if naming is None else sheet.texts(naming)
    members: dict[str | int, list[int]] = {}
    for at, label in enumerate(labels):
        members.setdefault(label, []).append(at)
    if "" in members:
        raise FileFormatError(
            f"{sheet.path!r} must name every candidate; the name in line "
            f"{sheet.line(members[''][0])} is empty"
        )
    if len(members) < 2:
        raise FileFormatError(f"{sheet.path!r} must have at least 2 candidates to choose from")
    for label, rows in members.items():
        for row, column in np.argwhere(X[rows] != X[rows[0]]):
            raise FileFormatError(
                f"{sheet.path!r} must give candidate {label!r} the same features in every line; "
                f"lines {sheet.line(rows[0])} and {sheet.line(rows[row])} differ in column "
                f"{columns[column]!r} (is it a group?)"
            )
    return Observations(
        X=X,
        y=y,
        candidates=X[[first for first, *_ in members.values()]],
        means=np.array([y[rows].mean() for rows in members.values()]),
        names=None if naming is None else tuple(map(str, members)),
    )
