"""A run of ours that goes on bit by bit, with what it cost and what it saw on the way."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from mislid import Instance, Model
from mislid._kernels.search import BELOW
from mislid._kernels.search import CLOCK as SOLVED
from mislid._kernels.state import ROUNDS, SAMPLES
from mislid.algorithms import as_algorithm
from mislid.simulation.identify import STOPPED, _Run

from .cases import Case, Floats

DELTA = 0.05
ALGORITHMS = ("mislid", "mislid-paper")
RULES = ("heuristic", "guaranteed")


class Stretch(NamedTuple):
    """Some rounds of a run: seconds of the processor and of the clock, and what was solved.

    `plays` are the rounds whose sampling rule asked for the closest alternative; the `played` pairs
    were solved for the game, the `tested` ones for the stopping rule and for best responses.
    """

    rounds: int
    cpu: float
    wall: float
    plays: int
    tested: int
    played: int


class Snapshot(NamedTuple):
    """What the next round starts from, and what ours makes of it.

    Empirical means and weights (counts over squared noise), both (K,); the sampling rule's own
    weights (K,) and `below` (K,), the projected means minus its closest alternative, where it
    looked for one (`plays`).
    """

    samples: int
    means: Floats
    weights: Floats
    plays: bool
    play_weights: Floats
    below: Floats


def instance_of(case: Case) -> Instance:
    """The case's means, measured with noise 1."""
    return Instance(Model(case.features, case.misspecification), case.means)


class Driven:
    """An identification that stops wherever it is told to.

    With `rounds_first` every arm is measured so many times before the rules are asked.
    """

    def __init__(
        self, instance: Instance, m: int, algorithm: str, stopping: str, *, rounds_first: int = 0
    ) -> None:
        rule = as_algorithm(algorithm)
        self._game = algorithm != "mislid"
        self._run = _Run(instance, m, DELTA, 0.0, rule, stopping, 1.0, None, 0)
        if rounds_first:
            self._run.design = np.tile(np.arange(instance.K), rounds_first)
        self.stopped = False

    @property
    def samples(self) -> int:
        """Measurements so far."""
        return int(self._run.state.clock[SAMPLES])

    def _counters(self) -> list[int]:
        state = self._run.state
        tested, played = state.test.scalars[SOLVED], state.play.scalars[SOLVED]
        return [self.samples, state.clock[ROUNDS], int(tested), int(played)]

    def to(self, samples: int) -> Stretch:
        """Go on to so many measurements, or to the answer."""
        before, wall, cpu = self._counters(), time.perf_counter(), time.process_time()
        self.stopped = self._run.go(samples) == STOPPED
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        pairs = zip(self._counters(), before, strict=True)
        rounds, plays, tested, played = (int(now - then) for now, then in pairs)
        return Stretch(rounds, cpu, wall, plays, tested, played)

    def step(self) -> Snapshot:
        """One more round, recorded."""
        state, memory = self._run.state, self._run.sampler.memory
        samples, means, weights = self.samples, state.means.copy(), state.weights.copy()
        plays = self.to(samples + 1).plays > 0
        own = np.array(memory.weights) if self._game else weights
        # Gains are half the squared differences: their signs do not matter here.
        differences = np.sqrt(2.0 * memory.gains * self._run.setting.variance)
        below = state.play.arms[BELOW].copy() if self._game else differences
        return Snapshot(samples, means, weights, plays, own, below)
