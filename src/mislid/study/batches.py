"""Batches of trials with limits, such as for plates: few candidates, several trials of each.

The rule proposes one candidate after the other, while the trials of earlier ones are open. If a
proposal does not fit the batch, another candidate replaces it: among those in the batch, the one
with the fewest trials in it; if none of them fits, the one with the fewest measurements. For every
rule, a batch is therefore a function of the log. The log records both proposals and trials, so that
a replay makes the same proposals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mislid._validation import as_count
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.study.session import Session
    from mislid.study.state import TrialRecord

MOST_TRIALS = 100_000
"""The most trials that one call can ask for."""

PHASE = "phase"
"""Value of `n` that asks for all trials that the rule has planned."""

LONGEST_LEASE = 100 * 365.25 * 86400.0
"""The longest lease, in seconds: a hundred years."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a batch: most candidates, most trials per candidate, and trials per group."""

    max_candidates: int | None = None
    max_per_candidate: int | None = None
    replicates: int = 1

    def most(self, K: int) -> int | None:
        """The most trials in one batch of K candidates; None if unlimited."""
        if self.max_per_candidate is None:
            return None
        different = K if self.max_candidates is None else min(self.max_candidates, K)
        return different * (self.max_per_candidate // self.replicates) * self.replicates

    def refuse_too_many(self, n: int, K: int) -> None:
        """Refuse a batch that no choice of candidates can fill."""
        most = self.most(K)
        if most is not None and n > most:
            raise ProblemError(
                f"n must be at most {most} with these limits: {K} candidates, max_candidates="
                f"{self.max_candidates}, max_per_candidate={self.max_per_candidate}, replicates="
                f"{self.replicates}; got {n}"
            )


def as_limits(n: int, max_candidates: Any, max_per_candidate: Any, replicates: Any) -> Limits:
    """Check the limits of a batch of n trials."""
    limits = Limits(
        None if max_candidates is None else as_count(max_candidates, "max_candidates", 1),
        None if max_per_candidate is None else as_count(max_per_candidate, "max_per_candidate", 1),
        as_count(replicates, "replicates", 1),
    )
    if n % limits.replicates:
        raise ProblemError(
            f"n must be a multiple of replicates, {limits.replicates}: it counts trials; got {n}"
        )
    if limits.max_per_candidate is not None and limits.max_per_candidate < limits.replicates:
        raise ProblemError(
            f"max_per_candidate must be at least replicates, {limits.replicates}; got "
            f"{limits.max_per_candidate}"
        )
    return limits


def phase_size(session: Session, limits: Limits | None, open_: int) -> int:
    """Number of trials that complete a phase, plus `open_` trials that are handed out again."""
    left = session.engine.phase_left(session.state.waiting_arms())
    if left is None:
        raise ProblemError(
            f"n must be a number with the algorithm {session.state.settings.algorithm!r}, which "
            f"has no phases; got {PHASE!r}. 'rage' has"
        )
    if left + open_ == 0:
        raise ProblemError(
            f"n={PHASE!r} needs the values of the open trials: all of the phase are handed out. "
            "Tell them, or ask for a number of trials"
        )
    if limits is None:
        return min(left + open_, MOST_TRIALS)
    left += -left % limits.replicates
    most = limits.most(len(session.state.roster.measurable))
    return min(left + open_, MOST_TRIALS if most is None else most)


class Batch:
    """A batch under construction; each step adds `replicates` trials of an arm."""

    def __init__(self, limits: Limits, arms: Iterable[int]) -> None:
        self._limits, self._in_it = limits, Counter(arms)

    def _takes(self, arm: int) -> bool:
        """Whether one more group of an arm fits."""
        limits, present = self._limits, self._in_it[arm]
        most = limits.max_per_candidate
        if most is not None and present + limits.replicates > most:
            return False
        different = sum(count > 0 for count in self._in_it.values())
        return present > 0 or limits.max_candidates is None or different < limits.max_candidates

    def taken(self, lapsed: Iterable[TrialRecord], room: int) -> list[TrialRecord]:
        """Add the groups of expired trials that fit, at most `room` trials; return these trials."""
        groups: dict[int, list[TrialRecord]] = {}
        chosen: list[TrialRecord] = []
        size = self._limits.replicates
        for trial in lapsed:
            group = groups.setdefault(trial.arm, [])
            group.append(trial)
            if len(group) == size and len(chosen) + size <= room and self._takes(trial.arm):
                chosen += group
                self._in_it[trial.arm] += size
            if len(group) == size:
                groups[trial.arm] = []
        return chosen

    def fill(self, session: Session, n: int, replacing: int) -> tuple[list[int], list[int]]:
        """Add new trials, at most n, whose ids follow those of `replacing` others.

        Returns the rule's proposals, one arm per group, and the arms of all new trials.
        """
        proposed, arms, size = list[int](), list[int](), self._limits.replicates
        counts = session.engine.counts.tolist()
        measured = {arm: counts[place] for place, arm in session.state.roster.measurable.items()}
        while len(arms) + size <= n and any(map(self._takes, measured)):
            (arm,) = session.propose(1, replacing, arms)
            proposed.append(arm)
            if not self._takes(arm):
                arm = self._instead(measured)
            self._in_it[arm] += size
            arms += [arm] * size
        return proposed, arms

    def _instead(self, measured: Mapping[int, float]) -> int:
        """The arm that replaces a proposal that does not fit."""
        fitting = filter(self._takes, measured)
        present = self._in_it
        return min(fitting, key=lambda arm: (present[arm] == 0, present[arm] or measured[arm]))
