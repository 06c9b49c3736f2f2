"""Networks with a narrow last hidden layer, in whose units the reward is linear."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from mislid._formatting import shown
from mislid._validation import (
    LARGEST_SEED,
    Matrix,
    Vector,
    as_array,
    as_count,
    as_number,
    is_one_of,
)
from mislid.errors import MissingPackageError, ProblemError
from mislid.paper.representation.observations import Rows, numbered

if TYPE_CHECKING:
    from sklearn.neural_network import MLPRegressor

Split = Literal["rows", "candidates"]
EpochListener = Callable[[int, int, float], None]
"""Called with the epoch, the number of epochs and the loss."""

# Rows a step: few enough that an epoch of a short table is several steps.
SMALLEST, LARGEST, STEPS = 16, 256, 16
# Training ends after so many epochs in which the loss fell by less than TOLERANCE in all; the
# loss is half the mean squared error in units of the rewards' variance.
PATIENCE, TOLERANCE = 10, 1e-4
# Units of a layer; two such layers have 800 MB of weights between them.
_WIDEST = 10_000


class Recipe(NamedTuple):
    """How to train: sizes of the layers, what is left out for the test, what ends it, the seed."""

    hidden: tuple[int, ...] = (256, 256)
    width: int = 8
    test_size: float = 0.2
    epochs: int = 200
    standardize: bool = True
    seed: int = 0
    split: Split = "rows"

    def checked(self) -> Recipe:
        """The same with plain numbers, or one sentence on what is wrong."""
        if not isinstance(self.hidden, Sequence):
            raise ProblemError(f"hidden must be a list of layer sizes; got {shown(self.hidden)}")
        if not is_one_of(self.split, get_args(Split)):
            raise ProblemError(f'split must be "rows" or "candidates"; got {shown(self.split)}')
        return self._replace(
            hidden=tuple(as_count(size, "hidden", 1, _WIDEST) for size in self.hidden),
            width=as_count(self.width, "width", 1, _WIDEST),
            test_size=as_number(
                self.test_size, "test_size", low=0, high=1, low_open=True, high_open=True
            ),
            epochs=as_count(self.epochs, "epochs", 1),
            standardize=bool(self.standardize),
            seed=as_count(self.seed, "seed", 0, LARGEST_SEED),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Network:
    """Rewards predicted as `activations(X) @ theta + intercept`.

    Attributes
    ----------
    weights, biases
        Of the layers, the last hidden one included.
    theta, intercept
        Of the layer after it: (width,) and a number.
    centre, scale
        What is subtracted from each column of X (p,), and by what it is divided.
    r2_train, r2_test
        Share of the rewards' variance explained on the rows trained on and on those left out;
        nan where the rewards of that part are all equal.
    train, test
        Indices of these rows.
    losses
        Of every epoch: half the mean squared error in units of the rewards' variance.

    Examples
    --------
    >>> from mislid.paper.representation import learn
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> network = learn(X, np.abs(X[:, 0]) + X[:, 1], hidden=(16,), width=4, epochs=50).network
    >>> hidden = network.activations(X[:5])
    >>> hidden.shape
    (5, 4)
    >>> bool(np.allclose(network.predict(X[:5]), hidden @ network.theta + network.intercept))
    True
    """

    weights: tuple[Matrix, ...]
    biases: tuple[Vector, ...]
    theta: Vector
    intercept: float
    centre: Vector
    scale: Vector
    r2_train: float
    r2_test: float
    train: Rows
    test: Rows
    losses: tuple[float, ...]

    def activations(self, X: object) -> Matrix:
        """The last hidden layer's output.

        Parameters
        ----------
        X
            Rows (n, p) like those trained on.

        Returns
        -------
        numpy.ndarray
            Shape (n, width).

        Raises
        ------
        ProblemError
            Where X is no matrix of finite numbers, or has another number of columns.
        """
        rows = as_array(X, "X", 2, "one row per observation")
        if rows.shape[1] != self.centre.size:
            raise ProblemError(
                f"X must have {self.centre.size} columns, as the rows trained on; "
                f"got {rows.shape[1]}"
            )
        layer: Matrix = (rows - self.centre) / self.scale
        for weights, biases in zip(self.weights, self.biases, strict=True):
            layer = np.maximum(layer @ weights + biases, 0.0)
        return layer

    def predict(self, X: object) -> Vector:
        """The predicted rewards.

        Parameters
        ----------
        X
            What `activations` takes.

        Returns
        -------
        numpy.ndarray
            One reward per row (n,).

        Raises
        ------
        ProblemError
            Where `activations` refuses X.
        """
        predictions: Vector = self.activations(X) @ self.theta + self.intercept
        return predictions


def train(X: Matrix, y: Vector, recipe: Recipe, progress: EpochListener | None = None) -> Network:
    """Train on a random part of the rows X (n, p) with rewards y (n,), and test on the others.

    Columns and rewards are centred and scaled by what the part trained on shows. Linear algebra
    runs in one thread, so that the same seed gives the same network whatever the number of cores.
    `progress` is called after every epoch with its number, the most there may be, and the loss.
    """
    recipe = recipe.checked()
    _refuse_untrainable(X, y)
    fitting, testing = _split(X, recipe)
    _refuse_constant(y[fitting], "the rows drawn for training")
    centre, scale = _units(X[fitting], recipe.standardize)
    offset, unit = float(y[fitting].mean()), float(y[fitting].std())
    fitted, losses = _fit(
        ((X[fitting] - centre) / scale).astype(np.float32),
        ((y[fitting] - offset) / unit).astype(np.float32),
        recipe,
        progress,
    )
    *weights, out = (np.asarray(layer, dtype=np.float64) for layer in fitted.coefs_)
    *biases, last = (np.asarray(layer, dtype=np.float64) for layer in fitted.intercepts_)
    network = Network(
        weights=tuple(weights),
        biases=tuple(biases),
        theta=unit * out[:, 0],
        intercept=unit * float(last[0]) + offset,
        centre=centre,
        scale=scale,
        r2_train=math.nan,  # from the network's own predictions, below
        r2_test=math.nan,
        train=fitting,
        test=testing,
        losses=tuple(losses),
    )
    r2_train, r2_test = (_r2(y[rows], network.predict(X[rows])) for rows in (fitting, testing))
    return replace(network, r2_train=r2_train, r2_test=r2_test)


def _fit(
    X: Matrix, y: Vector, recipe: Recipe, progress: EpochListener | None
) -> tuple[MLPRegressor, list[float]]:
    try:
        from sklearn.neural_network import MLPRegressor
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingPackageError(
            "learning a representation needs scikit-learn (pip install 'mislid[representation]')"
        ) from None
    regressor = MLPRegressor(
        hidden_layer_sizes=(*recipe.hidden, recipe.width),
        batch_size=min(max(y.size // STEPS, SMALLEST), LARGEST, y.size),
        # A number would shuffle the rows the same way in every epoch.
        random_state=np.random.RandomState(np.random.MT19937(recipe.seed)),
    )
    losses: list[float] = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # It turns Ctrl-C into a warning; the next epoch would follow.
        warnings.filterwarnings("error", message="Training interrupted")
        while len(losses) < recipe.epochs and not _settled(losses):
            try:
                regressor.partial_fit(X, y)
            except UserWarning:
                raise KeyboardInterrupt from None
            losses.append(float(regressor.loss_))
            if progress is not None:
                progress(len(losses), recipe.epochs, losses[-1])
    return regressor, losses


def _settled(losses: list[float]) -> bool:
    if len(losses) <= PATIENCE:
        return False
    return min(losses[:-PATIENCE]) - min(losses[-PATIENCE:]) < TOLERANCE


def _r2(y: Vector, predicted: Vector) -> float:
    around = float(np.sum((y - y.mean()) ** 2))
    return 1.0 - float(np.sum((y - predicted) ** 2)) / around if around > 0.0 else math.nan


def _units(X: Matrix, standardize: bool) -> tuple[Vector, Vector]:
    """Centre and scale of the columns; one scale for all keeps what their sizes say."""
    centre, spread = X.mean(axis=0), X.std(axis=0)
    if not standardize:
        spread = np.full(spread.size, math.sqrt(float(np.mean(spread**2))))
    # Rounding leaves a constant column a spread that is not quite zero.
    constant = np.ptp(X, axis=0) == 0.0
    return centre, np.where(constant | (spread == 0.0), 1.0, spread)


def _split(X: Matrix, recipe: Recipe) -> tuple[Rows, Rows]:
    """The rows to train on and to test on; equal rows in the same part where that is asked."""
    part = numbered(X) if recipe.split == "candidates" else np.arange(len(X))
    sizes = np.bincount(part)
    order = np.random.default_rng(recipe.seed).permutation(sizes.size)
    wanted = round(len(X) * recipe.test_size)
    left_out = 1 + int(np.argmin(np.abs(np.cumsum(sizes[order]) - wanted)))
    if wanted < 2 or not 2 <= left_out <= sizes.size - 2:
        raise ProblemError(
            f"X must have enough {recipe.split} for 2 in each part of the split; "
            f"got {sizes.size} {recipe.split} with test_size={recipe.test_size:g}"
        )
    tested = np.isin(part, order[:left_out])
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def _refuse_untrainable(X: Matrix, y: Vector) -> None:
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ProblemError(f"X must have rows and columns; got shape {X.shape}")
    if not np.ptp(X, axis=0).any():
        raise ProblemError(
            f"X must have a column that varies; all {X.shape[1]} are constant, "
            "so there is nothing to learn from"
        )
    _refuse_constant(y, "all rows")


def _refuse_constant(y: Vector, where: str) -> None:
    if np.ptp(y) == 0.0:
        raise ProblemError(f"y must vary; got {float(y[0]):g} in {where}")
