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

    Attributes
    ----------
    rule, proven
        The stopping rule, and whether its error rate is proved.
    pair, statistic, threshold
        The (challenger, incumbent) that was hardest to tell apart, the evidence for it, and what
        that had to reach.
    model, means, weights, incumbents, tolerance
        What the closest alternative is computed from: the model set, empirical means (K,), counts
        divided by the noise's square (K,), and the answer.
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
