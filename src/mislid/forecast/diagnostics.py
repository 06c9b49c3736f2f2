"""Reasons to doubt what a study was told, or its answer; docs/checks.md derives the tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._validation import Labels
from mislid.engine import Engine
from mislid.stopping.dispersion import Dispersion
from mislid.stopping.noise import UNDECLARED
from mislid.stopping.residuals import Residuals
from mislid.stopping.spread import spread_of
from mislid.study.assumption_tests import REPEATED, constant_words, is_constant
from mislid.study.replay import Replay
from mislid.study.results import PlainRecord
from mislid.study.settings import KNOWN, UNKNOWN, is_python
from mislid.study.state import MISSPECIFICATION, NOISE

DIVERGED, DISAGREEMENT, STUCK, CONSTANT = "diverged", "disagreement", "stuck", "constant"
# Beside a candidate that cannot be measured any more, one with so many times its weight will do.
ENOUGH = 10.0
# More arms than these are only counted.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class StudyWarning(PlainRecord):
    """A reason for doubt.

    Attributes
    ----------
    kind
        `misspecification` or `noise`: the data contradict what was declared. `disagreement`: later
        data prefer another answer. `stuck`: what is open cannot be settled by what can be measured.
        `constant`: no candidate has two different values, though nobody knows the noise.
        `diverged`: rules of this release, on this machine, choose other arms than the log has.
    message
        What was found, and what to do.
    level
        How often a test warns without reason, at most, however often it is looked at; None where
        nothing is uncertain.
    statistic, threshold
        What was found and what it has exceeded: the logarithm of the evidence, the lead of a
        candidate that is not in the answer, or a number of trials.
    """

    kind: str
    message: str
    level: float | None
    statistic: float
    threshold: float


def warnings_of(replay: Replay, level: float) -> tuple[StudyWarning, ...]:
    """All reasons for doubt that there are by now."""
    found = (_noise(replay, level), _misspecification(replay, level))
    others = (_constant(replay), _disagreement(replay), _stuck(replay), _diverged(replay))
    return tuple(warning for warning in (*found, *others) if warning is not None)


def residuals_of(engine: Engine) -> Residuals:
    """What the features leave of the means by now."""
    counts, question = engine.counts.astype(np.float64), engine.question
    spread = spread_of(question.noise_model, counts, engine.means, engine.scatter)
    return Residuals.of(question.model, counts, engine.means, question.noise, spread)


def _misspecification(replay: Replay, level: float) -> StudyWarning | None:
    candidates, settings = replay.state.candidates, replay.state.settings
    declared = settings.misspecification
    if candidates.features is None or math.isinf(declared) or not replay.state.observations:
        return None
    if settings.noise_model == UNKNOWN:
        return None  # residuals of any size may be noise, and nothing rests on them
    residuals = residuals_of(replay.estimating())
    if not residuals.contradict(declared, level):
        return None
    farthest = candidates.labels[residuals.farthest(declared)]
    words = (
        f"the measurements contradict the declared misspecification of {declared:g}: no linear "
        f"model has all means within {residuals.least(level):.3g}, and the farthest is that of "
        f"{farthest!r} (at level {level:g}). If the noise is right, the error rate of the answer "
        "is not proven: redeclare a larger misspecification, which loses no measurement; "
        "sensitivity() says what holds for which"
    )
    return StudyWarning(
        MISSPECIFICATION, words, level, residuals.log_evidence(declared), -math.log(level)
    )


def _noise(replay: Replay, level: float) -> StudyWarning | None:
    state = replay.state
    if state.settings.noise_model != KNOWN:
        return None
    noise = state.settings.deviations(state.candidates.K)
    arms = [one.arm for one in state.observations]
    scatter = Dispersion.of(arms, [one.value for one in state.observations], noise)
    statistic, threshold = scatter.log_evidence(), -math.log(level)
    if statistic <= threshold:
        return None
    suspects = scatter.suspects(level)
    declared = [noise[arm] for arm in suspects]
    estimated = [scatter.deviation(arm) * noise[arm] for arm in suspects]
    factor = scatter.least_factor(level)
    words = (
        f"the measurements of {_named(suspects, state.candidates.labels)} scatter more than the "
        f"declared noise allows: their standard deviation is {_span(estimated)}, declared was "
        f"{_span(declared)}, and it takes at least {factor:.3g} times that. The error rate of the "
        "answer is not proven: redeclare a larger noise, which loses no measurement, or find out "
        "whether values drift"
    )
    return StudyWarning(NOISE, words, level, statistic, threshold)


def _constant(replay: Replay) -> StudyWarning | None:
    state = replay.state
    if state.settings.noise_model not in UNDECLARED or not is_constant(replay.tallies):
        return None
    most = float(replay.tallies.counts.max())
    return StudyWarning(CONSTANT, constant_words(int(most)), None, most, REPEATED - 1.0)


def _disagreement(replay: Replay) -> StudyWarning | None:
    """The answer stays, but by now somebody else is ahead, by more than the tolerance."""
    decision = replay.state.decision
    if decision is None:
        return None
    engine = replay.estimating()
    if not engine.is_estimated:
        return None
    means, tolerance = engine.estimate, engine.question.tolerance
    inside = np.array(decision.answer)
    outside = np.setdiff1d(np.arange(means.size), inside)
    challenger = int(outside[np.argmax(means[outside])])
    incumbent = int(inside[np.argmin(means[inside])])
    lead = float(means[challenger] - means[incumbent])
    if lead <= tolerance:
        return None
    labels, later = replay.state.candidates.labels, len(replay.state.observations)
    words = (
        f"the answer was decided after {decision.samples} measurements and stays, but after "
        f"{later} the estimates put {labels[challenger]!r} ahead of {labels[incumbent]!r}, by "
        f"{lead:.3g} with a tolerance of {tolerance:g}. With the declared error rate an answer is "
        "seldom wrong: look at the other warnings, and whether values drift"
    )
    return StudyWarning(DISAGREEMENT, words, None, lead, tolerance)


def _stuck(replay: Replay) -> StudyWarning | None:
    """All that is open waits for candidates that cannot be measured any more."""
    state = replay.state
    closed = set(range(state.candidates.K)) - set(state.roster.measurable)
    if not closed or state.decision is not None or is_python(state.settings.stopping):
        return None
    engine = replay.estimating()
    if not engine.is_estimated:
        return None
    settled, weights, inside = engine.settled(), engine.weights, engine.incumbents
    outside = [arm for arm in range(state.candidates.K) if arm not in inside]
    waiting: set[int] = set()
    for pair in ((i, j) for i in outside for j in inside):
        if pair in settled:
            continue
        fixed = [arm for arm in pair if arm in closed]
        others = [arm for arm in pair if arm not in closed]
        if not fixed or any(weights[arm] < ENOUGH * weights[fixed[0]] for arm in others):
            return None
        waiting |= set(fixed)
    if not waiting:
        return None
    labels = state.candidates.labels
    words = (
        f"more measurements will hardly decide: what is open is about "
        f"{_named(sorted(waiting), labels)}, which cannot be measured any more. Let it leave the "
        "question by retire(..., leave=True), or report what result_now() says"
    )
    return StudyWarning(STUCK, words, None, float(len(waiting)), 0.0)


def _diverged(replay: Replay) -> StudyWarning | None:
    if not replay.has_rules or replay.diverged == 0:
        return None
    words = (
        f"for {replay.diverged} of {len(replay.state.trials)} trials the rules would now choose "
        "another arm than the log records: it was written by another release or on another kind "
        "of processor. The log counts, and proofs hold whatever arms were chosen; to choose the "
        "same ones, go on with the release that began"
    )
    return StudyWarning(DIVERGED, words, None, float(replay.diverged), 0.0)


def _named(arms: list[int], labels: Labels) -> str:
    shown = ", ".join(repr(labels[arm]) for arm in arms[:MOST_NAMED])
    more = len(arms) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"
