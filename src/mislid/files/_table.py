"""What an instance's file holds."""

import math
from typing import Any, NamedTuple

from mislid._validation import Labels, Matrix, Vector, as_number


class Table(NamedTuple):
    """What a file says of an instance; None where it does not say."""

    features: Matrix
    means: Vector
    noise: Vector | None
    names: Labels | None
    misspecification: float | None


def declared_misspecification(value: Any, path: str) -> float:
    """Give the misspecification that a file states, in [0, inf]."""
    name = f"misspecification in {path!r}"
    return as_number(value, name, low=0, high=math.inf, allow_inf=True)
