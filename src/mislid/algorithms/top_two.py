"""Algorithms that look at a leader and its closest challenger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mislid.algorithms.compositions import Algorithm

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class TopTwo(Algorithm):
    """EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022).

    Of the pair of an incumbent and a challenger with the least cost plus logarithms of its counts,
    one arm is measured.

    Attributes
    ----------
    share
        How often that is the incumbent, in (0, 1).
    """

    can_select = True
    every_arm = True

    share: float = 0.5

    def check(self, question: Question) -> None:
        """Refuse a share that leaves one of the two out."""
        from mislid._validation import as_number  # arrays come with it

        as_number(self.share, "share", low=0.0, high=1.0, low_open=True, high_open=True)
