"""One simulated identification of an instance's m best arms."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mislid._formatting import as_frame, facts
from mislid._validation import Matrix, Vector, as_costs, as_count, as_seed
from mislid.algorithms import Algorithm
from mislid.engine import Engine, SamplingProtocol, StoppingProtocol
from mislid.engine.loop import EXHAUSTED, RUNNING, STOPPED
from mislid.model import Instance
from mislid.question import Question
from mislid.simulation.environments import AssumedNoise, Environment, as_assumed, as_instance
from mislid.stopping.intervals import intervals_of

if TYPE_CHECKING:
    from pandas import DataFrame

STOPPED_RUN, EXHAUSTED_RUN, INTERRUPTED = "stopped", "budget exhausted", "interrupted"
STATUS = {STOPPED: STOPPED_RUN, EXHAUSTED: EXHAUSTED_RUN}
# Measurements between two checks for Ctrl-C.
PAUSE = 20_000


@dataclass(frozen=True, eq=False)
class Evidence:
    """The stopping test that decided.

    Attributes
    ----------
    rule, proven
        The stopping rule, and whether its error rate is proved.
    pair, statistic, threshold
        The pair (challenger, incumbent) with the least evidence, that evidence, and the threshold
        that it had to reach.
    """

    rule: str
    proven: bool
    statistic: float
    threshold: float
    pair: tuple[int, int] | None


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """The outcome of a run.

    Attributes
    ----------
    answer
        The m best arms, best first, or None if the run ended without an answer.
    samples, counts
        Number of measurements, in total and of every arm (K,).
    means
        Empirical means (K,), 0 where nothing was measured.
    status
        "stopped", "budget exhausted" or "interrupted".
    correct
        Whether no arm outside the answer beats one inside by more than the tolerance.
    certificate
        Why the run stopped.
    seconds
        Duration of the run.
    unsolved
        Number of searches that could not certify their result.
    question
        The question that was answered.
    scatter
        The statistic that the noise model needs besides counts and means, as in `Engine.scatter`
        (K,).
    cost
        Total cost of the measurements; None if no costs were given.
    settled
        Number of samples at which each pair (challenger, incumbent) of the answer was proved;
        empty for stopping rules that settle no single pairs.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> found = identify(Instance(model, [1.0, 1.5, 2.6], noise=0.5), 1)
    >>> found.answer, found.certificate.proven
    ((2,), True)

    Estimates of every arm; all intervals hold at once with probability 1 - delta:

    >>> table = found.to_frame()
    >>> table.columns.tolist()
    ['label', 'count', 'mean', 'lower', 'upper', 'in_answer']
    >>> bool((table["lower"] < [1.0, 1.5, 2.6]).all() and (table["upper"] > [1.0, 1.5, 2.6]).all())
    True
    """

    answer: tuple[int, ...] | None
    samples: int
    counts: NDArray[np.int64]
    means: Vector
    status: str
    correct: bool | None
    certificate: Evidence | None
    seconds: float
    unsolved: int
    question: Question = field(repr=False)
    scatter: Vector = field(repr=False)
    cost: float | None = None
    settled: Mapping[tuple[int, int], int] = field(default_factory=dict, repr=False)

    @property
    def intervals(self) -> Matrix:
        """Confidence intervals for the means, lower and upper ends (K, 2).

        All of them hold at once with probability 1 - delta, whatever ended the run, if the declared
        misspecification and noise are right.
        """
        counts = self.counts.astype(np.float64)
        return intervals_of(self.question, counts, self.means, self.scatter)

    def to_frame(self) -> DataFrame:
        """Estimates and intervals of all arms.

        Returns
        -------
        pandas.DataFrame
            A row for every arm: label, count, mean (none where nothing was measured), the ends of
            its interval (lower, upper), and whether it is in the answer.
        """
        labels = self.question.model.names or range(self.counts.size)
        lower, upper = self.intervals.T
        return as_frame(
            {
                "label": list(labels),
                "count": self.counts,
                "mean": np.where(self.counts > 0, self.means, np.nan),
                "lower": lower,
                "upper": upper,
                "in_answer": [arm in (self.answer or ()) for arm in range(self.counts.size)],
            }
        )

    def _repr_html_(self) -> str:
        """A summary of the outcome as HTML, for notebooks."""
        names = ("answer", "samples", "status", "correct", "seconds", "cost")
        return facts({name: getattr(self, name) for name in names})


def identify(
    instance: Instance,
    m: int,
    *,
    delta: float = 0.05,
    algorithm: str | Algorithm | SamplingProtocol = "mislid",
    stopping: str | StoppingProtocol = "guaranteed",
    seed: int | SeedSequence = 0,
    max_samples: int | None = None,
    tolerance: float = 0.0,
    gamma: float = 1.0,
    environment: Environment | None = None,
    assume_noise: AssumedNoise = None,
    cost: ArrayLike | None = None,
) -> Identification:
    """Simulate measurements of an instance until its m best arms are known at error rate delta.

    With a stopping rule that is proved, the answer is wrong with probability at most delta, if the
    means are within the model's misspecification and the assumed noise is right.

    Parameters
    ----------
    instance
        The arms: model, true means and noise.
    m
        Number of best arms to find, from 1 to K - 1.
    delta
        Error rate: how often the answer may be wrong, in (0, 1).
    algorithm
        Which arm to measure next: a name in `mislid.algorithms.ALGORITHMS`, or a composition.
    stopping
        When to stop: guaranteed and paper are proved; heuristic, which the
        published runs used, is not. Rivals such as LUCB use their own test with the latter.
    seed
        Seed of all random numbers.
    max_samples
        Largest number of measurements; a run that reaches it gives no answer.
    tolerance
        No arm of the answer may be worse than the m-th best by more than this.
    gamma
        Factor by which the number of samples must grow between two tests.
    environment
        Distributions of the rewards; by default normal.
    assume_noise
        The noise that the rules assume: None for the instance's standard deviations, other ones
        (one number, or (K,)), or a noise model. "unknown": Gaussian. "unknown-equal": Gaussian with
        one standard deviation for all arms. (low, high): rewards in this range. "bounded": rewards
        in the environment's range, by default (0, 1). "bernoulli": rewards 0 or 1. Without an
        environment, rewards are drawn from `Bounded(means)` for ranges and from `Bernoulli(means)`
        for "bernoulli".
    cost
        Cost of a measurement of every arm (K,); `mislid` then weighs evidence against cost.

    Returns
    -------
    Identification
        The answer, the numbers of measurements, and why the run stopped.

    Raises
    ------
    ProblemError
        A value is not allowed, or the environment does not fit the instance.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> found = identify(Instance(model, [1.0, 1.5, 2.6]), 1)
    >>> found.answer, found.status, found.correct
    ((2,), 'stopped', True)
    """
    source, noise = as_assumed(assume_noise, environment, as_instance(instance))
    question = Question(
        instance.model,
        m,
        noise=noise,
        delta=delta,
        tolerance=tolerance,
        # As in the paper's runs, its bound M on the means is the true largest absolute mean.
        mean_bound=float(np.max(np.abs(instance.means))),
    )
    budget = int(np.iinfo(np.int64).max)
    if max_samples is not None:
        budget = as_count(max_samples, "max_samples", 1)
    root = as_seed(seed)
    prices = None if cost is None else as_costs(cost, instance.K)
    engine = Engine(
        question, algorithm, stopping, seed=root, gamma=gamma, truth=instance, cost=prices
    )
    run = Run(engine, source, root)
    start = time.perf_counter()
    status = run.go(budget)
    found = run.outcome(status, instance, time.perf_counter() - start)
    return found if prices is None else replace(found, cost=float(found.counts @ prices))


class Run:
    """A simulated run: an engine and the source of its rewards."""

    def __init__(self, engine: Engine, environment: Environment, root: SeedSequence) -> None:
        self.engine, self.environment = engine, environment
        rewards = SeedSequence(root.entropy, spawn_key=(*root.spawn_key, 0))
        self.generator = np.random.default_rng(rewards)
        self.source = environment.source() if engine.is_compiled else None
        rule = engine.algorithm
        self.own = bool(getattr(rule, "own_test", False)) and engine.stopping.name == "heuristic"

    def go(self, budget: int) -> str:
        """Run until an answer or the end of the budget; Ctrl-C is handled at pauses."""
        code = RUNNING
        try:
            while code == RUNNING:
                code = self.advance(budget, PAUSE)
        except KeyboardInterrupt:
            return INTERRUPTED
        return STATUS[code]

    def advance(self, budget: int, pause: int) -> int:
        """Continue to an answer, `budget` measurements in total, or `pause` more of them."""
        if self.source is None:
            return self.step(budget, pause)
        return self.engine.advance(self.source, self.generator, budget, pause, self.own)

    def step(self, budget: int, pause: int) -> int:
        """`advance` in Python, for rules and environments written in Python."""
        engine, own = self.engine, self.own
        until, judged = engine.samples + pause, engine.last_judged
        while True:
            samples = engine.samples
            planned = samples < len(engine.design)
            # After a pause the data are judged already: judging again could change the last bits.
            if not (planned or own or engine.is_midround or judged == samples):
                judged = samples
                if engine.judge().decided:
                    return STOPPED
            if samples >= budget:
                return EXHAUSTED
            if samples >= until:
                return RUNNING
            arm = int(engine.design[samples]) if planned else engine.propose()
            engine.observe(arm, float(self.environment.sample(arm, 1, self.generator)[0]))
            if own and not planned and engine.own_test():
                return STOPPED

    def _answer(self) -> tuple[int, ...]:
        if self.own:
            return self.engine.best_measured
        return self.engine.verdict.answer or self.engine.incumbents

    def outcome(self, status: str, instance: Instance, seconds: float) -> Identification:
        """The outcome of the run, judged by the true means."""
        engine, means = self.engine, instance.means
        answer, correct, evidence = None, None, None
        if status == STOPPED_RUN:
            answer = self._answer()
            if not self.own:
                rule, last = engine.stopping, engine.verdict
                found = last.statistic, last.threshold, last.pair
                evidence = Evidence(rule.name, rule.guaranteed, *found)
            chosen = np.array(answer)
            outside = np.delete(means, chosen)
            correct = bool(np.max(outside) <= np.min(means[chosen]) + engine.question.tolerance)
        return Identification(
            answer=answer,
            samples=engine.samples,
            counts=engine.counts,
            means=engine.means,
            status=status,
            correct=correct,
            certificate=evidence,
            seconds=seconds,
            unsolved=engine.unsolved,
            question=engine.question,
            scatter=engine.scatter,
            settled=engine.settled(),
        )
