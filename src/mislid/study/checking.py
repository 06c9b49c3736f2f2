"""Look at a study's whole log: seals, events, and what is derived from them.

A decision in it is not believed: it must follow from the measurements.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mislid._validation import fill
from mislid._words import shown
from mislid.errors import CertificateError, CorruptStorageError, MislidError, ProblemError
from mislid.study.contradictions import in_words
from mislid.study.events import Chain, Entry, events_of
from mislid.study.facts import Contradicted, Decided
from mislid.study.replay import Replay
from mislid.study.result import PlainRecord
from mislid.study.settings import GUARANTEED
from mislid.study.state import DECISION, StudyState, read_summary, summary_of
from mislid.study.storage import Storage, as_storage

# Entries that are read at once, and problems after which nobody needs more.
_AT_ONCE, _MOST = 10_000, 20
# Evidence may miss its threshold by so much of it, as in a certificate: another kind of processor
# rounds differently.
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class StudyCheck(PlainRecord):
    """What a check of a study's log found.

    Attributes
    ----------
    study
        Its name.
    events, head
        Number of events, and the seal of the last one: written down, it shows later whether the log
        up to here is still the same.
    samples
        Measurements that count, of the events that hold.
    decision
        "none", "confirmed", "not confirmed", or "not checked" where the log is broken, or rules
        without a proof are not here.
    problems
        What does not hold, in words; empty where all does.
    ok
        Whether all does.
    """

    study: str
    events: int
    head: str
    samples: int
    decision: str
    problems: tuple[str, ...]
    ok: bool = field(init=False)

    def __post_init__(self) -> None:
        fill(self, ok=not self.problems)

    def __bool__(self) -> bool:
        """Whether all holds."""
        return self.ok


def check_study(
    *, study_name: str, storage: str | os.PathLike[str] | Storage, head: str | None = None
) -> StudyCheck:
    """Check every seal and every event of a study's log, and derive its decision anew.

    Parameters
    ----------
    study_name, storage
        Which study, and where it is kept.
    head
        One that was written down before: the log must still have it.

    Returns
    -------
    StudyCheck
        What was found; true where all holds.

    Raises
    ------
    ProblemError, UnknownStudyError
        The storage is no address, there is no such study, or the head is none.

    Examples
    --------
    >>> from mislid import create_study
    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> study = create_study(study_name="assay", candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> before = check_study(study_name="assay", storage=lab)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> now = check_study(study_name="assay", storage=lab, head=before.head)
    >>> now.ok, now.events, now.samples
    (True, 2, 2)
    """
    given: Any = head
    if given is not None and not (isinstance(given, str) and re.fullmatch("[0-9a-f]{64}", given)):
        raise ProblemError(f"head must have 64 digits of 0-9 and a-f; got {shown(given)}")
    place = as_storage(storage)
    return _Check(place, study_name, head).result()


class _Check:
    def __init__(self, storage: Storage, name: str, head: str | None) -> None:
        self.storage, self.name, self.key = storage, name, storage.find(name)
        self.chain, self.replay = Chain(), Replay()
        self.problems: list[str] = []
        self.wanted = head

    def result(self) -> StudyCheck:
        self.problems += self.storage.faults(self.key)
        for entries in self._parts():
            self._seals(entries)
            self._events(entries)
        if self.wanted is not None:
            self.problems.append(
                f"no event has the head {self.wanted}: the log was cut off or written anew since"
            )
        decision = self._decision() if not self.problems else "not checked"
        state = self.replay.state
        return StudyCheck(
            study=self.name,
            events=self.chain.sequence,
            head=self.chain.head,
            samples=len(state.observations),
            decision=decision,
            problems=tuple(self.problems[:_MOST]),
        )

    def _parts(self) -> Iterator[list[Entry]]:
        """The log in parts, as far as it can be read."""
        after = 0
        while True:
            try:
                entries = self.storage.read(self.key, after, _AT_ONCE)
            except CorruptStorageError as problem:
                self.problems.append(str(problem))
                return
            yield entries
            if len(entries) < _AT_ONCE:
                return
            after = entries[-1].sequence

    def _seals(self, entries: list[Entry]) -> None:
        """Every entry against the one before; after a break it goes on from what is written."""
        for entry in entries:
            try:
                self.chain.take_in([entry])
            except CorruptStorageError as problem:
                self.problems.append(str(problem).partition(". Nothing is decided")[0])
                self.chain = Chain(entry.sequence, entry.seal, self.chain.first)
            if self.chain.head == self.wanted:
                self.wanted = None

    def _events(self, entries: list[Entry]) -> None:
        """What the events come to, up to the first problem."""
        if self.problems:
            return
        try:
            self.replay.take_in(events_of(entries))
        except MislidError as problem:
            self.problems.append(str(problem).partition(". Nothing is decided")[0])

    def _decision(self) -> str:
        state = self.replay.state
        self._line()
        if state.decision is None:
            return "none"
        if _cannot_be_known(self.replay):
            return "not checked"
        found = unconfirmed(self.replay)
        if found is None:
            return "confirmed"
        self.problems.append(in_words(found, state).partition(". ")[0])
        return "not confirmed"

    def _line(self) -> None:
        """What a list of studies says, if it says anything."""
        state = self.replay.state
        for line in self.storage.lines():
            listed = read_summary(line.name, state.sequence, line.summary)
            if line.key == self.key and listed not in (None, summary_of(self.name, state)):
                self.problems.append("the list of studies says something else than the log")


def unconfirmed(replay: Replay) -> Contradicted | None:
    """What speaks against the decision that the log records; None where it follows from the data.

    Of rules that are not here nobody knows where they prove nothing anyway.
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


def _cannot_be_known(replay: Replay) -> bool:
    """Whether rules that are not here decided by another test than `guaranteed`."""
    return not replay.has_rules and replay.state.settings.stopping != GUARANTEED


def _is_reached(replay: Replay, decision: Decided) -> bool:
    """Whether the rules come to it when they take in the log."""
    if not replay.has_rules:
        return _cannot_be_known(replay)
    replay.catch_up()
    verdict = replay.verdict
    if verdict is None or (verdict.answer, verdict.samples) != (decision.answer, decision.samples):
        return False
    shown = (verdict.statistic, decision.statistic), (verdict.threshold, decision.threshold)
    return all(math.isclose(*two, rel_tol=SLACK) for two in shown)


def _has_evidence(state: StudyState, decision: Decided) -> bool:
    """Whether its measurements prove it all the same.

    So it is where an answer was accepted, and where another processor rounded differently.
    """
    from mislid.certificate.certificate import Log

    settings, candidates = state.settings, state.candidates
    if settings.stopping != GUARANTEED:
        return False
    try:
        Log(settings, candidates, state.observations[: decision.samples]).settle(decision.answer)
    except CertificateError:
        return False
    return True
