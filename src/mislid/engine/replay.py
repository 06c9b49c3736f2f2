"""Batches of a study's events, and their replay.

The simulator measures what it proposes at once. In a study answers come late, in any order, or
never, so a decision is defined as a function of the steps in their order, and of nothing else.
Every process that replays them, at whatever pace, calls the same functions on the same numbers in
the same order, and makes the same choices to the last bit.

- After every step of measurements the means are estimated and the stopping rule is tested, as the
  simulator does after every measurement.
- Every trial that a rule chose is one proposal, made with the random number of its id. Until all
  arms of the first design are measured, proposals go round the design.
- With open trials, the rule sees the data as if each of them had returned the present estimate of
  its arm. The pretended values never enter the data, nor a stopping test. What a rule learns at a
  proposal, such as the gains of MisLid's game, it keeps.

One kernel serves single calls and whole logs; for rules written in Python the same steps are below
in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._formatting import shown
from mislid._jit import IndexTable, Indices, PerArm, Struct, Vector, for_python, inner, kernel
from mislid._validation import as_count
from mislid.engine.checks import refuse_values
from mislid.engine.loop import Rules, estimate, judge, propose
from mislid.engine.view import Verdict
from mislid.errors import ProblemError
from mislid.geometry.linalg import copy
from mislid.stopping.state import Setting, State, observe

if TYPE_CHECKING:
    from mislid.engine.engine import Engine
    from mislid.question import Question


class Step(NamedTuple):
    """Measurements, or a request for trials.

    Attributes
    ----------
    arms
        The arms that were measured; for a request, the arms of trials that are open.
    values
        Their values; zeros for a request.
    trial
        Number of the first trial that is asked for; -1 for measurements.
    n
        How many are asked for; 0 for measurements.
    """

    arms: tuple[int, ...]
    values: tuple[float, ...]
    trial: int
    n: int


class EventBatch:
    """Measurements and requests for trials, in the order in which they came.

    Examples
    --------
    Two values come in, then two trials are asked for while one of arm 2 is open:

    >>> batch = EventBatch()
    >>> batch.tell([0, 1], [0.5, 0.7])
    >>> batch.ask(3, 2, [2])
    >>> [step.n for step in batch]
    [0, 2]
    >>> batch.ends()
    [(0, 0, -1), (2, 0, 3), (3, 2, -1)]
    """

    def __init__(self) -> None:
        self.places: list[tuple[int, int, int]] = []
        self.arms: list[int] = []
        self.values: list[float] = []
        self.chosen = 0

    @property
    def size(self) -> int:
        """How many numbers the batch holds."""
        return len(self.places) + len(self.arms)

    def __bool__(self) -> bool:
        return bool(self.places)

    def tell(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Add measurements, after which the rules judge.

        Parameters
        ----------
        arms, values
            The arms that were measured, and their values; more is better.

        Raises
        ------
        ProblemError
            If one of them is no sequence, or they differ in length. `Engine.follow` refuses what an
            engine cannot take in.
        """
        try:
            measured, told = list(arms), list(values)
            fit = len(measured) == len(told)
        except TypeError:
            fit = False
        if not fit:
            raise ProblemError(
                "arms and values must be two sequences, one value for each arm; got "
                f"{shown(arms)} and {shown(values)}"
            )
        self.places.append((len(self.arms), self.chosen, -1))
        self.arms += measured
        self.values += told

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
        self.places.append((len(self.arms), self.chosen, trial))
        self.arms += waiting
        self.values += [0.0] * len(waiting)
        self.chosen += n

    def ends(self) -> list[tuple[int, int, int]]:
        """Where each step begins, and where the last one ends.

        Returns
        -------
        list of tuple
            Places in `arms` and among the choices, and the first trial or -1.
        """
        return [*self.places, (len(self.arms), self.chosen, -1)]

    def __iter__(self) -> Iterator[Step]:
        for (arm, choice, trial), (next_arm, next_choice, _) in pairwise(self.ends()):
            part = slice(arm, next_arm)
            yield Step(
                tuple(self.arms[part]), tuple(self.values[part]), trial, next_choice - choice
            )

    def measured(self, question: Question) -> tuple[NDArray[np.int64], Vector]:
        """Arms and values of all steps, checked.

        Parameters
        ----------
        question
            What the measurements are for.

        Returns
        -------
        tuple
            Arms and values of all steps, as arrays.

        Raises
        ------
        ProblemError
            If there are arms that the question has not, or values that are not finite or that its
            noise model rules out.
        """
        try:
            arms, values = np.array(self.arms), np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ProblemError("arms and values must be numbers") from None
        K = question.K
        if arms.size and (arms.dtype.kind not in "iu" or not 0 <= arms.min() <= arms.max() < K):
            raise ProblemError(f"arms must be from 0 to {K - 1}; got {shown(self.arms)}")
        if arms.shape != values.shape or not np.isfinite(values).all():
            raise ProblemError("values must be finite numbers, one for each arm that was measured")
        if question.reward_range is not None:
            told = [value for step in self if step.n == 0 for value in step.values]
            refuse_values(question, np.array(told, dtype=np.float64), np.ones(len(told)))
        return arms.astype(np.int64, copy=False), values


