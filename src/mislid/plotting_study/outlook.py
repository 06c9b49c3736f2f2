"""What other parts of a study say about its future and its assumptions, where they are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mislid.errors import MislidError
from mislid.plotting_study.words import number
from mislid.study.settings import Settings


class Outcome(Protocol):
    """Measurements to go, with a range."""

    @property
    def more(self) -> float:
        """What is expected."""
        ...

    @property
    def more_low(self) -> float:
        """The lower end of a range."""
        ...

    @property
    def more_high(self) -> float:
        """Its upper end."""
        ...


class Progress(Outcome, Protocol):
    """A forecast."""

    @property
    def lower_bound(self) -> float:
        """Measurements that any method needs on average, if the present estimates are true."""
        ...


class Dial(Protocol):
    """How the answer depends on the declared misspecification.

    Rows of the table are (misspecification, answer, statistic, threshold, decided).
    """

    largest: float | None
    declared: float
    table: Iterable[Sequence[Any]]


class Suspicion(Protocol):
    """What the data say against an assumption."""

    kind: str
    message: str
    level: float


@dataclass(frozen=True)
class Outlook:
    """What the study's methods gave; None where it has no such method, or it had nothing to say.

    `reasons` has the latter's own words, by method.
    """

    progress: Progress | None = None
    what_ifs: tuple[tuple[str, Outcome], ...] = ()
    dial: Dial | None = None
    suspicions: tuple[Suspicion, ...] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


def look_ahead(study: object, settings: Settings, K: int, gap: float | None) -> Outlook:
    """Ask the study; `gap` separates the m-th estimate from the next, where there is one."""
    reasons: dict[str, str] = {}
    suspicions = _ask(study, "warnings", reasons)
    asked = (
        (words, _ask(study, "what_if", reasons, **q)) for words, q in questions(settings, K, gap)
    )
    return Outlook(
        progress=_ask(study, "progress", reasons),
        what_ifs=tuple((words, answer) for words, answer in asked if answer is not None),
        dial=_ask(study, "sensitivity", reasons),
        suspicions=None if suspicions is None else tuple(suspicions),
        reasons=reasons,
    )


def questions(settings: Settings, K: int, gap: float | None) -> list[tuple[str, dict[str, Any]]]:
    """What one might ask instead, in words and as arguments of `what_if`."""
    found: list[tuple[str, dict[str, Any]]] = [
        (f"{m} best instead of {settings.m}", {"m": m})
        for m in (settings.m - 1, settings.m + 1)
        if 1 <= m < K
    ]
    delta = settings.delta / 10.0
    found.append((f"error rate {number(delta)}", {"delta": delta}))
    if gap is not None and gap > 0.0:
        tolerance = float(f"{settings.tolerance + float(f'{gap:.1g}'):.12g}")
        found.append((f"tolerance {number(tolerance)}", {"tolerance": tolerance}))
    if math.isfinite(settings.misspecification) and settings.misspecification > 0.0:
        widths = (0.5 * settings.misspecification, 2.0 * settings.misspecification)
        found += [(f"misspecification {number(w)}", {"misspecification": w}) for w in widths]
    return found


def _ask(study: object, method: str, reasons: dict[str, str], **question: Any) -> Any:
    """The method's answer; None where the study has no such method or cannot say."""
    if not hasattr(study, method):
        return None
    try:
        return getattr(study, method)(**question)
    except MislidError as problem:
        reasons[method] = str(problem)
        return None
