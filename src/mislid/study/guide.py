"""Features guide sampling where nobody knows how wrong they are.

A study whose misspecification is unknown decides by the proof that needs no features. Every other
trial goes to a guide: rules that take the misspecification for a small one, and for twice as much
whenever the answer is proved for it. So the misspecification up to which the present answer is
proved grows early, and `accept` is possible long before the decision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mislid.engine import Engine, EventBatch
from mislid.study.candidates import Candidates
from mislid.study.decisions import new_engine
from mislid.study.settings import Settings

# The first misspecification, in units of the smallest noise, and how it grows.
FIRST, GROWTH = 0.1, 2.0
# Doublings: by then no feature is of use.
MOST = 60


class Guide:
    """Rules that trust the features up to a point, and choose arms only.

    Parameters
    ----------
    settings, candidates
        The study's.
    """

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        self._settings, self._candidates = settings, candidates
        self.misspecification = FIRST * float(np.min(settings.deviations(candidates.K)))
        self._doublings = 0
        self._engine = self._engine_at(self.misspecification)

    def _engine_at(self, misspecification: float) -> Engine:
        return new_engine(self._settings, self._candidates, misspecification=misspecification)

    def follow(self, script: EventBatch) -> NDArray[np.int64]:
        """Take in what happened; the arms (n,) that it would have chosen.

        What is doubled when is a function of the measurements, however they are handed over.
        """
        return self._engine.follow(script, self._doubt_more)[1]

    def _doubt_more(self, engine: Engine) -> Engine:
        """Rules for the next misspecification at which the answer is not proved."""
        while self._doublings < MOST:
            self._doublings += 1
            self.misspecification *= GROWTH
            self._engine = self._engine_at(self.misspecification)
            self._engine.reset(engine.counts, engine.sums, scatter=engine.scatter)
            if not self._engine.judge().decided:
                break
        return self._engine


def mixed(
    script: EventBatch, own: NDArray[np.int64], guided: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The arms (n,) of new trials: of even ones the study's own choices, of odd ones the guide's.

    >>> script = EventBatch()
    >>> script.ask(4, 3, [])
    >>> mixed(script, np.array([7, 7, 7]), np.array([9, 9, 9])).tolist()
    [7, 9, 7]
    """
    trials = [step.trial + at for step in script for at in range(step.n)]
    return np.where(np.array(trials, dtype=np.int64) % 2 == 0, own, guided)
