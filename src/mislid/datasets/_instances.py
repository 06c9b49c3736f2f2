"""What the datasets share when they make instances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from mislid._validation import Vector
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model


def instance_of(
    features: npt.ArrayLike,
    means: Vector,
    misspecification: float | None,
    noise: float | npt.ArrayLike,
    names: Iterable[str] | Iterable[int],
) -> Instance:
    """The instance of a model; by default the smallest misspecification that holds the means."""
    if misspecification is None:
        misspecification = smallest_misspecification(features, means)
    return Instance(Model(features, misspecification), means, noise, names)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in row order, read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
