"""Algorithms that measure in phases: a design for the arms that are open, then a look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mislid.algorithms.compositions import Algorithm
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class Phased(Algorithm):
    """Rules that plan many measurements at once; a study can hand out all of them together."""

    own_test = True


@dataclass(frozen=True)
class RAGE(Phased):
    """RAGE (Fiez, Jain, Jamieson and Ratliff 2019): every phase halves what is resolved.

    Attributes
    ----------
    fresh
        Whether a phase is judged by its own measurements only, as its proof needs. False judges by
        all, as the runs of Tirinzoni and Degenne (2022) did.
    """

    fresh: bool = True


@dataclass(frozen=True)
class XYAdaptive(Phased):
    """XY-adaptive (Soare, Lazaric and Munos 2014): phases that shrink the open pairs' variance.

    Attributes
    ----------
    shrink
        By how much a phase shrinks variance over measurements (the paper's alpha), in (0, 1).
    first
        Measurements that the first phase is compared with (the paper's n_0); None for its
        d (d + 1) + 1.
    fresh
        As for `RAGE`; with False a phase's length counts all measurements.
    """

    shrink: float = 0.1
    first: int | None = None
    fresh: bool = True

    def check(self, question: Question) -> None:
        """Refuse phases that never end, or never begin."""
        if not 0.0 < self.shrink < 1.0:
            raise ProblemError(f"shrink must be above 0 and below 1; got {self.shrink!r}")
        if self.first is not None and self.first < 1:
            raise ProblemError(f"first must be at least 1, or None; got {self.first!r}")


@dataclass(frozen=True)
class XYStatic(Phased):
    """XY-static (Soare, Lazaric and Munos 2014): one design for all pairs, whatever comes out."""
