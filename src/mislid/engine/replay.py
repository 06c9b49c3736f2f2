"""Batches of a study's events, and their replay.

The simulator measures each proposed arm at once. In a study, values may arrive late, in any order,
or never. A decision is therefore a function of the ordered steps only. Every process that replays
them calls the same functions on the same numbers in the same order, and makes the same choices to
the last bit.

- After every step of measurements the means are estimated and the stopping rule is tested, as the
  simulator does after every measurement.
- Every trial that a rule chose is one proposal, made with the random number of its id. Until all
  arms of the first design are measured, proposals go round the design.
- With open trials, the rule sees the data as if each of them had returned the present estimate of
  its arm. These values enter neither the data nor a stopping test. A rule keeps what it learns at
  a proposal, such as the gains of MisLid's game.

A step of compiled rules is one call of a kernel; this module does the same for rules written in
Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._formatting import shown
from mislid._validation import Vector, as_count
from mislid.engine import loop
from mislid.engine.view import Verdict
from mislid.errors import ProblemError
from mislid.question import Question, refuse_values

if TYPE_CHECKING:
    from mislid.engine.engine import Engine

Arms = NDArray[np.int64]


class Step(NamedTuple):
    """One step of a batch: measurements, or a request for trials.

    Attributes
    ----------
    arms
        The measured arms; for a request, the arms of open trials.
    values
        Their values; zeros for a request.
    trial
        Number of the first requested trial; -1 for measurements.
    n
        Number of requested trials; 0 for measurements.
    """

    arms: tuple[int, ...]
    values: tuple[float, ...]
    trial: int = -1
    n: int = 0


class EventBatch:
    """Measurements and requests for trials, in order.

    Examples
    --------
    Two values are told, then two trials are requested while one of arm 2 is open:

    >>> batch = EventBatch()
    >>> batch.tell([0, 1], [0.5, 0.7])
    >>> batch.ask(3, 2, [2])
    >>> [step.n for step in batch], batch.size
    ([0, 2], 5)
    """

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self.size = 0  # of all steps: one for each, and one for each arm in it

    def __bool__(self) -> bool:
        return bool(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def tell(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Add measurements, after which the rules judge.

        Parameters
        ----------
        arms, values
            The arms that were measured, and their values; more is better.

        Raises
        ------
        ProblemError
            If one of them is not a sequence, or they differ in length. `Engine.follow` checks the
            entries.
        """
        try:
            step = Step(tuple(arms), tuple(values))
            fit = len(step.arms) == len(step.values)
        except TypeError:
            fit = False
        if not fit:
            raise ProblemError(
                "arms and values must be two sequences, one value for each arm; got "
                f"{shown(arms)} and {shown(values)}"
            )
        self._add(step)

    def ask(self, trial: int, n: int, waiting: Sequence[int]) -> None:
        """Add a request for trials.

        Parameters
        ----------
        trial
            Number of the first one, from 0 on.
        n
            How many, at least 1.
        waiting
            Arms of other trials that are open.

        Raises
        ------
        ProblemError
            If a number is not whole or too small.
        """
        if not (type(trial) is type(n) is int and trial >= 0 < n):
            trial, n = as_count(trial, "trial", 0), as_count(n, "n", 1)
        self._add(Step(tuple(waiting), (0.0,) * len(waiting), trial, n))

    def _add(self, step: Step) -> None:
        self._steps.append(step)
        self.size += 1 + len(step.arms)

    def arrays(self, question: Question) -> tuple[Arms, Vector]:
        """Arms and values of all steps, one after the other, checked.

        Parameters
        ----------
        question
            What the measurements are for.

        Returns
        -------
        tuple
            Arms and values, as arrays.

        Raises
        ------
        ProblemError
            If an arm is not in the question, or a value is not finite or impossible under its noise
            model.
        """
        try:
            arms = np.array(list(chain.from_iterable(step.arms for step in self)))
            values = np.array(list(chain.from_iterable(step.values for step in self)), np.float64)
        except (TypeError, ValueError):
            raise ProblemError("arms and values must be numbers") from None
        if arms.size == 0:
            return arms.astype(np.int64), values
        K = question.K
        if arms.dtype.kind not in "iu" or not 0 <= arms.min() <= arms.max() < K:
            raise ProblemError(f"arms must be from 0 to {K - 1}; got {shown(arms.tolist())}")
        if not np.isfinite(values).all():
            raise ProblemError("values must be finite numbers")
        if question.reward_range is not None:
            told = [value for step in self if step.n == 0 for value in step.values]
            refuse_values(question, np.array(told, dtype=np.float64), np.ones(len(told)))
        return arms.astype(np.int64, copy=False), values


