"""Why a run stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from mislid._validation import Vector
from mislid.geometry.alternatives import Alternative, closest_alternative
from mislid.model import Model


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a stopping rule saw when it decided.

    `pair` (challenger, incumbent) was hardest to tell apart: its `statistic` against the
    `threshold` of the stopping rule. `alternative` is the model closest to the data in which the
    answer is wrong, with its own certificate; it is computed when first asked for.
    """

    rule: str
    proven: bool
    statistic: float
    threshold: float
    pair: tuple[int, int] | None
    model: Model = field(repr=False)
    means: Vector = field(repr=False)
    weights: Vector = field(repr=False)
    incumbents: tuple[int, ...] = field(repr=False)
    tolerance: float = field(repr=False)

    @cached_property
    def alternative(self) -> Alternative:
        """The closest alternative to the empirical means at weights counts / noise^2, (K,) each."""
        return closest_alternative(
            self.model,
            self.means,
            self.weights,
            len(self.incumbents),
            tolerance=self.tolerance,
            incumbents=self.incumbents,
        )
