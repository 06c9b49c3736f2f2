"""Two arithmetics behind one set of array functions: 80-bit floats and 76-digit decimals.

The oracles run the same lines in both. Long doubles are fast; decimals decide whenever the weights
or the features are so badly scaled that 19 digits are not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
DIGITS = 76


@dataclass(frozen=True)
class Arithmetic:
    """How to turn floats into numbers of this arithmetic (exactly), and its unit roundoff."""

    array: Callable[[ArrayLike], Array]
    roundoff: Any

    def number(self, value: float) -> Any:
        return self.array([value])[0]


def _decimals(value: ArrayLike) -> Array:
    given = np.asarray(value)
    if given.dtype == object:
        return given
    exact = np.frompyfunc(Decimal, 1, 1)
    leading = given.astype(np.float64)
    # A long double has more digits than a float64; the second term is the remainder.
    return np.asarray(exact(leading) + exact((given - leading).astype(np.float64)))


DECIMAL = Arithmetic(_decimals, Decimal(10) ** (1 - DIGITS))
LONG_DOUBLE = Arithmetic(
    lambda value: np.asarray(value).astype(np.longdouble), np.finfo(np.longdouble).eps
)


def floats(values: Array) -> NDArray[np.float64]:
    """Round to float64."""
    return np.asarray(values).astype(np.float64)


def ldl_factor(matrix: Array) -> tuple[Array, Array]:
    """L (unit lower) and D (diagonal, positive) of a symmetric positive semidefinite matrix.

    A pivot lost to rounding is replaced by a huge one, so that its direction is not moved along.
    """
    size = matrix.shape[0]
    rest = matrix.copy()
    lower = matrix * 0
    pivots = matrix.diagonal().copy()
    for c in range(size):
        lower[c, c] = lower[c, c] + 1
        pivot = rest[c, c]
        if not pivot > 0:
            pivot = (abs(matrix[c, c]) + 1) * 10**60
        pivots[c] = pivot
        column = rest[c + 1 :, c] / pivot
        lower[c + 1 :, c] = column
        rest[c + 1 :, c + 1 :] = rest[c + 1 :, c + 1 :] - column[:, None] * rest[c, c + 1 :]
    return lower, pivots


def ldl_solve(factor: tuple[Array, Array], right: Array) -> Array:
    """Solve L D L' x = right, right of shape (size,)."""
    lower, pivots = factor
    size = pivots.shape[0]
    x = right.copy()
    for c in range(size):
        x[c + 1 :] = x[c + 1 :] - lower[c + 1 :, c] * x[c]
    x = x / pivots
    for c in range(size - 1, 0, -1):
        x[:c] = x[:c] - lower[c, :c] * x[c]
    return x


def independent_columns(rows: Array, arithmetic: Arithmetic) -> tuple[list[int], Array]:
    """Columns that span the column space of rows (n, d), and an echelon basis of the row space."""
    rest = rows.copy()
    scale = np.max(abs(rest), axis=0)
    scale = np.where(scale > 0, scale, scale + 1)
    rest = rest / scale
    negligible = arithmetic.roundoff * 10**20
    columns: list[int] = []
    basis = []
    while rest.shape[0] and len(columns) < rest.shape[1]:
        size = abs(rest)
        r, c = np.unravel_index(int(np.argmax(size)), size.shape)
        if not size[r, c] > negligible:
            break
        pivot_row = rest[r] / rest[r, c]
        basis.append(pivot_row * scale)
        columns.append(int(c))
        rest = np.delete(rest, r, axis=0)
        rest = rest - rest[:, c][:, None] * pivot_row
        rest[:, columns] = rest[:, columns] * 0
    return columns, np.array(basis, dtype=rows.dtype).reshape(len(columns), rows.shape[1])


def in_row_space(vector: Array, columns: list[int], basis: Array, arithmetic: Arithmetic) -> bool:
    """Whether vector (d,) is a combination of the rows that gave this echelon basis."""
    rest = vector.copy()
    for c, row in zip(columns, basis, strict=True):
        rest = rest - rest[c] / row[c] * row
        rest[c] = rest[c] * 0
    return bool(np.all(abs(rest) <= arithmetic.roundoff * 10**20 * np.max(abs(vector))))
