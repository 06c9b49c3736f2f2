"""Sensitivity of an answer to the misspecification, and warnings.

All statements of a sensitivity hold simultaneously with probability 1 - delta. docs/checks.md has
the proof.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mislid.errors import ProblemError
from mislid.forecast.evidence import proved_range
from mislid.stopping.assumptions import Dispersion
from mislid.stopping.noise import UNDECLARED
from mislid.study.assumption_tests import NOISE_LEVEL, Tallies, constant_words, is_constant
from mislid.study.results import Label, PlainRecord
from mislid.study.settings import GUARANTEED, UNKNOWN, is_python
from mislid.study.state import NOISE

if TYPE_CHECKING:
    from mislid.forecast.overview import Overview

# If one candidate of a pair can no longer be measured, more measurements of the other one hardly
# help once it has this many times as many.
ENOUGH = 10.0
# The most candidates that a warning names.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Sensitivity(PlainRecord):
    """How a study's answer depends on the misspecification.

    Attributes
    ----------
    declared
        The misspecification of the study.
    largest
        The largest misspecification for which the data prove the current answer; None if there is
        none, infinite if they prove it without any structure.
    answer
        The current answer, best first; None if `largest` is None.
    smallest
        The data refute every misspecification below this value.
    level
        `largest` and `smallest` are correct at all times and for all misspecifications
        simultaneously, with probability 1 - level. If the declared misspecification is infinite
        and the study has decided, the decision rests on a separate event: together, the
        probability is 1 - 2 level.
    proven
        Whether the stopping rule is `guaranteed` and the data do not refute the declared noise.
    """

    declared: float
    largest: float | None
    answer: tuple[Label, ...] | None
    smallest: float
    level: float
    proven: bool = False

    @property
    def statement(self) -> str:
        """A sentence on what the data prove and refute."""
        if not self.proven:
            words = "nothing is proved"
        elif self.largest is None:
            words = "proved for no misspecification, not even for 0"
        elif math.isinf(self.largest):
            words = "proved for every misspecification"
        else:
            words = f"proved for every misspecification up to {self.largest:.3g}"
        if self.smallest > 0.0:
            words += f"; the data refute any below {self.smallest:.3g}"
            if self.proven and self.largest is not None and self.largest <= self.smallest:
                words += ", so nothing is proved for the others"
        return words


def sensitivity(overview: Overview) -> Sensitivity:
    """The sensitivity of the current answer."""
    engine, candidates = overview.engine, overview.candidates
    declared = engine.question.model.misspecification
    if candidates.features is None:
        raise ProblemError(
            "sensitivity needs candidates with features: without them nothing is assumed to be "
            "linear, and there is no misspecification to vary"
        )
    if engine.question.noise_model == UNKNOWN:
        raise ProblemError(
            "sensitivity needs to know something of the noise: where it is unknown, features prove "
            "nothing, and an answer holds for every misspecification. Begin a study with another "
            "noise to have it, and add the observations of this one"
        )
    is_guaranteed = engine.stopping.name == GUARANTEED
    largest, smallest = overview.proved or proved_range(overview)
    if not is_guaranteed:
        largest = None
    elif np.all(engine.counts[engine.design] > 0):
        verdict = overview.verdict
        own = verdict is not None and set(verdict.answer) == set(overview.leaders)
        if math.isinf(declared) and own:
            largest = math.inf  # proved with the study's M, which may differ from the one here
    return Sensitivity(
        declared=declared,
        largest=largest,
        answer=None if largest is None else overview.names(overview.leaders),
        smallest=smallest,
        level=overview.settings.error_rate,
        proven=is_guaranteed and not overview.noise_refuted,
    )


@dataclass(frozen=True, slots=True)
class StudyWarning(PlainRecord):
    """A reason to doubt a declaration or the answer.

    Attributes
    ----------
    kind
        `misspecification`, `noise` or `decision`: the data refute what was declared or recorded.
        `disagreement`: later data favor another answer. `stuck`: the open pairs involve candidates
        that can no longer be measured. `constant`: the noise is unknown, but all values of each
        candidate are equal. `diverged`: this release, or this machine, would choose other
        candidates than the log records.
    message
        The finding and the recommended action.
    """

    kind: str
    message: str


def warnings_of(overview: Overview) -> tuple[StudyWarning, ...]:
    """All warnings about a study."""
    found = [
        StudyWarning(one.what, words + (_suspects(overview) if one.what == NOISE else ""))
        for one, words in zip(overview.refuted, overview.contradictions, strict=True)
    ]
    others = {
        "constant": _constant(overview),
        "disagreement": _disagreement(overview),
        "stuck": _stuck(overview),
        "diverged": _diverged(overview),
    }
    return (*found, *(StudyWarning(kind, words) for kind, words in others.items() if words))


def _suspects(overview: Overview) -> str:
    noise = overview.settings.deviations(overview.K)
    suspects = Dispersion.of(overview.arms, overview.values, noise).suspects(NOISE_LEVEL)
    return f". The values of {_named(overview, suspects)} scatter most"


def _constant(overview: Overview) -> str:
    if overview.settings.noise_model not in UNDECLARED:
        return ""
    tallies = Tallies(overview.K)
    tallies.add(overview.arms, overview.values)
    return constant_words(int(tallies.counts.max())) if is_constant(tallies) else ""


def _disagreement(overview: Overview) -> str:
    decision, engine = overview.decision, overview.engine
    if decision is None or not engine.is_estimated:
        return ""
    means, tolerance = engine.estimate.tolist(), engine.question.tolerance
    outside = set(range(overview.K)) - set(decision.answer)
    pair = max(outside, key=means.__getitem__), min(decision.answer, key=means.__getitem__)
    lead = means[pair[0]] - means[pair[1]]
    if lead <= tolerance:
        return ""
    challenger, incumbent = overview.names(pair)
    return (
        f"the answer was decided after {decision.samples} measurements and stays, but after "
        f"{overview.samples} the estimates put {challenger!r} ahead of {incumbent!r}, by "
        f"{lead:.3g} with a tolerance of {tolerance:g}. With the declared error rate an answer is "
        "seldom wrong: look at the other warnings, and whether values drift"
    )


def _stuck(overview: Overview) -> str:
    """A message if every open pair needs a candidate that can no longer be measured, else ""."""
    engine, counts = overview.engine, overview.counts
    python = is_python(overview.settings.stopping)
    if overview.decision is not None or python or not engine.is_estimated:
        return ""
    arms, incumbents, waiting = set(range(overview.K)), set(engine.incumbents), set[int]()
    closed = arms - overview.roster.measurable.keys()
    pairs = set(itertools.product(arms - incumbents, incumbents))
    for pair in pairs - engine.settled().keys():
        fewer, more = sorted(pair, key=counts.__getitem__)
        if fewer not in closed or (more not in closed and counts[more] < ENOUGH * counts[fewer]):
            return ""
        waiting |= closed & set(pair)
    if not waiting:
        return ""
    return (
        "more measurements will hardly decide: the open pairs need "
        f"{_named(overview, sorted(waiting))}, which cannot be measured any more. Remove it from "
        "the question by retire(..., leave=True), or report what result_now() says"
    )


def _diverged(overview: Overview) -> str:
    if overview.diverged == 0:
        return ""
    return (
        f"for {overview.diverged} of {overview.trials} trials the rules would now choose another "
        "candidate than the log records: it was written by another release or on another kind of "
        "processor. The log counts, and proofs hold whatever was chosen; to choose the same "
        "candidates, continue with the release that began"
    )


def _named(overview: Overview, arms: list[int]) -> str:
    shown = ", ".join(repr(label) for label in overview.names(arms[:MOST_NAMED]))
    more = len(arms) - MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
