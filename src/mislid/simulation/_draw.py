"""One reward of one arm, compiled; the records that describe sources are in `environments`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._compile import inner, random_kernel

GAUSSIAN, BERNOULLI, BETA, TABLE = range(4)


class Source(NamedTuple):
    """What `draw` reads.

    `parameters` (K, 4) of an arm: mean and standard deviation; probability; the two shapes, the
    lowest reward and the range; nothing. `table` is (n, K), and (0, K) for all kinds but TABLE.
    """

    kind: int
    parameters: Matrix
    table: Matrix


@inner
def draw(
    kind: int, parameters: Matrix, table: Matrix, arm: int, generator: np.random.Generator
) -> float:
    """One reward of an arm."""
    if kind == GAUSSIAN:
        return parameters[arm, 0] + parameters[arm, 1] * generator.standard_normal()
    if kind == BERNOULLI:
        return 1.0 if generator.random() < parameters[arm, 0] else 0.0
    if kind == BETA:
        share = generator.beta(parameters[arm, 0], parameters[arm, 1])
        return parameters[arm, 2] + parameters[arm, 3] * share
    return table[int(generator.random() * table.shape[0]), arm]


@random_kernel
def draw_many(
    kind: int,
    parameters: Matrix,
    table: Matrix,
    arm: int,
    generator: np.random.Generator,
    out: Vector,
) -> None:
    """Fill `out` (n,) with rewards of one arm."""
    for i in range(out.shape[0]):
        out[i] = draw(kind, parameters, table, arm, generator)
