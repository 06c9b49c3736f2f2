"""What happened to a study, in order, and how the rules take it in.

The simulator measures what it proposes at once. In a study answers come late, in any order, or
never, so it is fixed here what a decision is a function of: the steps in their order, nothing
else. Every process that replays them, at whatever pace, calls the same functions on the same
numbers in the same order, and comes to the same choices to the last bit.

- After every step of measurements the means are estimated and the stopping rule is tested, as the
  simulator does after every measurement.
- Every trial that a rule chose is one proposal, made with the random number of its id. Until all
  arms of the first design are measured, proposals go round the design.
- With open trials, the rule sees the data as if each of them had returned the present estimate of
  its arm. The pretended values never enter the data, nor a stopping test. What a rule learns at a
  proposal, such as the gains of MisLid's game, it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector, as_count
from mislid._words import shown
from mislid.engine.noise import refuse_values
from mislid.engine.view import Verdict
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid._kernels.replay import Design
    from mislid.engine.engine import Engine

Followed = tuple[Verdict | None, NDArray[np.int64]]
# Beyond so many, numbers of trials are no longer exact.
MOST_TRIALS = 1 << 53


class Step(NamedTuple):
    """Measurements, or a request for trials.

    Attributes
    ----------
    arms
        What was measured; for a request, the arms of trials that are open.
    values
        What came out; zeros for a request.
    trial
        Number of the first trial that is asked for; -1 for measurements.
    n
        How many are asked for; 0 for measurements.
    """

    arms: tuple[int, ...]
    values: tuple[float, ...]
    trial: int
    n: int


class Script:
    """Measurements and requests for trials, in the order in which they came.

    Examples
    --------
    Two values come in, then two trials are asked for while one of arm 2 is open:

    >>> script = Script()
    >>> script.tell([0, 1], [0.5, 0.7])
    >>> script.ask(3, 2, [2])
    >>> [step.n for step in script]
    [0, 2]
    >>> script.ends()
    [(0, 0, -1), (2, 0, 3), (3, 2, -1)]
    """

    def __init__(self) -> None:
        self.places: list[tuple[int, int, int]] = []
        self.arms: list[int] = []
        self.values: list[float] = []
        self.chosen = 0

    @property
    def size(self) -> int:
        """Numbers that it holds."""
        return len(self.places) + len(self.arms)

    def __bool__(self) -> bool:
        return bool(self.places)

    def tell(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Add measurements, after which the rules judge.

        Parameters
        ----------
        arms, values
            What was measured, and what came out; more is better.

        Raises
        ------
        ProblemError
            If one of them is no sequence, or they differ in length. What an engine cannot take in,
            `Engine.follow` refuses.
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
            If a number is not whole or too small, or `waiting` is no sequence.
        """
        if not (type(trial) is type(n) is int and 0 <= trial < MOST_TRIALS and 0 < n < MOST_TRIALS):
            trial = as_count(trial, "trial", 0, MOST_TRIALS)
            n = as_count(n, "n", 1, MOST_TRIALS)
        try:
            open_arms = list(waiting)
        except TypeError:
            raise ProblemError(
                f"waiting must be a sequence of arms; got {shown(waiting)}"
            ) from None
        self.places.append((len(self.arms), self.chosen, trial))
        self.arms += open_arms
        self.values += [0.0] * len(open_arms)
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


def _measured(engine: Engine, script: Script) -> tuple[NDArray[np.int64], Vector]:
    """Arms and values of all steps; refuses those that there are not, or that cannot be."""
    question, K = engine.question, len(engine._state.counts)
    try:
        arms, values = np.array(script.arms), np.array(script.values)
    except AttributeError:
        raise ProblemError(f"script must be a mislid.engine.Script; got {shown(script)}") from None
    except ValueError:  # rows of unequal length
        raise ProblemError("arms and values must be numbers; got a sequence among them") from None
    if arms.size and (arms.dtype.kind not in "iu" or not 0 <= arms.min() <= arms.max() < K):
        raise ProblemError(f"arms must be from 0 to {K - 1}; got {_extremes(arms)}")
    if values.dtype.kind == "O":  # fractions and decimals are numbers, too
        with suppress(TypeError, ValueError):
            values = values.astype(np.float64)
    numbers = values.ndim == 1 and values.dtype.kind in "biuf"
    if arms.shape != values.shape or not numbers or not np.isfinite(values).all():
        raise ProblemError("values must be finite numbers, one for each arm that was measured")
    if question.reward_range is not None:
        told = [value for step in script if step.n == 0 for value in step.values]
        refuse_values(question, np.array(told, dtype=np.float64), np.ones(len(told)))
    return arms.astype(np.int64, copy=False), values.astype(np.float64, copy=False)


