"""One identification: from an instance to its m best arms."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence

from mislid._validation import Vector, as_number, as_top_m
from mislid.algorithms import Algorithm, as_algorithm
from mislid.algorithms._setting import first_arms, new_setting
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.simulation.environments import Environment, as_environment
from mislid.simulation.evidence import Evidence
from mislid.simulation.progress import Callback, Progress, Schedule, as_callback

if TYPE_CHECKING:
    from mislid.rules._state import State

STOPPED, EXHAUSTED, INTERRUPTED = "stopped", "budget exhausted", "interrupted"
# Measurements between two looks at the keyboard.
PAUSE = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Identification:
    """The outcome of a run.

    Attributes
    ----------
    answer
        The m best arms, best first, or None where the run did not get to an answer.
    samples, counts
        Measurements in all, and of every arm (K,).
    means
        Empirical means (K,), 0 where nothing was measured.
    status
        "stopped", "budget exhausted" or "interrupted".
    correct
        Whether no arm outside the answer beats one inside by more than the tolerance.
    certificate
        Why the run stopped.
    """

    answer: tuple[int, ...] | None
    samples: int
    counts: Vector
    means: Vector
    status: str
    correct: bool | None
    certificate: Evidence | None
    seconds: float
    unsolved: int


def identify(
    instance: Instance,
    m: int,
    *,
    delta: float = 0.05,
    algorithm: str | Algorithm = "mislid",
    stopping: str = "guaranteed",
    seed: int | SeedSequence = 0,
    max_samples: int | None = None,
    tolerance: float = 0.0,
    gamma: float = 1.0,
    environment: Environment | None = None,
    callback: Callback | None = None,
    every: int | None = None,
) -> Identification:
    """Measure arms of the instance, in simulation, until its m best are known at error rate delta.

    Parameters
    ----------
    algorithm
        Which arm to measure next: a name in `mislid.algorithms.ALGORITHMS`, or a composition.
    stopping
        When to stop: guaranteed, mixture, pairwise and paper are proved; heuristic, which the
        published runs used, is not. LUCB, LinGapE and LinGIFA use their own test with the latter.
    max_samples
        A budget: a run that exhausts it claims no answer.
    tolerance
        How much worse than the best an arm of the answer may be.
    gamma
        Test only when the number of samples has grown by this factor since the last test.
    environment
        Where rewards come from, if not from normal distributions.
    callback
        A function that is called with a `Progress` as the run goes on and once at its end. It
        changes no decision. What it raises ends the run and reaches the caller, but for Ctrl-C,
        after which the status is "interrupted".
    every
        Samples between two calls; by default each comes when they have grown by a twentieth.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> found = identify(Instance(model, [1.0, 1.5, 2.6]), 1)
    >>> found.answer, found.status, found.correct
    ((2,), 'stopped', True)

    How the evidence grew until it reached the threshold:

    >>> seen = []
    >>> again = identify(Instance(model, [1.0, 1.5, 2.6]), 1, callback=seen.append)
    >>> seen[0].samples, seen[-1].samples == again.samples == found.samples
    (3, True)
    >>> seen[0].evidence < 1.0 <= seen[-1].evidence
    True
    """
    rule = as_algorithm(algorithm)
    count = as_top_m(m, instance.K)
    rule.check(instance.model, count)
    level = as_number(delta, "delta", low=1e-300, high=1.0, high_open=True)
    slack = as_number(tolerance, "tolerance", low=0.0, high=np.inf)
    budget = _as_positive(max_samples, "max_samples") or int(np.iinfo(np.int64).max)
    step = _as_positive(every, "every")
    listener = as_callback(callback, step)
    run = _Run(instance, count, level, slack, rule, stopping, gamma, environment, seed)
    start = time.perf_counter()
    status = run.go(budget, listener, step)
    return run.outcome(status, time.perf_counter() - start)


def _as_positive(value: int | None, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ProblemError(f"{name} must be a whole number or None; got {value!r}")
    if value < 1:
        raise ProblemError(f"{name} must be at least 1; got {value}")
    return int(value)


class _Run:
    """Everything that one run writes to."""

    def __init__(
        self,
        instance: Instance,
        m: int,
        delta: float,
        tolerance: float,
        algorithm: Algorithm,
        stopping: str,
        gamma: float,
        environment: Environment | None,
        seed: int | SeedSequence,
    ) -> None:
        from mislid.rules._random import key_of
        from mislid.rules._state import new_state
        from mislid.rules._stopping import new_stopping

        self.instance, self.stopping_name = instance, stopping
        # The paper's bound M on the means is the true one, as in its runs.
        bound = float(np.max(np.abs(instance.means)))
        model, noise = instance.model, instance.noise
        self.setting = new_setting(model, noise, m, delta, tolerance, algorithm, bound)
        self.design = first_arms(self.setting, algorithm)
        patience = algorithm.patience(len(self.design), model.d, gamma)
        self.stopping = new_stopping(self.setting, stopping, gamma, patience)
        self.sampler, self.rivals = algorithm.setup(self.setting, model, instance)
        self.state: State = new_state(self.setting)
        self.source = as_environment(environment, instance).source()
        self.own = algorithm.own_test and stopping == "heuristic"
        root = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        rewards, decisions = (
            SeedSequence(root.entropy, spawn_key=(*root.spawn_key, branch)) for branch in (0, 1)
        )
        self.generator = np.random.default_rng(rewards)
        self.key = key_of(decisions)

    def go(self, budget: int, callback: Callback | None = None, every: int | None = None) -> str:
        """Run to an answer or to the end of the budget; Ctrl-C ends it between two pauses."""
        from mislid.rules._state import SAMPLES
        from mislid.simulation import _loop

        schedule, clock = Schedule(every, len(self.design)), self.state.clock
        try:
            while True:
                due, code = budget, _loop.RUNNING
                if callback is not None:
                    due = schedule.after(int(clock[SAMPLES]))
                while code == _loop.RUNNING and clock[SAMPLES] < due:
                    code = self._advance(budget, min(PAUSE, due - int(clock[SAMPLES])))
                if callback is not None:
                    callback(self._progress(finished=code != _loop.RUNNING))
                if code != _loop.RUNNING:
                    return STOPPED if code == _loop.STOPPED else EXHAUSTED
        except KeyboardInterrupt:
            return INTERRUPTED

    def _advance(self, budget: int, pause: int) -> int:
        from mislid.simulation import _loop

        code: int = _loop.advance(
            self.setting,
            self.sampler,
            self.stopping,
            self.state,
            self.source,
            self.design,
            self.own,
            self.key,
            self.generator,
            budget,
            pause,
            self.rivals,
        )
        return code

    def _answer(self) -> tuple[int, ...]:
        """The incumbents, best first."""
        state = self.state
        estimates = state.means if self.own else state.projected
        arms = state.incumbents[np.argsort(-estimates[state.incumbents], kind="stable")]
        return tuple(int(arm) for arm in arms)

    def _progress(self, *, finished: bool) -> Progress:
        from mislid.rules._state import (
            CHALLENGER,
            INCUMBENT,
            JUDGED,
            LAST_TEST,
            SAMPLES,
            STATISTIC,
            TESTS,
            THRESHOLD,
        )

        state, evidence = self.state, self.state.evidence
        tested = not self.own and state.clock[TESTS] > 0
        known = finished if self.own else state.clock[JUDGED] > 0
        return Progress(
            samples=int(state.clock[SAMPLES]),
            counts=state.counts.astype(np.int64),
            means=state.means.copy(),
            answer=self._answer() if known else None,
            statistic=float(evidence[STATISTIC]) if tested else np.nan,
            threshold=float(evidence[THRESHOLD]) if tested else np.nan,
            pair=(int(evidence[CHALLENGER]), int(evidence[INCUMBENT])) if tested else None,
            tested=int(state.clock[LAST_TEST]),
            finished=finished,
        )

    def outcome(self, status: str, seconds: float) -> Identification:
        from mislid.rules._state import SAMPLES, STALLS

        state, means = self.state, self.instance.means
        answer, correct = None, None
        if status == STOPPED:
            answer = self._answer()
            outside = np.delete(means, state.incumbents)
            correct = bool(np.max(outside) <= np.min(means[state.incumbents]) + self.setting.tol)
        return Identification(
            answer=answer,
            samples=int(state.clock[SAMPLES]),
            counts=state.counts.astype(np.int64),
            means=state.means.copy(),
            status=status,
            correct=correct,
            certificate=self._evidence() if status == STOPPED and not self.own else None,
            seconds=seconds,
            unsolved=int(state.clock[STALLS]),
        )

    def _evidence(self) -> Evidence:
        from mislid.rules._state import CHALLENGER, INCUMBENT, STATISTIC, THRESHOLD
        from mislid.rules.stopping import STOPPING_RULES

        state, evidence = self.state, self.state.evidence
        return Evidence(
            rule=self.stopping_name,
            proven=STOPPING_RULES[self.stopping_name].guaranteed,
            statistic=float(evidence[STATISTIC]),
            threshold=float(evidence[THRESHOLD]),
            pair=(int(evidence[CHALLENGER]), int(evidence[INCUMBENT])),
            model=self.instance.model,
            means=state.means.copy(),
            weights=state.weights.copy(),
            incumbents=tuple(int(arm) for arm in state.incumbents),
            tolerance=self.setting.tol,
        )
