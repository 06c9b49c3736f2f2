"""What a budget of measurements can be expected to prove, said before the first of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid.errors import ProblemError
from mislid.study.candidates import Candidates
from mislid.study.prospects import Prospects
from mislid.study.result import PlainRecord
from mislid.study.settings import Settings


@dataclass(frozen=True, slots=True)
class BudgetCheck(PlainRecord):
    """What a budget can be expected to prove.

    Attributes
    ----------
    budget
        Number of measurements in all.
    gap_without
        The least distance of two means that they can be expected to tell apart, without features;
        None if they are too few for any.
    gap_linear, gap_with
        The same with features, if means are linear in them, and with the declared misspecification.
        None also where there are no features, or the misspecification is not known.
    misspecification
        The declared one; infinite where it is not known.
    noise, unit
        Of a typical candidate, to compare gaps with, and what it is called: half of the range,
        where values have one. None where it is not known, and gaps are multiples of it.
    """

    budget: int
    gap_without: float | None
    gap_linear: float | None
    gap_with: float | None
    misspecification: float
    noise: float | None
    unit: str

    @property
    def statement(self) -> str:
        """All of it in a sentence."""
        if self.gap_without is None and self.gap_linear is None:
            return f"{self.budget:,} measurements are too few to tell any candidates apart"
        words = (
            f"{self.budget:,} measurements can be expected to tell two candidates apart that "
            f"differ by {_gap(self.gap_without)}"
        )
        if self.noise is None:
            return f"{words} times the noise"
        if self.gap_linear is not None:
            words += (
                f" without the features, by {_gap(self.gap_linear)} if means are linear in them"
            )
        if self.gap_with is not None and self.misspecification > 0.0:
            words += f", by {_gap(self.gap_with)} if to within {self.misspecification:.3g}"
        return f"{words}; {self.unit} is {self.noise:.3g}"


def _gap(gap: float | None) -> str:
    return "no gap at all" if gap is None else f"{gap:.3g}"


def check_budget(settings: Settings, candidates: Candidates, budget: int | None) -> BudgetCheck:
    """What so many measurements can be expected to prove."""
    if budget is None:
        raise ProblemError("budget must be given: the study was created without one; got None")
    prospects, declared = Prospects(settings, candidates), settings.misspecification
    featured = candidates.features is not None and settings.is_structured
    return BudgetCheck(
        budget=budget,
        gap_without=prospects.gap_without(budget),
        gap_linear=prospects.gap_with(budget, 0.0) if featured else None,
        gap_with=prospects.gap_with(budget, declared)
        if featured and math.isfinite(declared)
        else None,
        misspecification=declared,
        noise=prospects.noise if prospects.is_known else None,
        unit=prospects.unit,
    )
