"""Algorithms that draw from what is believed of the means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mislid.algorithms.compositions import Algorithm

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class Drawing(Algorithm):
    """What rules share that draw until a draw answers otherwise; all arms once first."""

    draws: int = 100

    every_arm = True

    def check(self, question: Question) -> None:
        """Refuse an impossible number of draws."""
        from mislid._validation import as_count  # arrays come with it

        as_count(self.draws, "draws", 0)


@dataclass(frozen=True)
class PEPS(Drawing):
    """PEPS (Li, Jamieson and Jain 2024): AdaHedge against alternatives drawn from the posterior.

    Attributes
    ----------
    draws
        At most so many a round until one answers otherwise; then the most likely one that does
        takes its place. The number that would be needed grows exponentially with the evidence.
    """


@dataclass(frozen=True)
class TopTwoIDS(Drawing):
    """Top-two Thompson sampling, information-directed (You, Qin, Wang and Yang 2023).

    Two draws with different answers give a pair; an arm is measured in proportion to what its
    measurements so far say about it.

    Attributes
    ----------
    draws
        At most so many a round for the second; then the closest alternative gives the pair.
    """