# Columns of Steps.places: where a step's arms and choices begin, and the first trial asked for.
ARMS, CHOICES, TRIAL = range(3)


class Steps(Struct):
    """Events in order. A step that makes choices is an ask, any other a tell.

    The arms of a tell are those that were measured, of an ask those of the open trials. Row n of
    `places` says where the last step's end.
    """

    places: IndexTable  # (n + 1, 3)
    arms: Indices  # (a,)
    values: Vector  # (a,) more is better; 0 for open trials
    chosen: Indices  # (c,) filled in: the arms of new trials


class Design(Struct):
    """The first design."""

    arms: Indices  # (n,) arms that are measured first
    done: bool  # whether all of them are
    asked: PerArm  # work


@inner
def _go_round(first: Design, state: State, waiting: Indices, chosen: Indices) -> None:
    """Arms of the design with the fewest measurements and open trials; of equals, the first."""
    copy(state.counts, first.asked)
    for a in range(waiting.shape[0]):
        first.asked[waiting[a]] += 1.0
    for c in range(chosen.shape[0]):
        least = first.arms[0]
        for a in range(1, first.arms.shape[0]):
            if first.asked[first.arms[a]] < first.asked[least]:
                least = first.arms[a]
        first.asked[least] += 1.0
        chosen[c] = least


@inner
def _take_in(rules: Rules, first: Design, arms: Indices, values: Vector) -> bool:
    """Take in measurements; whether to test then.

    Not before the first design is measured, nor between the pulls of one round, as in a simulation.
    """
    state = rules.state
    for a in range(arms.shape[0]):
        observe(rules.setting, state, arms[a], values[a])
    if not first.done:
        for a in range(first.arms.shape[0]):
            if state.counts[first.arms[a]] == 0.0:
                return False
        first.done = True
    return state.queued == 0


@inner
def _pretend(setting: Setting, state: State, pretended: State, waiting: Indices) -> None:
    """The data and estimates, and open trials as if they had returned the estimate.

    Searches keep their own workspaces.
    """
    pretended.samples, pretended.judged = state.samples, state.judged
    pretended.tests, pretended.last_test = state.tests, state.last_test
    pretended.searched, pretended.answered = state.searched, state.answered
    pretended.aim, pretended.rounds = state.aim, state.rounds
    pretended.queued, pretended.stalls = state.queued, state.stalls
    pretended.statistic, pretended.threshold = state.statistic, state.threshold
    pretended.challenger, pretended.incumbent = state.challenger, state.incumbent
    pretended.doubt_challenger = state.doubt_challenger
    pretended.doubt_incumbent = state.doubt_incumbent
    pretended.lagging_challenger = state.lagging_challenger
    pretended.lagging_incumbent = state.lagging_incumbent
    pretended.linear_challenger = state.linear_challenger
    pretended.linear_incumbent = state.linear_incumbent
    copy(state.counts, pretended.counts)
    copy(state.sums, pretended.sums)
    copy(state.lost, pretended.lost)
    copy(state.scatter, pretended.scatter)
    copy(state.weights, pretended.weights)
    copy(state.means, pretended.means)
    copy(state.projected, pretended.projected)
    copy(state.doubt, pretended.doubt)
    for b in range(state.incumbents.shape[0]):
        pretended.incumbents[b] = state.incumbents[b]
    pretended.waiting = waiting.shape[0]
    for a in range(waiting.shape[0]):
        observe(setting, pretended, waiting[a], state.projected[waiting[a]])


pretend = for_python(_pretend)


@inner
def _choose(rules: Rules, pretended: State, waiting: Indices, trial: int, chosen: Indices) -> None:
    """Fill in the arms of new trials from this id on, while trials of the arms `waiting` are open.

    With nothing open, the first is chosen by the data, and any other as if open trials had returned
    the present estimates.
    """
    setting, state, made = rules.setting, rules.state, 0
    if waiting.shape[0] == 0:
        chosen[0] = propose(rules, state, trial)
        made, waiting = 1, chosen[:1]
        if chosen.shape[0] == 1:
            return
    elif rules.phased:
        propose(rules, state, trial)  # a phase whose values are all told ends, whatever is open
    # A rule that needs no estimate has none before the first test.
    if state.judged == 0:
        estimate(rules, state)
    _pretend(setting, state, pretended, waiting)
    for c in range(made, chosen.shape[0]):
        if pretended.queued == 0:
            estimate(rules, pretended)
        chosen[c] = propose(rules, pretended, trial + c)
        observe(setting, pretended, chosen[c], state.projected[chosen[c]])
        pretended.waiting += 1
    state.rounds, state.queued = pretended.rounds, pretended.queued
    state.stalls = pretended.stalls


