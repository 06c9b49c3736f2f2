"""Costs of representations with fewer features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from mislid._formatting import as_frame, shown
from mislid._validation import Matrix, Vector, as_noise, as_top_m, is_one_of
from mislid.errors import ProblemError
from mislid.geometry.spanner import initial_pulls
from mislid.geometry.time import characteristic_curve, characteristic_time
from mislid.model import Model

if TYPE_CHECKING:
    from pandas import DataFrame

    from mislid.paper.representation.learned import Representation

Order = Literal["variance", "prediction"]


def refuse_other_orders(order: object) -> None:
    """Refuse orders of features that there are not."""
    if not is_one_of(order, get_args(Order)):
        raise ProblemError(f'order must be "variance" or "prediction"; got {shown(order)}')


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to reduce a representation, and its costs.

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


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Costs of several representations.

    Attributes
    ----------
    m
        Number of best candidates to find.
    choices
        The representations, and their characteristic times.
    unstructured
        The characteristic time without any features.

    Examples
    --------
    >>> from mislid.paper.representation import learn
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(30, 3))
    >>> learned = learn(X, X[:, 0] + rng.normal(size=30), hidden=(8,), width=4, epochs=20)
    >>> found = learned.reduce(2).trade_off(m=2, rtol=0.1)
    >>> found.to_frame().groupby("order")["d"].apply(list).to_dict()
    {'prediction': [1, 2], 'variance': [1, 2]}
    >>> errors = [choice.misspecification for choice in found.of("prediction")]
    >>> bool(np.isclose(*errors))  # the predictions themselves come first
    True
    """

    m: int
    choices: tuple[Choice, ...]
    unstructured: float

    def to_frame(self) -> DataFrame:
        """`choices`, for pandas.

        Returns
        -------
        pandas.DataFrame
            A row for every representation, in the order of `choices`, with the fields of `Choice`
            as columns.

        Raises
        ------
        MissingPackageError
            Without pandas.
        """
        return as_frame(
            [astuple(choice) for choice in self.choices], [field.name for field in fields(Choice)]
        )

    def of(self, order: str) -> tuple[Choice, ...]:
        """The choices of one order.

        Parameters
        ----------
        order
            `"variance"` or `"prediction"`.

        Returns
        -------
        tuple of Choice
            Fewest features first.

        Raises
        ------
        ProblemError
            Where there is no such order.
        """
        refuse_other_orders(order)
        return tuple(choice for choice in self.choices if choice.order == order)


def weigh(
    reduced: Sequence[tuple[str, Representation, Representation]],
    means: Vector,
    m: int,
    noise: ArrayLike,
    rtol: float,
) -> TradeOff:
    """The cost of each representation, given with its order and its whitened twin."""
    m, spread = as_top_m(m, means.size), as_noise(noise, means.size)
    choices = []
    for order, plain, white in reduced:
        # Of two numbers that differ by rounding the least error may be the larger one.
        widths = (plain.misspecification, min(plain.least_misspecification, plain.misspecification))
        model = Model(plain.features, 0.0)
        times = characteristic_curve(model, means, m, widths, noise=spread, rtol=rtol)
        pulls = _pulls(plain.features), _pulls(white.features)
        costs = *widths, plain.condition, *pulls, *(time.value for time in times)
        choices.append(Choice(order, plain.d, *costs))
    anything = Model(np.ones((means.size, 1)), math.inf)
    unstructured = characteristic_time(anything, means, m, noise=spread, rtol=rtol)
    return TradeOff(m, tuple(choices), unstructured.value)


def _pulls(features: Matrix) -> float:
    try:
        return initial_pulls(Model(features, 0.0))
    except ProblemError:  # more than can be counted
        return math.inf
