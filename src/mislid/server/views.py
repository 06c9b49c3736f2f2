"""What is shown of a study, computed once for all who look, as JSON that can be sent.

What is quick is computed when it is asked for; what is not, by one worker, while the last result
is shown with its age.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mislid.forecast.history import EvidenceOverTime
from mislid.forecast.overview import Overview
from mislid.forecast.questions import estimate_rows_of
from mislid.io import as_plain
from mislid.report.summary import cautions, headline, key_numbers, question
from mislid.server.answers import packed, refused
from mislid.server.workers import Worker
from mislid.study import Study
from mislid.study.storage import Storage
from mislid.verification import verify

# Studies whose state is kept in memory.
_MOST = 32
# Requests that may wait for the worker of what takes long.
_MOST_WAITING = 16


def state_of(overview: Overview) -> Any:
    """How the study stands, without any forecast: in numbers, and in words."""
    overview.without_forecast()
    words = {
        "question": question(overview),
        "headline": headline(overview, ahead=False),
        "cautions": cautions(overview),
        "numbers": key_numbers(overview, ahead=False),
    }
    return overview.to_dict() | {"words": words}


def forecast_of(overview: Overview) -> Any:
    """What is left to do, as asked and for other questions."""
    progress = overview.progress.to_dict()
    return progress | {"what_ifs": [one.to_dict() for one in overview.what_ifs]}


def sensitivity_of(overview: Overview) -> Any:
    """The dial; None where features prove nothing."""
    if overview.is_large:
        return {
            "note": "With so many candidates this takes minutes: `study.sensitivity()` does it."
        }
    found = overview.sensitivity
    return None if found is None else found.to_dict() | {"statement": found.statement}


def allocation_of(overview: Overview) -> Any:
    """Where measurements went, and where they would go if the estimates were true."""
    optimal = overview.optimal
    return {
        "labels": overview.labels,
        "shares": (overview.counts / max(overview.samples, 1)).tolist(),
        "optimal": None if optimal is None else optimal.tolist(),
        "note": overview.no_optimum,
    }


def evidence_of(overview: Overview) -> Any:
    """How the evidence of pairs grew, as shares of what each needs, by the best of the proofs."""
    history = overview.history
    if history is None:
        return {"pairs": [], "note": overview.no_history, "undrawn": 0}
    pairs = [
        _pair(overview, evidence, p)
        for evidence in (history.closest, history.others)
        for p in range(len(evidence.pairs))
    ]
    return {"pairs": pairs, "note": "", "undrawn": history.undrawn}


def _pair(overview: Overview, evidence: EvidenceOverTime, p: int) -> Any:
    challenger, incumbent = evidence.pairs[p].tolist()
    proof, statistics, thresholds = evidence.of_pair(p)
    since = float(evidence.since[p])
    return as_plain({
        "challenger": overview.labels[challenger],
        "incumbent": overview.labels[incumbent],
        "proof": proof,
        "times": evidence.times.tolist(),
        "shares": evidence.shares[:, p].tolist(),
        "statistic": float(statistics[-1]),
        "threshold": float(thresholds[-1]),
        "settled_after": None if math.isinf(since) else since,
    })  # fmt: skip


def share_of(overview: Overview) -> float | None:
    """How much the hardest pair has of the evidence that it needs; None where nobody knows."""
    overview.without_forecast()
    statistic, threshold = overview.progress.statistic, overview.progress.threshold
    if statistic is None or threshold is None or not 0.0 < threshold < math.inf:
        return None
    return min(statistic / threshold, 1.0)


def estimates_of(overview: Overview) -> Any:
    """A row for every candidate."""
    return [row.to_dict() for row in estimate_rows_of(overview.claims)]


def certificate_of(study: Study) -> Any:
    """The certificate of a study that has decided; None of one that has not."""
    result = study.result
    return None if result is None else result.certificate.to_dict()


def verification_of(study: Study) -> Any:
    """What the independent check says of it."""
    found = certificate_of(study)
    return None if found is None else verify(found).to_dict()


QUICK: dict[str, Callable[[Overview], Any]] = {"state": state_of, "estimates": estimates_of}
SLOW: dict[str, Callable[[Overview], Any]] = {
    "share": share_of,
    "forecast": forecast_of,
    "sensitivity": sensitivity_of,
    "allocation": allocation_of,
    "evidence": evidence_of,
}
# Those of a decision, as they are; JSON's null without one.
PROOFS: dict[str, Callable[[Study], Any]] = {
    "certificate": certificate_of,
    "verification": verification_of,
}


@dataclass(frozen=True)
class View:
    """JSON of a study after so many events, and when it was computed."""

    events: int
    content: bytes
    at: float


class Views:
    """Computes and keeps what is shown.

    `quick` and `slow` are one thread each: however many look, no more than two processors are busy.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._studies: dict[tuple[str, int], Study] = {}
        self._kept: dict[tuple[int, str], View] = {}
        self._running: dict[tuple[int, str], asyncio.Future[View]] = {}
        self._alone = threading.Lock()
        self.quick = ThreadPoolExecutor(1, "mislid-quick")
        busy = "too much is being computed: ask again in some seconds"
        self.slow = Worker("mislid-slow", _MOST_WAITING, busy)

    def close(self) -> None:
        """Wait for nothing: what is computed is lost."""
        for pool in (self.quick, self.slow.pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def study(self, name: str, key: int) -> Study:
        """The study, as this process knows it."""
        with self._alone:
            found = self._studies.pop((name, key), None) or Study(name, key, self._storage)
            self._studies[name, key] = found
            if len(self._studies) > _MOST:
                self._studies.pop(next(iter(self._studies)))
        return found

    def kept(self, key: int, kind: str) -> View | None:
        """What was computed last."""
        return self._kept.get((key, kind))

    def known(self, key: int) -> int:
        """Events of a study that something was computed after."""
        return max((view.events for (of, _), view in self._kept.items() if of == key), default=0)

    def is_of_another(self, name: str, key: int) -> bool:
        """Whether what is known under this key is about a study of another name."""
        with self._alone:
            return any(of == key and other != name for other, of in self._studies)

    def forget(self, key: int) -> None:
        """Read the log anew, from its beginning."""
        with self._alone:
            self._studies = {at: one for at, one in self._studies.items() if at[1] != key}
        self._kept = {at: view for at, view in self._kept.items() if at[0] != key}

    async def fresh(self, name: str, key: int, kind: str, events: int) -> View:
        """A view after at least so many events; who asks meanwhile waits for the same one."""
        kept = self._kept.get((key, kind))
        if kept is not None and kept.events >= events:
            return kept
        running = self._running.get((key, kind))
        if running is not None:  # it may have begun before these events
            found = await asyncio.shield(running)
            if found.events >= events:
                return found
        return await asyncio.shield(self._begun(name, key, kind))

    def _begun(self, name: str, key: int, kind: str) -> asyncio.Future[View]:
        running = self._running.get((key, kind))
        if running is None:
            running = asyncio.ensure_future(self._computed(name, key, kind))
            self._running[key, kind] = running
            running.add_done_callback(lambda _: self._running.pop((key, kind), None))
        return running

    async def _computed(self, name: str, key: int, kind: str) -> View:
        pool = self.quick if kind in QUICK else self.slow.pool
        loop = asyncio.get_running_loop()
        view = await loop.run_in_executor(pool, self._compute, name, key, kind)
        self._kept[key, kind] = view
        if len(self._kept) > _MOST * 8:
            self._kept.pop(next(iter(self._kept)))
        return view

    def _compute(self, name: str, key: int, kind: str) -> View:
        study = self.study(name, key)
        overview = study.overview()
        if kind in PROOFS:
            content = packed(PROOFS[kind](study))
        else:
            content = packed({"events": overview.events, kind: (QUICK | SLOW)[kind](overview)})
        return View(overview.events, content, time.monotonic())


def failed(problem: Exception) -> bytes:
    """An error as a message of a stream."""
    return bytes(refused(problem).body)
