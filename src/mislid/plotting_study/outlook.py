"""What other parts of a study say about its future and its assumptions, where they are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from mislid.errors import MislidError
from mislid.plotting_study.facts import Facts
from mislid.plotting_study.words import number
from mislid.study.settings import Settings

AS_ASKED = "as asked"


class Dial(Protocol):
    """How the answer depends on the declared misspecification.

    Rows of the table have misspecification, answer, statistic, threshold and decided, and may have
    contradicted: whether the data contradict that misspecification itself. There may also be
    `smallest`, below which they contradict all.
    """

    largest: float | None
    declared: float
    table: Iterable[Any]


class Suspicion(Protocol):
    """What the data say against an assumption."""

    kind: str
    message: str


class Forecast(NamedTuple):
    """Measurements to go, with a range; infinite where nobody knows, for the reason in `note`."""

    question: str
    more: float
    low: float
    high: float
    note: str

    @property
    def is_done(self) -> bool:
        """Whether no more are needed."""
        return self.more <= 0.0


@dataclass(frozen=True)
class Outlook:
    """What the study's methods gave; empty where it has no such method, or it had nothing to say.

    `forecasts` are for the question as asked, first, and for others. `lower_bound` is the number
    of measurements that any method needs on average. `reasons` has the words of methods that
    refused, by their names.
    """

    forecasts: tuple[Forecast, ...] = ()
    lower_bound: float | None = None
    dial: Dial | None = None
    suspicions: tuple[Suspicion, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def as_asked(self) -> Forecast | None:
        """The forecast for the question as it was asked."""
        asked = [one for one in self.forecasts if one.question == AS_ASKED]
        return asked[0] if asked else None


def look_ahead(study: object, facts: Facts) -> Outlook:
    """Ask the study."""
    reasons: dict[str, str] = {}
    progress = _ask(study, "progress", reasons)
    asked = [] if progress is None else [_forecast(AS_ASKED, progress)]
    others = _ask(study, "what_ifs", reasons) or ()
    structured = facts.candidates.features is not None
    return Outlook(
        forecasts=(*asked, *(_forecast(_question(one, facts.settings), one) for one in others)),
        lower_bound=getattr(progress, "lower_bound", None),
        dial=_ask(study, "sensitivity", reasons) if structured else None,
        suspicions=tuple(_ask(study, "warnings", reasons) or ()),
        reasons=reasons,
    )


def _ask(study: object, method: str, reasons: dict[str, str]) -> Any:
    """The method's answer; None where the study has no such method or cannot say."""
    if not hasattr(study, method):
        return None
    try:
        return getattr(study, method)()
    except MislidError as problem:
        reasons[method] = str(problem)
        return None


def _forecast(question: str, given: Any) -> Forecast:
    more, low, high = (
        math.inf if value is None else float(value)
        for value in (given.more, given.more_low, given.more_high)
    )
    return Forecast(question, more, low, high, getattr(given, "note", "") or "")


def _question(given: Any, settings: Settings) -> str:
    """How a question differs from the study's own, in words."""
    parts = {
        "m": f"{given.m} best instead of {settings.m}",
        "delta": f"error rate {number(given.delta)}",
        "tolerance": f"tolerance {number(given.tolerance)}",
        "misspecification": f"misspecification {number(given.misspecification)}",
    }
    changed = [words for name, words in parts.items() if name in given.changed]
    return ", ".join(changed) or AS_ASKED
