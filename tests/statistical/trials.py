"""Many runs of one question: how often the answer is wrong, and whether that is too often."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from scipy.stats import binomtest

from mislid import Instance, Model
from mislid.algorithms import Algorithm
from mislid.engine import Engine
from mislid.errors import OutsideTubeWarning
from mislid.question import Question
from mislid.simulation.environments import Gaussian
from mislid.simulation.identify import STOPPED_RUN, Run
from statistical.hard import Hard

LEVEL = 1e-4
# A proof holds for any sampling rule: an eager one, a blind one, the paper's, one without features.
SAMPLING = ("mislid", "uniform", "mislid-paper", "lucb")


def too_often(events: int, runs: int, rate: float) -> bool:
    """Whether a one-sided binomial test rejects that events have at most this rate."""
    return bool(binomtest(events, runs, rate, alternative="greater").pvalue < LEVEL)


class Trials(NamedTuple):
    """Runs in all, those with an answer, and those with a wrong one."""

    runs: int
    stopped: int
    wrong: int

    def exceed(self, rate: float) -> bool:
        """Whether wrong answers are too frequent for an error rate of at most this."""
        return too_often(self.wrong, self.runs, rate)


def misled(hard: Hard, *, noise: float = 1.0, misspecification: float = 1.0) -> Instance:
    """The instance as someone sees it who understates noise or misspecification by a factor."""
    true = hard.instance
    model = Model(true.model.features, true.model.misspecification / misspecification)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTubeWarning)
        return Instance(model, true.means, noise=true.noise / noise)


def attempt(
    hard: Hard,
    runs: int,
    *,
    stopping: str,
    delta: float,
    sampling: tuple[str | Algorithm, ...] = SAMPLING,
    believed: Instance | None = None,
    seed: int = 0,
) -> Trials:
    """Seeded runs, tested every round; the sampling rules take turns.

    Rewards come from the instance itself; algorithm and stopping rule work with what is believed.
    """
    truth = Gaussian(hard.instance.means, hard.instance.noise)
    told = believed or hard.instance
    question = Question(
        told.model,
        hard.m,
        noise=told.noise,
        delta=delta,
        tolerance=hard.tolerance,
        mean_bound=float(np.max(np.abs(told.means))),
    )
    stopped, wrong = 0, 0
    for number in range(runs):
        rule = sampling[number % len(sampling)]
        root = SeedSequence(seed, spawn_key=(number,))
        engine = Engine(question, rule, stopping, seed=root)
        if Run(engine, truth, root).go(hard.budget) == STOPPED_RUN:
            stopped += 1
            wrong += not _is_right(hard, np.array(engine.incumbents))
    return Trials(runs, stopped, wrong)


def _is_right(hard: Hard, answer: np.ndarray) -> bool:
    means = hard.instance.means
    best_left_out = np.max(np.delete(means, answer))
    return bool(best_left_out <= np.min(means[answer]) + hard.tolerance)
