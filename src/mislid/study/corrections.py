"""Corrections: of measurements, and of what was declared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._validation import as_count
from mislid.errors import ProblemError
from mislid.study.events import Accepted, Corrected, Decided, Fact, Redeclared, Voided
from mislid.study.measurements import refuse_excluded
from mislid.study.replay import Replay
from mislid.study.settings import GUARANTEED, UNKNOWN, Settings, as_reason, redeclared
from mislid.study.state import NOISE, StudyState

if TYPE_CHECKING:
    from mislid.forecast.overview import Overview


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


def acceptance(replay: Replay, misspecification: Any, reason: Any) -> list[Fact]:
    """What is recorded when the present answer is accepted for misspecifications up to one.

    The proof is worked out as a certificate has it, so there will be one.
    """
    from mislid.forecast.evidence import proved_range
    from mislid.forecast.overview import Overview

    state, why = replay.state, as_reason(reason)
    overview = Overview(replay)
    _refuse_without_proof(state, overview)
    largest, smallest = proved_range(overview)
    wanted = largest if misspecification is None else misspecification
    now = redeclared(state.settings, state.candidates, wanted, None)
    eps = now.misspecification
    shown = f"{', '.join(repr(state.candidates.labels[arm]) for arm in overview.leaders)}"
    if largest is None or eps > largest:
        reach = "for no misspecification" if largest is None else f"only up to {largest:.4g}"
        raise ProblemError(
            f"misspecification must be one for which the present answer, {shown}, is proved: that "
            f"is so {reach}; got {wanted!r}. Measure on, or accept less"
        )
    if eps < smallest:
        raise ProblemError(
            f"misspecification must be one that the data do not refute, as they do below "
            f"{smallest:.4g}; got {wanted!r}. Measure on"
        )
    decided = state.roster.recorded(_decision(now, state, overview.leaders))
    return [Accepted(eps, why), decided]


def _refuse_without_proof(state: StudyState, overview: Overview) -> None:
    if state.decision is not None:
        raise ProblemError("accept is for studies that have not decided; this one has")
    if NOISE in state.contradictions:
        raise ProblemError(
            "accept needs a noise that the data do not contradict: redeclare it, or correct a value"
        )
    if state.settings.noise_model == UNKNOWN:
        raise ProblemError(
            "accept needs to know something of the noise: where it is unknown, features prove "
            "nothing, and no misspecification makes an answer proven earlier. Measure on"
        )
    if not state.settings.is_structured or state.settings.stopping != GUARANTEED:
        raise ProblemError(
            "accept needs candidates with features whose misspecification is a number or unknown, "
            "and the stopping rule 'guaranteed'"
        )
    if not overview.leaders:
        raise ProblemError("accept needs an estimate: measure the first design first")


def _decision(settings: Settings, state: StudyState, answer: tuple[int, ...]) -> Decided:
    from mislid.certificate.certificate import Log

    evidence = Log(settings, state.candidates, state.observations).settle(answer)
    least = min(evidence, key=lambda one: one.evidence)
    level = -math.log(settings.delta)
    return Decided(
        answer, len(state.observations), GUARANTEED, max(least.evidence, level), level, least.pair
    )


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
