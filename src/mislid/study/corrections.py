"""Corrections: of measurements, and of what was declared."""

from __future__ import annotations

from typing import Any

import numpy as np

from mislid._validation import as_count
from mislid.errors import ProblemError
from mislid.study.events import Corrected, Fact, Redeclared, Voided
from mislid.study.measurements import refuse_excluded
from mislid.study.settings import as_reason, redeclared
from mislid.study.state import StudyState


def correction(
    state: StudyState, trial: int | None, row: int | None, value: float | None, reason: Any
) -> list[Fact]:
    """What is recorded when a measurement gets this value, or none; nothing where it has it."""
    rows, why = _as_rows(state, trial, row), as_reason(reason)
    if value is None:
        return [] if state.void.issuperset(rows) else [Voided(rows, why)]
    if len(rows) > 1:
        raise ProblemError(
            f"trial must be one with a single value; got {trial}, which told {len(rows)} at once: "
            "make it void, and add what was measured by add_observations or add_counts"
        )
    refuse_excluded((value,), state.settings)
    known = rows[0] not in state.void and state.rows[rows[0]].value == value
    return [] if known else [Corrected(rows, (value,), why)]


def declaration(state: StudyState, misspecification: Any, noise: Any, reason: Any) -> list[Fact]:
    """What is recorded when this is declared; nothing where it was."""
    was, why = state.settings, as_reason(reason)
    now = redeclared(was, state.candidates, misspecification, noise)
    eps = None if now.misspecification == was.misspecification else now.misspecification
    spread = None if now.noise == was.noise else now.noise
    K = state.candidates.K
    if state.roster.late and spread is not None and len(spread) > 1:
        raise ProblemError(
            "noise must be the same for all candidates after some were added by a look at values, "
            f"since evidence is measured in it; got {noise!r}"
        )
    if state.repeats and np.any(now.deviations(K) < was.deviations(K)):
        raise ProblemError(
            "noise must not become smaller after values were told with n or sd, which count by the "
            f"noise that was declared then; got {noise!r}. Begin a study with it"
        )
    return [] if eps is None and spread is None else [Redeclared(eps, spread, why)]


def _as_rows(state: StudyState, trial: int | None, row: int | None) -> tuple[int, ...]:
    if (trial is None) == (row is None):
        raise ProblemError("give trial or row, which of the measurements it is; got both or none")
    if trial is not None:
        return state.rows_of(trial)
    at = as_count(row, "row", 0)
    if at >= len(state.rows):
        raise ProblemError(
            f"row must be below the number of measurements, {len(state.rows)}; got {at}"
        )
    trial_of = state.rows[at].trial
    if trial_of is not None and len(state.rows_of(trial_of)) > 1:
        raise ProblemError(
            f"row must be of a measurement that was told by itself; got {at}, one of several of "
            f"trial {trial_of}: make that trial void"
        )
    return (at,)
