"""Batches of a study's events: measurements and requests for trials, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._formatting import shown
from mislid._validation import Vector, as_count
from mislid.engine.noise import refuse_values
from mislid.errors import ProblemError
from mislid.question import Question

# Beyond so many, numbers of trials are no longer exact.
MOST_TRIALS = 1 << 53


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
        """Numbers that it holds."""
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
            arms, values = np.array(self.arms), np.array(self.values)
        except ValueError:  # rows of unequal length
            raise ProblemError(
                "arms and values must be numbers; got a sequence among them"
            ) from None
        K = question.K
        if arms.size and (arms.dtype.kind not in "iu" or not 0 <= arms.min() <= arms.max() < K):
            raise ProblemError(f"arms must be from 0 to {K - 1}; got {_extremes(arms)}")
        if values.dtype.kind == "O":  # fractions and decimals are numbers, too
            with suppress(TypeError, ValueError):
                values = values.astype(np.float64)
        numbers = values.ndim == 1 and values.dtype.kind in "biuf"
        if arms.shape != values.shape or not numbers or not np.isfinite(values).all():
            raise ProblemError("values must be finite numbers, one for each arm that was measured")
        if question.reward_range is not None:
            told = [value for step in self if step.n == 0 for value in step.values]
            refuse_values(question, np.array(told, dtype=np.float64), np.ones(len(told)))
        return arms.astype(np.int64, copy=False), values.astype(np.float64, copy=False)


def _extremes(arms: NDArray[Any]) -> str:
    return f"{arms.min()} to {arms.max()}" if arms.dtype.kind in "iu" else shown(arms.tolist())