@kernel
def replay(rules: Rules, pretended: State, first: Design, steps: Steps, step: int) -> int:
    """Take in steps from this one on, until a verdict; their number, negative with a verdict."""
    places = steps.places
    while step < places.shape[0] - 1:
        begin, end = places[step], places[step + 1]
        arms = steps.arms[begin[ARMS] : end[ARMS]]
        chosen = steps.chosen[begin[CHOICES] : end[CHOICES]]
        step += 1
        if chosen.shape[0] == 0:
            values = steps.values[begin[ARMS] : end[ARMS]]
            if _take_in(rules, first, arms, values) and judge(rules):
                return -step
        elif first.done:
            _choose(rules, pretended, arms, begin[TRIAL], chosen)
        else:
            _go_round(first, rules.state, arms, chosen)
    return step


Successor = Callable[["Engine"], "Engine"]


def follow(
    engine: Engine, batch: EventBatch, successor: Successor | None = None
) -> tuple[Verdict | None, NDArray[np.int64]]:
    """Take in a batch; at a verdict `successor` gives the engine that goes on.

    The first verdict that decides, or None, and the arms (n,) of the new trials.
    """
    arms, values = batch.measured(engine.question)
    steps = Steps(
        places=np.array(batch.ends(), dtype=np.int64),
        arms=arms,
        values=values,
        chosen=np.empty(batch.chosen, dtype=np.int64),
    )
    events = [] if engine.is_compiled else list(batch)
    verdict: Verdict | None = None
    step, count = 0, len(batch.places)
    while step < count:
        step, found = _follow_on(engine, events, steps, step)
        verdict = verdict or found
        if found is not None and successor is not None:
            engine = successor(engine)
    return verdict, steps.chosen


def _follow_on(
    engine: Engine, events: list[Step], steps: Steps, step: int
) -> tuple[int, Verdict | None]:
    """Take in steps from this one on, until a verdict: the next step, and the verdict."""
    if not engine.is_compiled:
        return _follow_in_python(engine, events, steps, step)
    counts = engine._state.counts
    first = Design.zeros({"K": counts.size}, arms=engine.design, done=_is_begun(engine))
    reached = int(replay(engine._rules, engine._for_pretending(), first, steps, step))
    if reached >= 0:
        return reached, None
    engine._verdict = Verdict(True)
    return -reached, engine.verdict


def _follow_in_python(
    engine: Engine, events: list[Step], steps: Steps, step: int
) -> tuple[int, Verdict | None]:
    """The same for rules written in Python."""
    for place in range(step, len(events)):
        event = events[place]
        if event.n == 0:
            found = _tell(engine, event)
            if found is not None:
                return place + 1, found
            continue
        begin = int(steps.places[place, CHOICES])
        begun = _is_begun(engine)
        chosen = _ask(engine, event) if begun else _ask_design(engine, event.arms, event.n)
        steps.chosen[begin : begin + event.n] = chosen
    return len(events), None


def _is_begun(engine: Engine) -> bool:
    """Whether all arms of the first design are measured."""
    return bool(np.all(engine._state.counts[engine.design] > 0.0))


def _tell(engine: Engine, event: Step) -> Verdict | None:
    """As `_take_in`, then a test."""
    for arm, value in zip(event.arms, event.values, strict=True):
        engine.observe(arm, value)
    if not _is_begun(engine) or engine.is_midround:
        return None
    found = engine.judge()
    return found if found.decided else None


def _ask_design(engine: Engine, waiting: Sequence[int], n: int) -> list[int]:
    """As `_go_round`."""
    asked, design = engine.counts, engine.design
    np.add.at(asked, np.array(waiting, dtype=np.int64), 1)
    chosen = []
    for _ in range(n):
        arm = int(design[np.argmin(asked[design])])
        asked[arm] += 1
        chosen.append(arm)
    return chosen


def _ask(engine: Engine, event: Step) -> list[int]:
    """As `_choose`."""
    chosen: list[int] = []
    waiting = list(event.arms)
    if not waiting:
        chosen.append(engine.propose(event.trial))
        waiting = chosen.copy()
    elif engine._rules.phased:
        engine.propose(event.trial)
    if len(chosen) == event.n:
        return chosen
    pretended, estimate = engine._pretending(waiting), engine.estimate
    for trial in range(event.trial + len(chosen), event.trial + event.n):
        if not pretended.is_midround:
            pretended.judge(test=False)
        arm = pretended.propose(trial)
        pretended._pretend(arm, estimate[arm])
        chosen.append(arm)
    state, other = engine._state, pretended._state
    state.rounds, state.queued, state.stalls = other.rounds, other.queued, other.stalls
    return chosen
