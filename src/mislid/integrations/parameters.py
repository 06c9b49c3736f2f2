"""From parameters, as searches choose them, to features.

A numeric parameter is where it lies between the ends of its range, 0 to 1, on a log scale where it
was searched on one. A categorical one has a column of zeros and ones for every choice. One that
some candidates lack has a column that says who has it, and is 0 for the others: any other number
would allow the same means, since that column makes up for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mislid._validation import Matrix, Vector

# A column follows from others if so little of it is left beside them.
IN_SPAN = 1e-9
_ABSENT = object()


class Searched(Protocol):
    """A trial of a search: what was chosen, and from what, by the names of parameters."""

    @property
    def params(self) -> dict[str, Any]:
        """What was chosen."""

    @property
    def distributions(self) -> Mapping[str, Any]:
        """From what."""


@dataclass(frozen=True)
class Scale:
    """The range of a numeric parameter, from 0 at its low end to 1 at its high end."""

    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """Where in the range a value is; 0 in a range of one value.

        >>> round(Scale(1e-4, 1e-2, log=True).place(1e-3), 6)
        0.5
        """
        low, high, at = (
            math.log(one) if self.log else float(one) for one in (self.low, self.high, value)
        )
        return (at - low) / (high - low) if high > low else 0.0


def as_features(
    chosen: Sequence[Searched], searched: Sequence[Searched], names: Sequence[str]
) -> tuple[list[str], Matrix]:
    """Names of columns, and features (K, d) of the chosen ones among all that were searched.

    Columns that follow from others, or are the same for all, are left out: with the column of ones
    that studies add, what is left is independent.
    """
    named = [column for name in names for column in _columns(name, chosen, searched)]
    kept = _independent([column for _, column in named], len(chosen))
    features = np.zeros((len(chosen), len(kept)))
    for d, at in enumerate(kept):
        features[:, d] = named[at][1]
    return [named[at][0] for at in kept], features


def _columns(
    name: str, chosen: Sequence[Searched], searched: Sequence[Searched]
) -> Iterator[tuple[str, Vector]]:
    """All columns of one parameter, with what they are called."""
    scale = _scale([trial.distributions[name] for trial in searched if name in trial.params])
    if scale is None:
        yield from _choices(name, chosen)
        return
    has = np.array([name in trial.params for trial in chosen])
    if not has.all():
        yield f"{name} given", has.astype(np.float64)
    places = [scale.place(trial.params[name]) if name in trial.params else 0.0 for trial in chosen]
    yield f"log {name}" if scale.log else name, np.array(places)


def _scale(distributions: Sequence[Any]) -> Scale | None:
    """The widest range, which may have changed during the search; None for choices."""
    if not all(hasattr(one, "low") and hasattr(one, "high") for one in distributions):
        return None
    return Scale(
        min(one.low for one in distributions),
        max(one.high for one in distributions),
        all(one.log for one in distributions),
    )


def _choices(name: str, chosen: Sequence[Searched]) -> Iterator[tuple[str, Vector]]:
    """A column for every choice that somebody has."""
    taken = [trial.params.get(name, _ABSENT) for trial in chosen]
    keys = [repr(choice) for choice in taken]
    called = {repr(choice): choice for choice in taken if choice is not _ABSENT}
    for key, choice in called.items():
        yield f"{name}={choice}", np.array([float(one == key) for one in keys])


def _independent(columns: Sequence[Vector], K: int) -> list[int]:
    """Which columns follow neither from ones nor from those before them."""
    basis, kept = [np.full(K, 1.0 / math.sqrt(K))], []
    for at, column in enumerate(columns):
        rest = column
        for _ in range(2):  # once more, for what rounding left
            rest = rest - sum((one @ rest) * one for one in basis)
        size = float(np.linalg.norm(rest))
        if size > IN_SPAN * float(np.linalg.norm(column)):
            basis.append(rest / size)
            kept.append(at)
    return kept
