"""Batches of trials, which may have to fit a plate: few candidates, each several times.

First come the worker's own open trials, then expired ones of others, under new ids, then what the
rule proposes.

For a batch with limits the rule proposes one candidate after the other, with those before it
open. Where a proposal does
not fit the batch, another candidate takes its place: of those that are in the batch the one that
is in it least, else the one that was measured least. So a batch is a function of the log, whatever
rule chooses. The log has the proposals beside what was handed out, and a replay asks for the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mislid._validation import as_count, as_number, as_text
from mislid.errors import ProblemError
from mislid.study.events import Asked, Fact, Renewed

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
    """Limits of a batch: at most so many candidates, so many trials of each, in groups."""

    max_candidates: int | None = None
    max_per_candidate: int | None = None
    replicates: int = 1

    def most(self, K: int) -> int | None:
        """Trials that fit into one batch of K candidates; None where there is no end."""
        if self.max_per_candidate is None:
            return None
        different = K if self.max_candidates is None else min(self.max_candidates, K)
        return different * (self.max_per_candidate // self.replicates) * self.replicates


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for: `n` trials, or None for a phase, for a worker, until a lease ends."""

    n: int | None
    limits: Limits | None
    worker: str | None
    lease: float | None

    def hand_out(self, replay: Replay, now: float) -> tuple[list[Fact], list[int]]:
        """What is recorded, and the ids of the trials."""
        state, elapsed = replay.state, replay.state.elapsed_at(now)
        expires = None if self.lease is None else now + self.lease
        waiting = [state.trials[trial_id] for trial_id in state.waiting]
        own = [one for one in waiting if self.worker is not None and one.worker == self.worker]
        mine = {trial.id for trial in own}
        lapsed = [one for one in waiting if one.id not in mine and one.is_expired(elapsed)]
        n = self.n or _phase_size(replay, self.limits, len(own) + len(lapsed))
        own = own[:n]
        facts: list[Fact] = []
        if any(trial.expires != expires for trial in own) and self.worker is not None:
            facts.append(Renewed(tuple(trial.id for trial in own), self.worker, expires))
        proposed: tuple[int, ...] = ()
        fresh: Sequence[int]
        if self.limits is None:
            lapsed = lapsed[: n - len(own)]
            fresh = replay.propose(n - len(own) - len(lapsed), len(lapsed))
        else:
            _refuse_too_many(n, self.limits, len(state.roster.measurable))
            batch = Batch(self.limits, (trial.arm for trial in own))
            lapsed = batch.taken(lapsed, n - len(own))
            room = n - len(own) - len(lapsed)
            proposed, fresh = fill(replay, batch, self.limits, room, len(lapsed))
        first = len(state.trials)
        new = tuple(range(first, first + len(lapsed) + len(fresh)))
        if new:
            again = (*(trial.id for trial in lapsed), *(None for _ in fresh))
            arms = (*(trial.arm for trial in lapsed), *fresh)
            facts.append(Asked(new, arms, again, self.worker, expires, proposed or None))
        return facts, [*(trial.id for trial in own), *new]


def as_order(
    n: Any, worker: Any, lease: Any, max_candidates: Any, max_per_candidate: Any, replicates: Any
) -> Order:
    """Check what was asked for."""
    size = 1 if n is None else _as_size(n)
    limits: Limits | None = None
    plain = max_candidates is None and max_per_candidate is None
    if not plain or type(replicates) is not int or replicates != 1:
        limits = _as_limits(size or 0, max_candidates, max_per_candidate, replicates)
    if worker is not None:
        as_text(worker, "worker", "a name, or None")
    if lease is not None:
        lease = as_number(lease, "lease", low=0, high=LONGEST_LEASE, low_open=True)
    return Order(size, limits, worker, lease)


def _as_limits(n: int, max_candidates: Any, max_per_candidate: Any, replicates: Any) -> Limits:
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


def _as_size(n: Any) -> int | None:
    """Trials that are asked for; None for a phase."""
    if isinstance(n, str):
        if n == PHASE:
            return None
        raise ProblemError(f"n must be a whole number or {PHASE!r}; got {n!r}")
    return as_count(n, "n", 1, MOST_TRIALS)


def _phase_size(replay: Replay, limits: Limits | None, open_: int) -> int:
    """Trials that complete a phase, besides the open ones that are handed out again."""
    left = replay.phase_left()
    if left is None:
        raise ProblemError(
            f"n must be a number with the algorithm {replay.state.settings.algorithm!r}, which has "
            f"no phases; got {PHASE!r}. 'rage' has"
        )
    if left + open_ == 0:
        raise ProblemError(
            f"n={PHASE!r} needs the values of the open trials: all of the phase are handed out. "
            "Tell them, or ask for a number of trials"
        )
    if limits is None:
        return min(left + open_, MOST_TRIALS)
    left += -left % limits.replicates
    most = limits.most(len(replay.state.roster.measurable))
    return min(left + open_, MOST_TRIALS if most is None else most)


def _refuse_too_many(n: int, limits: Limits, K: int) -> None:
    """Refuse a batch that no choice of candidates can fill."""
    most = limits.most(K)
    if most is not None and n > most:
        raise ProblemError(
            f"n must be at most {most} with these limits: {K} candidates, max_candidates="
            f"{limits.max_candidates}, max_per_candidate={limits.max_per_candidate}, replicates="
            f"{limits.replicates}; got {n}"
        )


class Batch:
    """A batch as it is filled, group by group."""

    def __init__(self, limits: Limits, arms: Iterable[int]) -> None:
        self._limits, self._in_it = limits, Counter(arms)

    def takes(self, arm: int) -> bool:
        """Whether one more group of this arm fits."""
        limits, present = self._limits, self._in_it[arm]
        if (
            limits.max_per_candidate is not None
            and present + limits.replicates > limits.max_per_candidate
        ):
            return False
        return present > 0 or limits.max_candidates is None or self.arms < limits.max_candidates

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
    measured = {arm: counts[place] for place, arm in replay.state.roster.measurable.items()}
    while len(arms) + limits.replicates <= n and batch.has_room(measured):
        (arm,) = replay.propose(1, replacing, arms)
        proposed.append(arm)
        if not batch.takes(arm):
            arm = batch.instead(measured)
        batch.add(arm)
        arms += [arm] * limits.replicates
    return tuple(proposed), tuple(arms)
