"""Batches that fit a plate: few candidates, each several times, none too often.

The rule proposes one candidate after the other, with those before it open. Where a proposal does
not fit the batch, another candidate takes its place: of those that are in the batch the one that
is in it least, else the one that was measured least. So a batch is a function of the log, whatever
rule chooses. The log has the proposals beside what was handed out, and a replay asks for the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mislid._validation import as_count
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid.study.replay import Replay
    from mislid.study.state import TrialRecord

MOST_TRIALS = 100_000
"""Trials that can be asked for at once."""

PHASE = "phase"
"""What to ask for instead of a number: all that the rule has planned."""

LONGEST_LEASE = 100 * 365.25 * 86400.0
"""Seconds after which others may be asked, at most: a hundred years."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a batch has to fit: at most so many candidates, so many trials of each, in groups."""

    at_most: int | None = None
    same_arm: int | None = None
    replicates: int = 1

    def most(self, K: int) -> int | None:
        """Trials that fit into one batch of K candidates; None where there is no end."""
        if self.same_arm is None:
            return None
        different = K if self.at_most is None else min(self.at_most, K)
        return different * (self.same_arm // self.replicates) * self.replicates


def as_limits(n: int, at_most: Any, same_arm: Any, replicates: Any) -> Limits:
    """Check what a batch of n trials has to fit."""
    limits = Limits(
        None if at_most is None else as_count(at_most, "at_most", 1),
        None if same_arm is None else as_count(same_arm, "same_arm", 1),
        as_count(replicates, "replicates", 1),
    )
    if n % limits.replicates:
        raise ProblemError(
            f"n must be a multiple of replicates, {limits.replicates}: it counts trials; got {n}"
        )
    if limits.same_arm is not None and limits.same_arm < limits.replicates:
        raise ProblemError(
            f"same_arm must be at least replicates, {limits.replicates}; got {limits.same_arm}"
        )
    return limits


def as_size(n: Any) -> int | None:
    """Trials that are asked for; None for a phase."""
    if isinstance(n, str):
        if n == PHASE:
            return None
        raise ProblemError(f"n must be a whole number or {PHASE!r}; got {n!r}")
    return as_count(n, "n", 1, MOST_TRIALS)


def phase_size(replay: Replay, limits: Limits | None, open_: int) -> int:
    """Trials that complete a phase, besides the open ones that are handed out again."""
    left = replay.phase_left()
    if left is None:
        raise ProblemError(
            f"n must be a number with the algorithm {replay.state.settings.algorithm!r}, which has "
            f"no phases; got {PHASE!r}. 'rage' has"
        )
    if left + open_ == 0:
        raise ProblemError(
            f"n={PHASE!r} needs what the open trials gave: all of the phase are handed out. Tell "
            "them, or ask for a number of trials"
        )
    if limits is None:
        return min(left + open_, MOST_TRIALS)
    left += -left % limits.replicates
    most = limits.most(len(replay.state.census.measurable))
    return min(left + open_, MOST_TRIALS if most is None else most)


def refuse_too_many(n: int, limits: Limits, K: int) -> None:
    """Refuse a batch that no choice of candidates can fill."""
    most = limits.most(K)
    if most is not None and n > most:
        raise ProblemError(
            f"n must be at most {most} with these limits: {K} candidates, at_most="
            f"{limits.at_most}, same_arm={limits.same_arm}, replicates={limits.replicates}; got {n}"
        )


class Batch:
    """A batch as it is filled, group by group."""

    def __init__(self, limits: Limits, arms: Iterable[int]) -> None:
        self._limits, self._in_it = limits, Counter(arms)

    def takes(self, arm: int) -> bool:
        """Whether one more group of this arm fits."""
        limits, present = self._limits, self._in_it[arm]
        if limits.same_arm is not None and present + limits.replicates > limits.same_arm:
            return False
        return present > 0 or limits.at_most is None or self.arms < limits.at_most

    @property
    def arms(self) -> int:
        """Different arms in it."""
        return sum(count > 0 for count in self._in_it.values())

    def add(self, arm: int) -> None:
        """Put a group in."""
        self._in_it[arm] += self._limits.replicates

    def instead(self, measured: Mapping[int, float]) -> int:
        """The arm that takes the place of one that does not fit."""
        fitting = [arm for arm in measured if self.takes(arm)]
        return min(fitting, key=lambda arm: self._preference(arm, measured))

    def _preference(self, arm: int, measured: Mapping[int, float]) -> tuple[bool, float]:
        """The least first: arms that are in the batch before others."""
        present = self._in_it[arm]
        return present == 0, present or measured[arm]

    def has_room(self, arms: Iterable[int]) -> bool:
        """Whether anything fits still."""
        return any(self.takes(arm) for arm in arms)

    def taken(self, lapsed: Iterable[TrialRecord], room: int) -> list[TrialRecord]:
        """Put in the groups of expired trials that fit, at most so many trials."""
        groups: dict[int, list[TrialRecord]] = {}
        chosen: list[TrialRecord] = []
        size = self._limits.replicates
        for trial in lapsed:
            group = groups.setdefault(trial.arm, [])
            group.append(trial)
            if len(group) == size and len(chosen) + size <= room and self.takes(trial.arm):
                chosen += group
                self.add(trial.arm)
            if len(group) == size:
                groups[trial.arm] = []
        return chosen


def fill(
    replay: Replay, batch: Batch, limits: Limits, n: int, replacing: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Fill a batch with new trials, at most n, whose ids follow `replacing` others.

    Gives what the rule proposed, one arm for every group, and the arms of all new trials.
    """
    proposed: list[int] = []
    arms: list[int] = []
    counts = replay.engine.counts.tolist()
    measured = {arm: counts[place] for place, arm in replay.state.census.measurable.items()}
    while len(arms) + limits.replicates <= n and batch.has_room(measured):
        (arm,) = replay.propose(1, replacing, arms)
        proposed.append(arm)
        if not batch.takes(arm):
            arm = batch.instead(measured)
        batch.add(arm)
        arms += [arm] * limits.replicates
    return tuple(proposed), tuple(arms)
