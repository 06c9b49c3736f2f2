"""Linear systems in rational arithmetic: exact until the answer is rounded."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from numpy.typing import ArrayLike

Rows = list[list[Fraction]]


def fractions(values: Iterable[ArrayLike]) -> list[Fraction]:
    """Floats as the fractions that they are."""
    return [Fraction(float(value)) for value in values]


def solution(matrix: Rows, right: Rows) -> Rows:
    """X (d, n) with matrix (d, d) X = right (d, n), by Gauss and Jordan.

    >>> two, three = Fraction(2), Fraction(3)
    >>> solution([[two]], [[three, two]])
    [[Fraction(3, 2), Fraction(1, 1)]]
    """
    table = [[*row, *rest] for row, rest in zip(matrix, right, strict=True)]
    d = len(table)
    for c in range(d):
        pivot = next(r for r in range(c, d) if table[r][c] != 0)
        table[c], table[pivot] = table[pivot], table[c]
        table[c] = [x / table[c][c] for x in table[c]]
        for r in range(d):
            if r != c:
                factor = table[r][c]
                table[r] = [x - factor * y for x, y in zip(table[r], table[c], strict=True)]
    return [row[d:] for row in table]
