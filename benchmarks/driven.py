"""A run of ours that goes on bit by bit, with what it cost and what it saw on the way."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence

from mislid import Instance, Model
from mislid.engine import Engine
from mislid.question import Question
from mislid.simulation.environments import as_environment
from mislid.simulation.identify import STOPPED_RUN, Run

from .cases import Case, Floats
from .kernels import below_in_game, solved_by
from .measuring import timed

DELTA = 0.05
ALGORITHMS = ("mislid", "mislid-paper")
RULES = ("heuristic", "guaranteed")
# Of tables: `plays`, `tested` and `played` below, a round.
SOLVED_COLUMNS = ("rounds with a search to sample", "pairs solved to stop or respond", "to play")


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

    @classmethod
    def total(cls, parts: Iterable[Stretch]) -> Stretch:
        """All of them together."""
        return cls(*(sum(column) for column in zip(*parts, strict=True)))


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
        self._game = algorithm != "mislid"
        bound = float(np.max(np.abs(instance.means)))
        question = Question(instance.model, m, noise=instance.noise, delta=DELTA, mean_bound=bound)
        self._engine = Engine(question, algorithm, stopping, truth=instance)
        if rounds_first:
            self._engine.design = np.tile(np.arange(instance.K), rounds_first)
        self._run = Run(self._engine, as_environment(None, instance), SeedSequence(0))
        self.stopped = False

    @property
    def samples(self) -> int:
        """Measurements so far."""
        return self._engine.samples

    def to(self, samples: int) -> Stretch:
        """Go on to so many measurements, or to the answer."""
        begin, before = self.samples, solved_by(self._engine)
        status, wall, cpu = timed(partial(self._run.go, samples))
        self.stopped = status == STOPPED_RUN
        pairs = zip(solved_by(self._engine), before, strict=True)
        return Stretch(self.samples - begin, cpu, wall, *(now - then for now, then in pairs))

    def step(self) -> Snapshot:
        """One more round, recorded."""
        engine = self._engine
        samples, means, weights = engine.samples, engine.means, engine.weights
        plays = self.to(samples + 1).plays > 0
        rule = engine.memory().sampler
        if self._game:
            return Snapshot(samples, means, weights, plays, rule.weights, below_in_game(engine))
        # Gains are half the squared differences: their signs do not matter here.
        below = np.sqrt(2.0 * rule.gains * engine.question.noise**2)
        return Snapshot(samples, means, weights, plays, weights, below)
