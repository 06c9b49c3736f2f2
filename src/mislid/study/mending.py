"""Mistakes that are mended: wrong values, and declarations that the data refute."""

from __future__ import annotations

from typing import Any

from mislid._validation import as_count
from mislid.errors import ProblemError
from mislid.study.events import Corrected, Fact, Redeclared, Voided
from mislid.study.history import refuse_outside
from mislid.study.settings import redeclared
from mislid.study.state import StudyState


def correction(
    state: StudyState, trial: int | None, row: int | None, value: float | None, reason: Any
) -> list[Fact]:
    """What is recorded when a measurement gets this value, or none; nothing where it has it."""
    at, why = _as_row(state, trial, row), _as_reason(reason)
    if value is None:
        return [] if at in state.void else [Voided(at, why)]
    refuse_outside(value, state.settings.reward_range)
    known = at not in state.void and state.rows[at].value == value
    return [] if known else [Corrected(at, value, why)]


def declaration(state: StudyState, misspecification: Any, noise: Any, reason: Any) -> list[Fact]:
    """What is recorded when this is declared; nothing where it was."""
    was, why = state.settings, _as_reason(reason)
    now = redeclared(was, state.candidates, misspecification, noise)
    if now == was:
        return []
    return [
        Redeclared(
            None if now.misspecification == was.misspecification else now.misspecification,
            None if now.noise == was.noise else now.noise,
            why,
        )
    ]


def _as_row(state: StudyState, trial: int | None, row: int | None) -> int:
    if (trial is None) == (row is None):
        raise ProblemError("give trial or row, which of the measurements it is; got both or none")
    if trial is not None:
        return state.row_of(trial)
    at = as_count(row, "row", 0)
    if at >= len(state.rows):
        raise ProblemError(
            f"row must be below the number of measurements, {len(state.rows)}; got {at}"
        )
    return at


def _as_reason(reason: Any) -> str | None:
    if reason is not None and (not isinstance(reason, str) or not reason.strip()):
        raise ProblemError(f"reason must be a text, or None; got {reason!r}")
    return reason
