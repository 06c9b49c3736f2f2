"""A study in a line, kept beside its log so that a list of studies need not read all of them."""

from __future__ import annotations

import json

from mislid.study.result import DECIDED, RUNNING, StudySummary
from mislid.study.state import StudyState


def summary_of(name: str, state: StudyState) -> StudySummary:
    """What a state comes to."""
    return StudySummary(
        name=name,
        status=RUNNING if state.decision is None else DECIDED,
        m=state.settings.m,
        candidates=state.candidates.K,
        observations=len(state.observations),
        pending=len(state.waiting),
        created=state.created_at,
        updated=state.time,
        stopping=state.settings.stopping,
    )


def written_summary(state: StudyState) -> str:
    """For a storage: the number of events, and the rest of the line."""
    line = summary_of("", state)
    values = [line.status, line.m, line.candidates, line.observations, line.pending]
    return json.dumps([state.sequence, *values, line.created, line.updated, line.stopping])


def read_summary(name: str, last: int, text: str | None) -> StudySummary | None:
    """What `written_summary` wrote after event `last`, or None.

    An older release that has the study open meanwhile adds events but no summary.
    """
    if text is None:
        return None
    try:
        events, *values = json.loads(text)
        return StudySummary(name, *values) if events == last else None
    except (ValueError, TypeError):
        return None
