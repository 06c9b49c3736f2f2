"""The published instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid import Instance, load_instance
from mislid.errors import MislidError
from mislid.paper.datasets import locate

from .report import progress

Floats = NDArray[np.float64]
# Top-m size and declared misspecification of each published instance; E's means need 0.207.
PUBLISHED: Mapping[str, tuple[int, float]] = {
    "A_eps0": (3, 0.0),
    "A_eps5": (3, 5.0),
    "B": (3, 1.0),
    "D": (5, 0.02),
    "E": (4, 0.207),
}


class Case(NamedTuple):
    """An instance with its number of best arms."""

    name: str
    instance: Instance
    m: int


def published() -> Iterator[Case]:
    """The published instances with noise 1, where they are (MISLID_DATA)."""
    for name, (m, misspecification) in PUBLISHED.items():
        try:
            file = locate(f"instances/{name}.npz")
        except MislidError as missing:
            progress(f"skipped: {missing}")
            return
        yield Case(name, load_instance(file, misspecification=misspecification), m)
