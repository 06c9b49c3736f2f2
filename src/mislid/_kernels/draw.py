"""One reward of one arm, compiled; the records that describe sources are in `environments`."""

from __future__ import annotations

import numpy as np

from mislid._jit import Matrix, Struct, kernel, linked


class Source(Struct):
    """Where rewards come from: a kernel and what it reads.

    `parameters` (K, 4) of an arm: mean and standard deviation; probability; the two shapes, the
    lowest reward and the range; nothing. `table` is (n, K), and (0, K) where it is not needed.
    """

    draw: int  # address of the kernel
    parameters: Matrix
    table: Matrix


@kernel
def draw_gaussian(source: Source, arm: int, generator: np.random.Generator) -> float:
    """A normal reward."""
    parameters = source.parameters
    return parameters[arm, 0] + parameters[arm, 1] * generator.standard_normal()


@kernel
def draw_bernoulli(source: Source, arm: int, generator: np.random.Generator) -> float:
    """1 or 0."""
    return 1.0 if generator.random() < source.parameters[arm, 0] else 0.0


@kernel
def draw_beta(source: Source, arm: int, generator: np.random.Generator) -> float:
    """A stretched Beta variable."""
    parameters = source.parameters
    share = generator.beta(parameters[arm, 0], parameters[arm, 1])
    return parameters[arm, 2] + parameters[arm, 3] * share


@kernel
def draw_row(source: Source, arm: int, generator: np.random.Generator) -> float:
    """A row of the table, at random."""
    table = source.table
    return table[int(generator.random() * table.shape[0]), arm]


call_draw = linked(draw_gaussian)