def follow(engine: Engine, batch: EventBatch) -> tuple[Verdict | None, Arms]:
    """Replay a batch: the first verdict that decides, or None, and the arms (n,) of new trials."""
    arms, values = batch.arrays(engine.question)
    begun, first, chosen, end = _is_begun(engine), None, [np.empty(0, np.int64)], 0
    for step in batch:
        begin, end = end, end + len(step.arms)
        if step.n > 0:
            choose = _choose if begun else _go_round
            chosen.append(choose(engine, arms[begin:end], step))
            continue
        verdict = _tell(engine, arms[begin:end], values[begin:end])
        first = first or verdict
        begun = begun or _is_begun(engine)
    return first, np.concatenate(chosen)


def _is_begun(engine: Engine) -> bool:
    """Whether all arms of the first design are measured."""
    return bool(np.all(engine._state.counts[engine._design] > 0.0))


def _tell(engine: Engine, arms: Arms, values: Vector) -> Verdict | None:
    """Add measurements; the verdict if the rules decide."""
    if engine.is_compiled:
        decided = bool(loop.tell(engine._rules, engine._design, arms, values))
        engine._verdict = Verdict(decided)
        return engine.verdict if decided else None
    for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
        engine.observe(arm, value)
    if not _is_begun(engine) or engine.is_midround:
        return None
    found = engine.judge()
    return found if found.decided else None


def _go_round(engine: Engine, waiting: Arms, step: Step) -> Arms:
    """Arms of the design with the fewest measurements and open trials; of equals, the first."""
    asked, design = engine.counts, engine._design
    np.add.at(asked, waiting, 1)
    chosen = np.empty(step.n, np.int64)
    for place in range(step.n):
        chosen[place] = design[np.argmin(asked[design])]
        asked[chosen[place]] += 1
    return chosen


def _choose(engine: Engine, waiting: Arms, step: Step) -> Arms:
    """The arms of new trials, while trials of the arms `waiting` are open."""
    chosen, trial = np.empty(step.n, np.int64), step.trial
    left = chosen
    if waiting.size == 0:
        chosen[0] = engine._propose(trial)
        waiting, left, trial = chosen[:1], chosen[1:], trial + 1
    elif engine._rules.phased:
        engine._propose(trial)  # a phase ends when its values are told, even with open trials
    if left.size and engine.is_compiled:
        loop.choose(engine._rules, engine._for_pretending(), waiting, trial, left)
    elif left.size:
        _choose_in_python(engine, waiting, trial, left)
    return chosen


def _choose_in_python(engine: Engine, waiting: Arms, trial: int, chosen: Arms) -> None:
    """`loop.choose` for rules written in Python."""
    pretended, estimate = engine._pretending(waiting), engine.estimate
    for place in range(chosen.size):
        if not pretended.is_midround:
            pretended.judge(test=False)
        arm = chosen[place] = pretended.propose(trial + place)
        pretended._pretend(arm, estimate[arm])
    state, other = engine._state, pretended._state
    state.rounds, state.queued, state.stalls = other.rounds, other.queued, other.stalls
