"""How many samples until an answer is right often enough, where nothing stops a run.

Some papers compare sampling rules so: over many runs, the first time at which the m best of the
estimates are the true ones with at least a given frequency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid.geometry.projection import project
from mislid.simulation.identify import identify
from mislid.simulation.job import INTERRUPTED

if TYPE_CHECKING:
    from mislid.algorithms import Algorithm
    from mislid.model import Instance
    from mislid.simulation.progress import Progress

# No evidence of a run is ever enough for this error rate, and one test is all there is.
_NEVER, _ONCE = 1e-300, 1e15


class Reliability(NamedTuple):
    """Whether answers were right, run by run.

    Attributes
    ----------
    times
        Numbers of samples (n,).
    right
        Whether the m best estimates were the m best arms then (runs, n).
    """

    times: NDArray[np.int64]
    right: NDArray[np.bool_]

    def samples_until(self, frequency: float) -> float:
        """The first of the times at which more than this share of the runs were right.

        Parameters
        ----------
        frequency
            Between 0 and 1.

        Returns
        -------
        float
            Infinite where it was not reached.
        """
        reached = self.right.mean(axis=0) > frequency
        return float(self.times[np.argmax(reached)]) if reached.any() else np.inf

    def standard_error(self, frequency: float, draws: int = 200) -> float:
        """Of `samples_until`, by runs drawn anew.

        Parameters
        ----------
        frequency
            As for `samples_until`.
        draws
            How often.

        Returns
        -------
        float
            Not a number where some draws do not reach it.
        """
        generator, runs = np.random.default_rng(0), len(self.right)
        found = [
            self._replace(right=self.right[generator.integers(runs, size=runs)]).samples_until(
                frequency
            )
            for _ in range(draws)
        ]
        return float(np.std(found)) if np.isfinite(found).all() else np.nan


def reliability(
    instance: Instance,
    m: int,
    algorithm: str | Algorithm,
    *,
    horizon: int,
    every: int = 50,
    runs: int = 500,
    seed: int = 0,
) -> Reliability:
    """Let runs go on, and see when their answers are right.

    Parameters
    ----------
    instance
        Arms with their true means.
    m
        Number of best arms.
    algorithm
        Which arm to measure next.
    horizon
        Samples of every run.
    every
        Samples between two looks.
    runs, seed
        How many, and the first of their seeds.

    Returns
    -------
    Reliability
        One row for every run.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> instance = Instance(Model([[1, 0], [0, 1]], 0.0), [1.0, 0.0])
    >>> found = reliability(instance, 1, "uniform", horizon=60, every=10, runs=100)
    >>> found.right.shape, bool(found.samples_until(0.6) <= found.samples_until(0.95))
    ((100, 6), True)
    """
    times = np.arange(every, horizon + 1, every)
    right = np.zeros((runs, times.size), dtype=np.bool_)
    for run in range(runs):
        found = identify(
            instance,
            m,
            delta=_NEVER,
            algorithm=algorithm,
            # With "heuristic" some rules would have their own test.
            stopping="paper-printed",
            seed=seed + run,
            max_samples=horizon,
            gamma=_ONCE,
            callback=_looking(instance, m, right[run], every),
            every=every,
        )
        if found.status == INTERRUPTED:
            raise KeyboardInterrupt
    return Reliability(times, right)


def _looking(
    instance: Instance, m: int, right: NDArray[np.bool_], every: int
) -> Callable[[Progress], None]:
    """What fills in whether the answer is right, at every look."""
    best = np.sort(np.argsort(-instance.means, kind="stable")[:m])

    def look(progress: Progress) -> None:
        if progress.samples % every or not progress.samples:
            return
        weights = progress.counts / instance.noise**2
        estimate = project(instance.model, progress.means, weights).means
        answer = np.sort(np.argsort(-estimate, kind="stable")[:m])
        right[progress.samples // every - 1] = np.array_equal(answer, best)

    return look
