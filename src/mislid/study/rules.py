"""The rules of a study: engines for its question, and whether they confirm a decision."""

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

# Half a unit in the last place of a mean, in standard errors, up to which rounding does not matter.
COARSE = 1e-9
# Evidence may miss its threshold by so much of it, as in a certificate: another kind of processor
# rounds differently.
SLACK = 1e-6


def new_engine(
    settings: Settings, candidates: Candidates, algorithm: Any = None, stopping: Any = None
) -> Engine:
    """An engine before the first measurement.

    Rules that are given take the place of those that the settings name. Without features all arms
    are measured first: the model has one column then, whose spanner is one arm.
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
    """All measurements that count, with those of one event together."""
    batch, sign = EventBatch(), state.settings.sign
    for _, told in groupby(state.observations, key=lambda one: one.sequence):
        group = list(told)
        batch.tell([one.arm for one in group], [sign * one.value for one in group])
    return batch


def stand_ins(settings: Settings, given: tuple[Any, Any]) -> tuple[Any, Any]:
    """The rules that were given; for others that are not here, some with the same estimates.

    They may have them earlier: whether a rule waits for all arms is not known of one that is not
    here.
    """
    algorithm, stopping = given
    if algorithm is None and is_absent(settings.algorithm):
        algorithm = "mislid"
    if stopping is None and is_python(settings.stopping):
        stopping = "heuristic"
    return algorithm, stopping


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile what a study with these rules needs, before it keeps others from writing."""
    from mislid.algorithms import ALGORITHMS

    # Rules of others may refuse the question below, and are not compiled.
    if algorithm not in ALGORITHMS or is_python(stopping):
        return
    model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
    batch = EventBatch()
    batch.tell((0, 1, 2), (0.0, 0.1, 0.2))
    batch.ask(0, 2, ())
    Engine(Question(model, m=1, noise=1.0, delta=0.5), algorithm, stopping).follow(batch)


def decision_of(settings: Settings, verdict: Verdict) -> Decided:
    """What is recorded of a verdict."""
    answer = verdict.answer or ()
    # A rule that is written in Python may have no evidence to show.
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
    """Whether rounding of the means may matter for a decision.

    A mean far above the noise is known no better than to its last digit. Where that is not far
    below a standard error, rules that take means for exact may decide too early, and a decision is
    only made if its certificate holds, which bounds all rounding.
    """
    counts = engine.counts.astype(np.float64)
    deviations = settings.deviations(counts.size)
    if settings.noise_model in (UNKNOWN, EQUAL):
        deviations = np.sqrt(engine.scatter / np.maximum(counts, 1.0))
    digits = math.ulp(0.5) * np.abs(engine.means) * np.sqrt(counts)
    return bool(np.any(digits > COARSE * deviations))


def certificate_holds(state: StudyState, decision: Decided) -> bool:
    """Whether the certificate of a decision can be made, and holds."""
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
    """What speaks against the decision that the log records; None where it follows from the data.

    Rules that are not here, and that prove nothing, are believed.
    """
    state, decision = session.state, session.state.decision
    if decision is None or _is_reached(session, decision) or _is_proved(state, decision):
        return None
    level, threshold = state.settings.delta, decision.threshold
    return Contradicted(DECISION, decision.samples, level, 0.0, threshold, 0.0)


def cannot_be_known(session: Session) -> bool:
    """Whether the rules are not here, and decide by another test than `guaranteed`."""
    return not session.has_rules and session.state.settings.stopping != GUARANTEED


def _is_reached(session: Session, decision: Decided) -> bool:
    """Whether the rules make this decision when they take in the log."""
    if not session.has_rules:
        return cannot_be_known(session)
    session.catch_up()
    verdict = session.verdict
    if verdict is None or (verdict.answer, verdict.samples) != (decision.answer, decision.samples):
        return False
    shown = (verdict.statistic, decision.statistic), (verdict.threshold, decision.threshold)
    return all(math.isclose(*two, rel_tol=SLACK) for two in shown)


def _is_proved(state: StudyState, decision: Decided) -> bool:
    """Whether its measurements prove it, although the rules here round differently."""
    from mislid.certificate.certificate import Log

    if state.settings.stopping != GUARANTEED:
        return False
    log = Log(state.settings, state.candidates, state.observations[: decision.samples])
    try:
        log.settle(decision.answer)
    except CertificateError:
        return False
    return True