def _extremes(arms: NDArray[Any]) -> str:
    return f"{arms.min()} to {arms.max()}" if arms.dtype.kind in "iu" else shown(arms.tolist())


def follow_compiled(
    engine: Engine, script: Script, successor: Callable[[Engine], Engine] | None = None
) -> Followed:
    """Take in all steps without going back to Python in between.

    At a verdict, `successor` gives the engine that goes on.
    """
    from mislid._kernels.replay import Steps, replay

    arms, values = _measured(engine, script)
    first = _ready(engine)
    steps = Steps(
        places=np.array(script.ends(), dtype=np.int64),
        arms=arms,
        values=values,
        chosen=np.empty(script.chosen, dtype=np.int64),
    )
    verdict, step, count = None, 0, len(script.places)
    while step < count:
        step = int(replay(engine._rules, engine._pretended, first, steps, step))
        if step < 0:
            engine._verdict = Verdict(True)
            verdict, step = verdict or engine.verdict, -step
            if successor is not None:
                if not callable(successor):
                    raise ProblemError(f"successor must be a function; got {shown(successor)}")
                engine = successor(engine)
                first = _ready(engine)
    return verdict, steps.chosen


def _ready(engine: Engine) -> Design:
    """The first design of an engine, which is given what proposals need."""
    from mislid._kernels.replay import Design

    if engine._pretended is None:
        engine._pretended = engine._new_pretended()
    counts = engine._state.counts
    return Design.zeros({"K": counts.size}, arms=engine._design, done=_is_begun(engine))


def follow_in_python(engine: Engine, script: Script) -> Followed:
    """Take in all steps one by one, for rules that are written in Python."""
    _measured(engine, script)
    verdict: Verdict | None = None
    chosen: list[int] = []
    for step in script:
        if step.n == 0:
            found = _take_in(engine, step)
            verdict = verdict or found
        elif _is_begun(engine):
            chosen += _choose(engine, step)
        else:
            chosen += _go_round(engine, step.arms, step.n)
    return verdict, np.array(chosen, dtype=np.int64)


def _is_begun(engine: Engine) -> bool:
    """Whether all arms of the first design are measured."""
    return bool(np.all(engine._state.counts[engine._design] > 0.0))


def _take_in(engine: Engine, step: Step) -> Verdict | None:
    for arm, value in zip(step.arms, step.values, strict=True):
        engine.observe(arm, value)
    if not _is_begun(engine) or engine.is_midround:
        return None
    found = engine.judge()
    return found if found.decided else None


def _go_round(engine: Engine, waiting: Sequence[int], n: int) -> list[int]:
    """Arms of the design with the fewest measurements and open trials; of equals, the first."""
    asked = engine.counts
    np.add.at(asked, np.array(waiting, dtype=np.int64), 1)
    chosen = []
    for _ in range(n):
        arm = int(engine._design[np.argmin(asked[engine._design])])
        asked[arm] += 1
        chosen.append(arm)
    return chosen


def _choose(engine: Engine, step: Step) -> list[int]:
    chosen: list[int] = []
    waiting = list(step.arms)
    if not waiting:
        chosen.append(engine.propose(step.trial))
        waiting = chosen.copy()
    elif engine.is_phased:
        engine.propose(step.trial)
    if len(chosen) == step.n:
        return chosen
    pretended, estimate = engine._pretending(waiting), engine.estimate
    for trial in range(step.trial + len(chosen), step.trial + step.n):
        if not pretended.is_midround:
            pretended.judge(test=False)
        arm = pretended.propose(trial)
        pretended._pretend(arm, estimate[arm])
        chosen.append(arm)
    state, other = engine._state, pretended._state
    state.rounds, state.queued, state.stalls = other.rounds, other.queued, other.stalls
    return chosen
