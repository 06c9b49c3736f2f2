"""Rules of a study: engines for its question, and confirmation of recorded decisions."""

from __future__ import annotations

import math
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid.engine import Engine, EventBatch, Verdict
from mislid.errors import CertificateError, ProblemError
from mislid.model import Model
from mislid.question import Question
from mislid.stopping.rules import PYTHON
from mislid.study.candidates import Candidates
from mislid.study.events import Contradicted, Decided
from mislid.study.settings import (
    EQUAL,
    GUARANTEED,
    UNKNOWN,
    Settings,
    is_absent,
    is_python,
    question_of,
)
from mislid.study.state import DECISION, StudyState

if TYPE_CHECKING:
    from mislid.study.session import Session

# Rounding is negligible if half a unit in the last place of a mean is at most this many standard
# errors.
COARSE = 1e-9
# Relative tolerance of recomputed evidence, as in a certificate: processors round differently.
SLACK = 1e-6


def new_engine(
    settings: Settings, candidates: Candidates, algorithm: Any = None, stopping: Any = None
) -> Engine:
    """A new engine for a study's question.

    Rules that are given as objects replace those named in the settings. Without features, all arms
    are measured first, because the spanner of the model's single column has only one arm.
    """
    return Engine(
        question_of(settings, candidates),
        _rule("algorithm", settings.algorithm, algorithm),
        _rule("stopping", settings.stopping, stopping),
        seed=settings.seed,
        every_arm=True if candidates.features is None else None,
        cost=None if settings.cost is None else np.array(settings.cost),
    )


def _rule(argument: str, name: str, given: Any) -> Any:
    if given is not None:
        return given
    if is_python(name):
        raise ProblemError(
            f"{argument} must be given to load_study or create_study: this study was begun with an "
            f"object of {name.removeprefix(PYTHON)!r}, which the log cannot hold"
        )
    if argument == "algorithm" and is_absent(name):
        raise ProblemError(
            f"algorithm {name!r}, with which this study was begun, is of a package that is not "
            "installed here: install it to go on; what is known so far can be read without it"
        )
    return name


def measurements_of(state: StudyState) -> EventBatch:
    """Batch of all measurements that count; those of one event are told together."""
    batch, sign = EventBatch(), state.settings.sign
    for _, told in groupby(state.observations, key=lambda one: one.sequence):
        group = list(told)
        batch.tell([one.arm for one in group], [sign * one.value for one in group])
    return batch


def stand_ins(settings: Settings, given: tuple[Any, Any]) -> tuple[Any, Any]:
    """The given rules, with unavailable ones replaced by rules that have the same estimates.

    The replacements may have estimates earlier, because an unavailable rule may first measure all
    arms.
    """
    algorithm, stopping = given
    if algorithm is None and is_absent(settings.algorithm):
        algorithm = "mislid"
    if stopping is None and is_python(settings.stopping):
        stopping = "heuristic"
    return algorithm, stopping


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile the kernels of rules, so that a study does not compile while it holds a lock."""
    from mislid.algorithms import ALGORITHMS

    # Custom rules may refuse the question below, and are not compiled.
    if algorithm not in ALGORITHMS or is_python(stopping):
        return
    model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
    batch = EventBatch()
    batch.tell((0, 1, 2), (0.0, 0.1, 0.2))
    batch.ask(0, 2, ())
    Engine(Question(model, m=1, noise=1.0, delta=0.5), algorithm, stopping).follow(batch)


def decision_of(settings: Settings, verdict: Verdict) -> Decided:
    """The fact that records a verdict."""
    answer = verdict.answer or ()
    # A rule written in Python may report no pair.
    others = (arm for arm in range(len(answer) + 1) if arm not in answer)
    pair = (next(others), answer[-1]) if verdict.pair is None else verdict.pair
    return Decided(
        answer=answer,
        samples=verdict.samples,
        rule=settings.stopping,
        statistic=float(np.nan_to_num(verdict.statistic, posinf=np.inf)),
        threshold=float(np.nan_to_num(verdict.threshold)),
        pair=pair,
    )


def is_coarse(settings: Settings, engine: Engine) -> bool:
    """Whether rounding of the means may affect a decision.

    The rules take means for exact. If the last digit of a mean is not far below its standard error,
    they may decide too early. A decision is then only made if its certificate holds, which bounds
    all rounding errors.
    """
    counts = engine.counts.astype(np.float64)
    deviations = settings.deviations(counts.size)
    if settings.noise_model in (UNKNOWN, EQUAL):
        deviations = np.sqrt(engine.scatter / np.maximum(counts, 1.0))
    digits = math.ulp(0.5) * np.abs(engine.means) * np.sqrt(counts)
    return bool(np.any(digits > COARSE * deviations))


def certificate_holds(state: StudyState, decision: Decided) -> bool:
    """Whether the certificate of a decision can be computed and is valid."""
    from mislid.certificate import Certificate
    from mislid.verification import verify

    if decision.rule != GUARANTEED:
        return True
    arguments = state.settings, state.candidates, decision, state.observations
    try:
        return verify(Certificate("", *arguments).to_dict()).ok
    except CertificateError:
        return False


def unconfirmed(session: Session) -> Contradicted | None:
    """A contradiction if the recorded decision does not follow from the data, else None.

    Decisions of unavailable rules without a proof are accepted.
    """
    state, decision = session.state, session.state.decision
    if decision is None or _is_reached(session, decision) or _is_proved(state, decision):
        return None
    level, threshold = state.settings.delta, decision.threshold
    return Contradicted(DECISION, decision.samples, level, 0.0, threshold, 0.0)


def cannot_be_known(session: Session) -> bool:
    """Whether the rules are unavailable and the stopping rule is not `guaranteed`."""
    return not session.has_rules and session.state.settings.stopping != GUARANTEED


def _is_reached(session: Session, decision: Decided) -> bool:
    """Whether the rules reach this decision when they replay the log."""
    if not session.has_rules:
        return cannot_be_known(session)
    session.catch_up()
    verdict = session.verdict
    if verdict is None or (verdict.answer, verdict.samples) != (decision.answer, decision.samples):
        return False
    shown = (verdict.statistic, decision.statistic), (verdict.threshold, decision.threshold)
    return all(math.isclose(*two, rel_tol=SLACK) for two in shown)


def _is_proved(state: StudyState, decision: Decided) -> bool:
    """Whether the measurements prove a decision that the rules do not reach, due to rounding."""
    from mislid.certificate.certificate import Log

    if state.settings.stopping != GUARANTEED:
        return False
    log = Log(state.settings, state.candidates, state.observations[: decision.samples])
    try:
        log.settle(decision.answer)
    except CertificateError:
        return False
    return True
