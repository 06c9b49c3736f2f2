"""Views: what the server shows of a study, as JSON, computed once for all who look.

Quick views are computed when they are asked for. Slow ones are computed one after the other;
meanwhile the last result is shown with its age.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mislid.forecast.evidence import NO_HISTORY
from mislid.forecast.overview import Overview
from mislid.io import as_plain
from mislid.report.summary import cautions, headline, key_numbers, question
from mislid.server.answers import event_json, packed
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.session import Session
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line
from mislid.verification import verify

# Studies that are kept in memory.
_MOST = 32
# Events that are read at once, and revisions that are shown.
_AT_ONCE, _REVISIONS = 5_000, 100
# Kinds of events that revise what was known.
REVISIONS = ("corrected", "voided", "redeclared", "accepted", "added", "retired", "contradicted")


def state_of(overview: Overview) -> Any:
    """The state of the study without a forecast, in numbers and in words."""
    words = {
        "question": question(overview),
        "headline": headline(overview, ahead=False),
        "cautions": cautions(overview),
        "numbers": key_numbers(overview, ahead=False),
    }
    return overview.to_dict(forecast=False) | {"words": words}


def estimates_of(overview: Overview) -> Any:
    """A row for every candidate."""
    return [row.to_dict() for row in overview.estimate_rows]


def forecast_of(overview: Overview) -> Any:
    """Measurements to go."""
    return overview.progress.to_dict()


def sensitivity_of(overview: Overview) -> Any:
    """The answer for other misspecifications; None where features prove nothing."""
    if overview.is_large:
        return {"note": "`study.sensitivity()` computes it, in minutes: there are many candidates."}
    found = overview.sensitivity
    return None if found is None else found.to_dict() | {"statement": found.statement}


def allocation_of(overview: Overview) -> Any:
    """Shares of the measurements, and those that are optimal if the estimates are true."""
    optimal = overview.optimal
    return {
        "labels": overview.labels,
        "shares": (overview.counts / max(overview.samples, 1)).tolist(),
        "optimal": None if optimal is None else optimal.tolist(),
        "note": "" if overview.time is None else overview.time.note,
    }


def evidence_of(overview: Overview) -> Any:
    """The evidence of the hardest pairs over time, as shares of the amount that each needs."""
    history = overview.history
    if history is None:
        return {"pairs": [], "note": NO_HISTORY, "hidden": 0}
    pairs = []
    for p, pair in enumerate(history.pairs):
        challenger, incumbent = overview.names(pair)
        settled = float(history.settled[p])
        pairs.append({
            "challenger": challenger,
            "incumbent": incumbent,
            "times": history.times.tolist(),
            "shares": history.shares[:, p].tolist(),
            "evidence": float(history.evidence[-1, p]),
            "threshold": history.level,
            "settled_after": None if math.isinf(settled) else settled,
        })  # fmt: skip
    return as_plain({"pairs": pairs, "note": "", "hidden": history.hidden})


def certificate_of(study: Study) -> Any:
    """The certificate of a decision; None before there is one."""
    return None if study.result is None else study.result.certificate.to_dict()


def verification_of(study: Study) -> Any:
    """The verification of the certificate."""
    found = certificate_of(study)
    return None if found is None else verify(found).to_dict()


QUICK: dict[str, Callable[[Overview], Any]] = {"state": state_of, "estimates": estimates_of}
SLOW: dict[str, Callable[[Overview], Any]] = {
    "allocation": allocation_of,
    "evidence": evidence_of,
    "forecast": forecast_of,
    "sensitivity": sensitivity_of,
}
PROOFS: dict[str, Callable[[Study], Any]] = {
    "certificate": certificate_of,
    "verification": verification_of,
}


@dataclass(frozen=True)
class View:
    """JSON of a study after a number of events, and when it was computed."""

    events: int
    content: bytes
    at: float


@dataclass
class Seen:
    """A study in memory, with its last views and those that are being computed."""

    study: Study
    events: int = 0
    views: dict[str, View] = field(default_factory=dict)
    running: dict[str, asyncio.Future[View]] = field(default_factory=dict)
    revisions: list[Entry] = field(default_factory=list)
    searched: int = 0  # events among which the revisions are

    def ended(self, kind: str, done: asyncio.Future[View]) -> None:
        """Keep a view that has been computed."""
        del self.running[kind]
        if not done.cancelled() and done.exception() is None:
            view = self.views[kind] = done.result()
            self.events = max(self.events, view.events)


class Views:
    """Studies and their views in memory.

    There is a thread for quick views, one for slow ones and one for changes of studies, so that
    many who look cost what one does.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._seen: dict[tuple[str, int], Seen] = {}
        self.quick, self.slow, self.writer = (ThreadPoolExecutor(1) for _ in range(3))

    def close(self) -> None:
        """Give up what is being computed; changes that were begun are made."""
        for pool in (self.quick, self.slow, self.writer):
            pool.shutdown(wait=False, cancel_futures=pool is not self.writer)

    def events(self) -> dict[tuple[str, int], int]:
        """After how many events of each study something was computed."""
        return {place: seen.events for place, seen in self._seen.items()}

    def of(self, line: Line) -> Seen:
        """A study, opened if it is not in memory."""
        place = line.name, line.key
        found = self._seen.pop(place, None) or Seen(Study(Session(*place, self._storage)))
        self._seen[place] = found
        if len(self._seen) > _MOST:
            self._seen.pop(next(iter(self._seen)))
        return found

    def forget(self, line: Line) -> None:
        """Read the log again from its beginning, since a backup took its place."""
        self._seen.pop((line.name, line.key), None)

    async def view(self, line: Line, kind: str, *, old: bool = False) -> View:
        """A view after all events of the line; a slow one may be `old`, and is then renewed."""
        seen = self.of(line)
        kept = seen.views.get(kind)
        if kept is not None and kept.events >= line.last:
            return kept
        if kept is not None and kind in SLOW and old:
            self._begin(seen, line.key, kind)
            return kept
        if kind in seen.running:  # it may have begun before the last event
            found = await asyncio.shield(seen.running[kind])
            if found.events >= line.last:
                return found
        return await asyncio.shield(self._begin(seen, line.key, kind))

    def _begin(self, seen: Seen, key: int, kind: str) -> asyncio.Future[View]:
        if kind not in seen.running:
            pool = self.slow if kind in SLOW or kind in PROOFS else self.quick
            work = partial(self._compute, seen, key, kind)
            seen.running[kind] = asyncio.get_running_loop().run_in_executor(pool, work)
            seen.running[kind].add_done_callback(partial(seen.ended, kind))
        return seen.running[kind]

    def _compute(self, seen: Seen, key: int, kind: str) -> View:
        if kind == "revisions":
            found = self._revisions(seen, key)
            return View(seen.searched, packed(found), time.monotonic())
        overview = seen.study.overview()
        if kind in PROOFS:
            content = packed(PROOFS[kind](seen.study))
        else:
            content = packed({"events": overview.events, kind: (QUICK | SLOW)[kind](overview)})
        return View(overview.events, content, time.monotonic())

    def _revisions(self, seen: Seen, key: int) -> Any:
        """The last revisions of the log, the newest first, and how many there are."""
        while entries := self._storage.read(key, seen.searched, _AT_ONCE):
            seen.revisions += [one for one in entries if one.kind in REVISIONS]
            seen.searched = entries[-1].sequence
        newest = [event_json(one) for one in reversed(seen.revisions[-_REVISIONS:])]
        return {"events": seen.searched, "revisions": newest, "count": len(seen.revisions)}
