"""Whether a decision in the log follows from the measurements: it is derived anew, not believed."""

from __future__ import annotations

import math

from mislid.errors import CertificateError
from mislid.study.certificate import Log
from mislid.study.claims import GUARANTEED
from mislid.study.evidence import Judgement
from mislid.study.facts import Contradicted, Decided
from mislid.study.replay import Replay
from mislid.study.settings import is_python
from mislid.study.state import DECISION, StudyState

# Evidence may miss its threshold by so much of it, as in a certificate: another kind of processor
# rounds differently.
SLACK = 1e-6


def unconfirmed(replay: Replay) -> Contradicted | None:
    """What speaks against the decision that the log records; None where it follows from the data.

    Of a rule that is written in Python and not here nobody knows; it proves nothing anyway.
    """
    state, decision = replay.state, replay.state.decision
    if decision is None or _is_reached(replay, decision) or _has_evidence(state, decision):
        return None
    return Contradicted(
        what=DECISION,
        samples=decision.samples,
        level=state.settings.delta,
        statistic=0.0,
        threshold=decision.threshold,
        least=0.0,
    )


def _is_reached(replay: Replay, decision: Decided) -> bool:
    """Whether the rules come to it when they take in the log."""
    if not replay.has_rules:
        return is_python(replay.state.settings.stopping)
    replay.catch_up()
    verdict = replay.verdict
    if verdict is None or (verdict.answer, verdict.samples) != (decision.answer, decision.samples):
        return False
    shown = (verdict.statistic, decision.statistic), (verdict.threshold, decision.threshold)
    return all(math.isclose(*two, rel_tol=SLACK) for two in shown)


def _has_evidence(state: StudyState, decision: Decided) -> bool:
    """Whether its measurements prove it all the same.

    So it is where an answer was accepted, where an earlier release needed more, and where another
    processor rounded differently.
    """
    settings, candidates = state.settings, state.candidates
    if is_python(settings.stopping):
        return False
    log = Log(settings, candidates, state.observations[: decision.samples])
    try:
        if settings.stopping == GUARANTEED:
            log.settle(decision.answer)
            return True
        judgement = Judgement(settings, candidates, log.after(decision.samples))
        return all(one.ratio >= 1.0 - SLACK for one in judgement.evidence(decision.answer))
    except CertificateError:
        return False
