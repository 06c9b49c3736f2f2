"""What happened to a study, in order, for the rules to take in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple


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
    >>> script = Script()
    >>> script.tell([0, 1], [0.5, 0.7])
    >>> script.ask(0, 2, [])
    >>> [step.n for step in script]
    [0, 2]
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
        """
        self.places.append((len(self.arms), self.chosen, -1))
        self.arms += arms
        self.values += values

    def ask(self, trial: int, n: int, waiting: Sequence[int]) -> None:
        """Add a request for trials.

        Parameters
        ----------
        trial
            Number of the first one.
        n
            How many.
        waiting
            Arms of other trials that are open.
        """
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
