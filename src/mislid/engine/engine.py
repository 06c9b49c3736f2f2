"""The engine: takes measurements, proposes arms and judges, for any pair of rules."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from mislid._formatting import shown
from mislid._validation import (
    Vector,
    as_arm,
    as_costs,
    as_count,
    as_flag,
    as_number,
    as_seed,
    as_vector,
)
from mislid.algorithms.fixed import NoOptions
from mislid.algorithms.registry import as_algorithm, compile_sampling
from mislid.engine import loop
from mislid.engine.replay import EventBatch, follow
from mislid.engine.view import SamplingProtocol, StoppingProtocol, Verdict, View, blame
from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates, search_space
from mislid.geometry.spanner import spanner
from mislid.model import Model
from mislid.question import Question, as_scatter, refuse_values
from mislid.stopping.noise import NOISE_MODELS, UNDECLARED
from mislid.stopping.proof import Proof, forget_tests
from mislid.stopping.rules import Setup, StoppingRule, as_stopping_rule, compile_stopping
from mislid.stopping.state import Setting, Settled, State, forget_pairs, observe_sum

if TYPE_CHECKING:
    from mislid.algorithms import Algorithm
    from mislid.model import Instance

# In the published runs, every arm starts with PHANTOM measurements, and the tube is wider by
# WIDENING at noise 1.
PHANTOM, WIDENING = 1e-10, 1e-5
# Rows of `Settled` beyond two for each of the m best arms.
SPARE_ROWS = 32
# Largest number of measurements that a float64 holds exactly.
MOST_SAMPLES = 1 << 53
# Initial values of every arm if the variances are unknown.
FIRST_VALUES = 5
# Initial degrees of freedom if all arms share an unknown variance.
FIRST_FREEDOM = 10


class Engine:
    """An identification step by step: observe a value, judge the data, propose the next arm.

    Parameters
    ----------
    question
        The question.
    algorithm
        Which arm to measure next: a name, a composition, or any object with `propose(view)`.
    stopping
        When to stop: a name, or any object with `judge(view)`.
    seed
        Seed of the decisions' random numbers; the n-th decision always uses the same one.
    gamma
        Factor by which the number of samples must grow between two tests.
    every_arm
        Whether to measure all arms once first; None leaves that to the algorithm.
    truth
        The instance, for algorithms that use the true means; for simulations only.
    cost
        Cost of a measurement of every arm (K,), in any unit; infinite for arms that cannot be
        measured. By default all costs are equal. Rules such as `mislid` weigh evidence against
        cost.

    Raises
    ------
    ProblemError
        If a rule does not exist or does not support the question.

    Examples
    --------
    >>> from mislid import Model
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> engine = Engine(Question(model, m=1, noise=0.2))
    >>> for arm, value in [(0, 0.4), (1, 0.5), (2, 0.9), (2, 0.8)]:
    ...     engine.observe(arm, value)
    >>> engine.judge().decided, engine.incumbents, engine.propose()
    (False, (2,), 1)

    Which pairs would 16 more values of two arms settle? Try a copy:

    >>> tried = engine.copy()
    >>> tried.observe(1, 16 * 0.45, times=16)
    >>> tried.observe(2, 16 * 0.85, times=16)
    >>> tried.judge().decided, tried.settled(), engine.samples
    (False, {(1, 2): 36}, 4)

    Another engine continues from these data:

    >>> other = Engine(engine.question)
    >>> other.reset(tried.counts, tried.sums, tried)
    >>> other.judge().decided, other.samples, other.settled()
    (False, 36, {(1, 2): 36})
    """

    def __init__(
        self,
        question: Question,
        algorithm: str | Algorithm | SamplingProtocol = "mislid",
        stopping: str | StoppingProtocol = "guaranteed",
        *,
        seed: int | SeedSequence = 0,
        gamma: float = 1.0,
        every_arm: bool | None = None,
        truth: Instance | None = None,
        cost: ArrayLike | None = None,
    ) -> None:
        if not isinstance(question, Question):
            raise ProblemError(f"question must be a mislid.Question; got {shown(question)}")
        self.question = question
        # Rules written in Python may have a state, so each engine has a copy.
        self.algorithm: Any = _own(as_algorithm(algorithm), "algorithm")
        self.stopping: Any = as_stopping_rule(_own(stopping, "stopping"))
        self.cost = check_rules(question, self.algorithm, self.stopping, cost)
        self.gamma = as_number(gamma, "gamma", low=1.0, high=np.inf)
        self._verdict = Verdict(False)
        self._pretended: State | None = None
        self._compile(truth, as_seed(seed), every_arm)

    def _compile(self, truth: Instance | None, seed: SeedSequence, every_arm: bool | None) -> None:
        rule, question, patience = self.algorithm, self.question, 0
        if every_arm is None:
            every_arm = bool(getattr(rule, "every_arm", True))
        setting = new_setting(question, rule, self.stopping.guaranteed, self.cost)
        every = as_flag(every_arm, "every_arm")
        self._design = _first_design(question, setting.basis, every, self.cost)
        if getattr(rule, "authors", False):  # samples before the first test of published runs
            patience = max(5 * question.model.d, 10) if self.gamma > 1.0 else len(self._design)
        given = Setup(setting, question, truth)
        sampling = self._sampler = compile_sampling(rule, given)
        estimates = sampling is None or sampling.estimates
        stopping = compile_stopping(self.stopping, given._replace(estimates=estimates))
        self._judge = stopping.judge
        own = None if sampling is None else sampling.own_test
        decisions = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        self._rules = loop.Rules(
            setting=setting,
            state=new_state(setting, sampling is not None and sampling.plays),
            sampler=NoOptions() if sampling is None else sampling.struct,
            propose=0 if sampling is None else sampling.propose.address,
            own_test=0 if own is None else own.address,
            estimates=estimates,
            phased=sampling is not None and sampling.left is not None,
            stopping=stopping.struct,
            judge=stopping.judge.address,
            gamma=self.gamma,
            patience=patience,
            key=np.uint64(decisions.generate_state(1, np.uint64)[0]),
        )

    @property
    def _state(self) -> State:
        return self._rules.state

    @property
    def is_compiled(self) -> bool:
        """Whether both rules are compiled; others are slower, and `advance` does not take them."""
        return self._sampler is not None and self.stopping.judge is None

    @property
    def design(self) -> NDArray[np.int64]:
        """The arms (n,) to measure first."""
        return self._design.copy()

    @property
    def samples(self) -> int:
        """Number of measurements."""
        return self._state.samples

    @property
    def counts(self) -> NDArray[np.int64]:
        """Measurements of every arm (K,)."""
        return self._state.counts.astype(np.int64)

    @property
    def sums(self) -> Vector:
        """Sums of the values of every arm (K,)."""
        return self._state.sums + self._state.lost

    @property
    def means(self) -> Vector:
        """Empirical means (K,), 0 where nothing was measured."""
        return self._state.means.copy()

    @property
    def weights(self) -> Vector:
        """Counts over squared noise (K,)."""
        return self._state.weights.copy()

    @property
    def estimate(self) -> Vector:
        """The model nearest to the means (K,) when they were last judged."""
        return self._state.projected.copy()

    @property
    def incumbents(self) -> tuple[int, ...]:
        """The m arms that are best in the estimate, best first."""
        return self._best(self._state.projected)

    @property
    def best_measured(self) -> tuple[int, ...]:
        """The same arms in the order of their empirical means."""
        return self._best(self._state.means)

    def _best(self, values: Vector) -> tuple[int, ...]:
        arms = self._state.incumbents
        order = np.argsort(-values[arms], kind="stable")
        return tuple(int(arm) for arm in arms[order])

    @property
    def is_estimated(self) -> bool:
        """Whether there is an estimate."""
        return self.last_judged > 0

    @property
    def last_judged(self) -> int:
        """Number of samples at the last estimate; 0 before the first."""
        return self._state.judged

    @property
    def is_midround(self) -> bool:
        """Whether a round of several measurements is incomplete; there are no tests within it."""
        return self._state.queued > 0

    @property
    def widening(self) -> float:
        """The addition of published runs to the misspecification; 0 for all others."""
        return self._rules.setting.widening

    @property
    def tests(self) -> int:
        """Number of stopping tests so far."""
        return self._state.tests

    @property
    def unsolved(self) -> int:
        """Number of searches that could not certify their result."""
        return self._state.stalls

    @property
    def verdict(self) -> Verdict:
        """The verdict of the last stopping test."""
        state = self._state
        if self.stopping.judge is not None or state.tests == 0:
            return self._verdict
        return Verdict(
            self._verdict.decided,
            state.statistic,
            state.threshold,
            (state.challenger, state.incumbent),
            self.incumbents,
            state.samples,
        )

    @property
    def scatter(self) -> Vector:
        """The scatter of the values of every arm (K,); 0 if the noise model does not need it.

        For unknown noise, the sum of squared distances of an arm's values from their mean. For
        bounded values, that of squared distances from a guess of the mean made before each value,
        in units of the squared range.
        """
        return self._state.scatter.copy()

    def observe(self, arm: int, value: float, times: int = 1, scatter: float | None = None) -> None:
        """Add a measurement of an arm.

        Parameters
        ----------
        arm
            0 to K - 1.
        value
            The value; more is better. With `times`, the sum of the values.
        times
            Number of measurements.
        scatter
            With `times`, the sum of the squared distances of these values from their mean; needed
            where the noise is unknown or bounded.

        Raises
        ------
        ProblemError
            If there is no such arm, a number is not allowed, the noise model rules the value out,
            or `scatter` is missing where it is needed.
        """
        number = as_number(value, "value", low=-math.inf, high=math.inf)
        checked = as_arm(arm, "arm", self.question.K), as_count(times, "times", 1)
        if self.samples + checked[1] > MOST_SAMPLES:
            raise ProblemError(f"times must leave at most {MOST_SAMPLES} samples; got {times}")
        counts, given = np.array([float(checked[1])]), None if scatter is None else [scatter]
        apart = float(as_scatter(self.question, counts, given, least=2)[0])
        refuse_values(self.question, np.array([number]), counts)
        observe_sum(self._rules.setting, self._state, *checked, number, apart)

    def _pretend(self, arm: int, value: float) -> None:
        """Add a pretended value, which may be impossible under the noise model."""
        observe_sum(self._rules.setting, self._state, arm, 1, value, 0.0)
        self._state.waiting += 1

    def propose(self, position: int | None = None) -> int:
        """The arm to measure next, after `judge`.

        Parameters
        ----------
        position
            Position of the decision's random number; by default the number of samples.

        Returns
        -------
        int
            0 to K - 1.

        Raises
        ------
        ProblemError
            If the position is negative or not whole, or a rule written in Python gives no arm.
        """
        where = self.samples if position is None else as_count(position, "position", 0)
        return self._propose(where)

    def _propose(self, position: int) -> int:
        if self._sampler is not None:
            return int(loop.propose(self._rules, self._state, position))
        view, name = self.view(position), type(self.algorithm).__name__
        try:
            arm = self.algorithm.propose(view)
        except Exception as problem:
            blame(problem, f"{name}.propose")
            raise
        if not self._is_arm(arm):
            raise ProblemError(
                f"{name}.propose must return an arm, 0 to {self.question.K - 1}; got {arm!r}"
            )
        return int(arm)

    def phase_left(self, waiting: Sequence[int] = ()) -> int | None:
        """The remaining measurements of a phase of a rule with phases, such as RAGE.

        Before the first design is measured, the remaining arms of the design.

        Parameters
        ----------
        waiting
            Arms with open measurements.

        Returns
        -------
        int or None
            0 if all of them are open; None for a rule that plans one measurement at a time.

        Raises
        ------
        ProblemError
            If `waiting` has an entry that is not an arm; rules without phases do not check.

        Examples
        --------
        RAGE first measures two arms that span the features, then plans a phase as a whole:

        >>> from mislid import Model
        >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
        >>> engine = Engine(Question(model, m=1, noise=0.2), "rage")
        >>> engine.phase_left(), engine.phase_left(waiting=[0])
        (2, 1)
        >>> engine.observe(0, 0.4)
        >>> engine.observe(1, 0.5)
        >>> left = engine.phase_left()
        >>> left > 2, engine.phase_left(waiting=[2, 2]) - left
        (True, -2)
        """
        if self._sampler is None or self._sampler.left is None:
            return None
        asked, waiting = self.counts, [as_arm(arm, "waiting", self.question.K) for arm in waiting]
        np.add.at(asked, np.array(waiting, dtype=np.int64), 1)
        if np.any(self._state.counts[self._design] == 0.0):
            return int(np.count_nonzero(asked[np.unique(self._design)] == 0))
        # A copy proposes, because this call must not change later proposals.
        probe = self.copy()
        if waiting:
            probe.propose()
            probe = probe._pretending(waiting)
        probe.propose()
        rules = probe._rules
        return int(self._sampler.left(rules.setting, rules.sampler, rules.state))

    def _is_arm(self, arm: Any) -> bool:
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        return whole and 0 <= arm < self.question.K

    def judge(self, test: bool | None = None) -> Verdict:
        """Estimate the means and, if a test is due, test whether the measurements are enough.

        Parameters
        ----------
        test
            Whether to test; None tests if a test is due.

        Returns
        -------
        Verdict
            Not decided if there was no test.

        Raises
        ------
        ProblemError
            If `test` is something else, or a rule written in Python returns an invalid verdict.
        """
        rules, state = self._rules, self._state
        if test is None:
            test = state.samples > max(rules.patience, rules.gamma * state.last_test)
        test = as_flag(test, "test")
        if self.stopping.judge is None:
            decided = self._judge(rules.setting, rules.stopping, state, test)
            self._verdict = Verdict(bool(decided))
            return self.verdict
        self._judge(rules.setting, rules.stopping, state, False)
        self._verdict = Verdict(False, samples=state.samples)
        if test:
            state.tests += 1
            state.last_test = state.samples
            view = self.view()
            try:
                verdict = self.stopping.judge(view)
            except Exception as problem:
                blame(problem, f"{self.stopping.name}.judge")
                raise
            self._verdict = self._asked(verdict)
        return self._verdict

    def _asked(self, verdict: Any) -> Verdict:
        must = f"{self.stopping.name}.judge must return a"
        if not isinstance(verdict, Verdict):
            raise ProblemError(f"{must} mislid.engine.Verdict; got {verdict!r}")
        if not isinstance(verdict.decided, bool | np.bool_):
            raise ProblemError(
                f"{must} Verdict whose decided is True or False; got {verdict.decided!r}"
            )
        numbers = verdict.statistic, verdict.threshold
        if not all(isinstance(number, int | float | np.number) for number in numbers):
            raise ProblemError(
                f"{must} Verdict whose statistic and threshold are numbers; got {numbers!r}"
            )
        answer, pair = self.incumbents, verdict.pair
        if verdict.answer is not None:
            answer = self._as_arms(verdict.answer, self.question.m, "answer")
        if pair is not None:
            challenger, incumbent = self._as_arms(pair, 2, "pair")
            pair = challenger, incumbent
        return dataclasses.replace(verdict, answer=answer, pair=pair, samples=self.samples)

    def _as_arms(self, arms: Any, count: int, what: str) -> tuple[int, ...]:
        given = tuple(arms) if isinstance(arms, Iterable) else ()
        distinct = {int(arm) for arm in given if self._is_arm(arm)}
        if not len(given) == len(distinct) == count:
            raise ProblemError(
                f"{self.stopping.name}.judge must return a Verdict whose {what} is None or {count} "
                f"of the arms 0 to {self.question.K - 1}, each once; got {arms!r}"
            )
        return tuple(int(arm) for arm in given)

    def view(self, position: int | None = None) -> View:
        """The view for rules that are written in Python.

        Parameters
        ----------
        position
            Position of the random numbers; by default the number of samples.

        Returns
        -------
        View
            A copy.

        Raises
        ------
        ProblemError
            If the position is negative or not whole.
        """
        where = self.samples if position is None else as_count(position, "position", 0)
        return View(
            self.question,
            self.samples,
            self.counts,
            self.means,
            self.estimate,
            self.incumbents,
            (int(self._rules.key), where),
        )

    def own_test(self) -> bool:
        """Whether the sampling rule's own test is satisfied, after its proposal was measured.

        Returns
        -------
        bool
            True if the rule would answer.

        Raises
        ------
        ProblemError
            If the rule has no test of its own.

        Examples
        --------
        LUCB measures until its own test says that arm 2 is the best:

        >>> from mislid import Model
        >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
        >>> engine = Engine(Question(model, m=1, noise=0.2), "lucb", "heuristic")
        >>> means = [0.4, 0.5, 0.8]
        >>> for arm in engine.design:
        ...     engine.observe(arm, means[arm])
        >>> while not engine.own_test():
        ...     _ = engine.judge(test=False)
        ...     arm = engine.propose()
        ...     engine.observe(arm, means[arm])
        >>> engine.samples, engine.best_measured
        (40, (2,))
        """
        if self._sampler is None or self._sampler.own_test is None:
            raise ProblemError(f"{type(self.algorithm).__name__} has no test of its own")
        rules = self._rules
        return bool(self._sampler.own_test(rules.setting, rules.sampler, rules.state))

    def reset(
        self,
        counts: ArrayLike,
        sums: ArrayLike,
        memory: Engine | None = None,
        *,
        scatter: ArrayLike | None = None,
    ) -> None:
        """Replace all measurements by these.

        Parameters
        ----------
        counts, sums
            Number of measurements of every arm, and sums of their values (K,).
        memory
            An engine whose memory of the compiled rules is copied, with the settled pairs. None
            keeps the sampling rule's memory and forgets settled pairs.
        scatter
            As the attribute of that name (K,); needed where the noise is unknown or bounded.

        Raises
        ------
        ProblemError
            If counts are not whole numbers from 0 on, other numbers are not finite or cannot be
            (sums of arms without counts, values outside the range), `scatter` is missing where it
            is needed, or `memory` is of other rules. The engine is then unchanged.
        """
        rules, state = self._rules, self._state
        known = memory._rules if isinstance(memory, Engine) else None
        if memory is not None and not (
            known is not None
            and type(known.sampler) is type(rules.sampler)
            and rules.sampler.is_like(known.sampler)
            and state.settled.is_like(known.state.settled)
        ):
            raise ProblemError(
                f"memory must be an engine with the same algorithm and sizes; got {memory!r}"
            )
        begin_with(rules.setting, state, *self._as_data(counts, sums, scatter))
        forget_pairs(state.settled)
        if isinstance(rules.stopping, Proof):
            forget_tests(rules.stopping)
        self._verdict = Verdict(False)
        if known is not None:
            rules.sampler.fill(known.sampler)
            state.rounds, state.queued = known.state.rounds, known.state.queued
            state.settled.fill(known.state.settled)

    def _as_data(
        self, counts: ArrayLike, sums: ArrayLike, scatter: ArrayLike | None
    ) -> tuple[Vector, Vector, Vector]:
        K = self.question.K
        numbers, totals = as_vector(counts, "counts", K), as_vector(sums, "sums", K)
        whole = (numbers >= 0.0) & (numbers == np.floor(numbers))
        if not whole.all() or numbers.sum() > MOST_SAMPLES:
            raise ProblemError(
                f"counts must be whole numbers from 0 on, at most {MOST_SAMPLES} in all; "
                f"got {numbers.tolist()!r}"
            )
        empty = (numbers == 0.0) & (totals != 0.0)
        if empty.any():
            k = int(np.argmax(empty))
            raise ProblemError(
                f"sums must be 0 where nothing was counted; got {float(totals[k])!r} for arm {k}"
            )
        refuse_values(self.question, totals, numbers)
        return numbers, totals, as_scatter(self.question, numbers, scatter, least=1)

    def settled(self) -> dict[tuple[int, int], int]:
        """When pairs of the present answer were settled, by a rule that settles single pairs.

        Returns
        -------
        dict
            The number of samples at which the evidence of each pair (challenger, incumbent) was
            first found to be enough. Open pairs are missing.
        """
        known = self._state.settled
        claimed = [int(j) for j in self._state.incumbents if known.rows[j] >= 0]
        return {
            (int(i), j): int(known.times[known.rows[j], i])
            for j in claimed
            for i in np.flatnonzero(known.times[known.rows[j]])
            if i not in self._state.incumbents
        }

    def copy(self) -> Engine:
        """An independent engine in the same state.

        Returns
        -------
        Engine
            With copies of the rules, those written in Python included.
        """
        other = copy.copy(self)
        other.algorithm = copy.deepcopy(self.algorithm)
        other.stopping = copy.deepcopy(self.stopping)
        other._rules, other._pretended = self._rules.copy(), None
        return other

    def _for_pretending(self) -> State:
        """The state for open trials; it is kept, because searches start from the last one."""
        state = self._state
        if self._pretended is None:
            plays = state.play is not state.test
            self._pretended = new_state(self._rules.setting, plays, state.settled)
        return self._pretended

    def _pretending(self, waiting: Sequence[int] | NDArray[np.int64]) -> Engine:
        """An engine with a separate state that shares the memory of the rules.

        It includes trials of the arms `waiting` as if they had returned the estimate.
        """
        other, pretended = copy.copy(self), self._for_pretending()
        arms = np.array(waiting, dtype=np.int64)
        loop.pretend(self._rules.setting, self._state, pretended, arms)
        other._rules = self._rules.replace(state=pretended)
        return other

    def advance(
        self, source: loop.Source, generator: Generator, budget: int, pause: int, own: bool
    ) -> int:
        """Simulate until an answer, `budget` measurements in all, or `pause` more, compiled.

        Parameters
        ----------
        source
            The source of an environment's rewards.
        generator
            Of the rewards.
        budget, pause
            Numbers of measurements.
        own
            Whether the sampling rule's own test takes the place of the stopping rule.

        Returns
        -------
        int
            `loop.RUNNING`, `loop.STOPPED` at an answer, or `loop.EXHAUSTED` at the budget.

        Raises
        ------
        ProblemError
            If a rule is written in Python, the source does not fit the arms, or the rule has no
            test of its own where `own` asks for it.

        Examples
        --------
        The first ten measurements, then the others:

        >>> from mislid import Model
        >>> from mislid.simulation import Gaussian
        >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
        >>> engine = Engine(Question(model, m=1, noise=0.2))
        >>> source, random = Gaussian([0.4, 0.5, 0.8], 0.2).source(), np.random.default_rng(0)
        >>> engine.advance(source, random, budget=1000, pause=10, own=False), engine.samples
        (0, 10)
        >>> engine.advance(source, random, budget=1000, pause=1000, own=False), engine.samples
        (1, 42)
        """
        if not self.is_compiled:
            raise ProblemError("advance needs compiled rules; use propose, observe and judge")
        if own and self._rules.own_test == 0:
            raise ProblemError(f"{type(self.algorithm).__name__} has no test of its own")
        if source.parameters.shape[0] != self.question.K:
            raise ProblemError(
                f"source must be of {self.question.K} arms; got {source.parameters.shape[0]}"
            )
        code = loop.advance(self._rules, source, self._design, own, generator, budget, pause)
        self._verdict = Verdict(code == loop.STOPPED)
        return int(code)

    def follow(self, batch: EventBatch) -> tuple[Verdict | None, NDArray[np.int64]]:
        """Replay events of a study.

        Parameters
        ----------
        batch
            Measurements and requests for trials, in order; more is better.

        Returns
        -------
        tuple
            The first verdict that decides, or None, and the arms (n,) of the new trials.

        Raises
        ------
        ProblemError
            If the batch has unknown arms, or values that are not finite or impossible under the
            noise model; the engine is then unchanged.

        Examples
        --------
        Three values are told, then two trials are requested while one of arm 1 is open:

        >>> from mislid import Model
        >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
        >>> engine, batch = Engine(Question(model, m=1, noise=0.2)), EventBatch()
        >>> batch.tell([0, 1, 2], [0.4, 0.5, 0.9])
        >>> batch.ask(4, 2, [1])
        >>> verdict, arms = engine.follow(batch)
        >>> verdict, arms.tolist(), engine.samples
        (None, [0, 2], 3)
        """
        return follow(self, batch)


def check_rules(
    question: Question, algorithm: Any, stopping: StoppingRule, cost: ArrayLike | None
) -> Vector | None:
    """Refuse rules that do not support a question; return costs (K,) divided by the least one.

    Costs are infinite for arms that cannot be measured.
    """
    if question.noise_model in UNDECLARED:
        if stopping.name != "guaranteed":
            raise ProblemError(
                "stopping must be 'guaranteed' where the noise is unknown, or the noise be "
                f"declared; got {stopping.name!r}"
            )
        if getattr(algorithm, "needs_noise", False):
            rule = getattr(algorithm, "algorithm", algorithm)
            raise ProblemError(
                f"algorithm must not be {type(rule).__name__} where the noise is unknown: its "
                "regression needs the standard deviation"
            )
    if hasattr(algorithm, "check"):
        algorithm.check(question)
    if cost is None:
        return None
    given = as_costs(cost, question.K, allow_inf=True)
    finite = given[np.isfinite(given)]
    if not finite.size:
        raise ProblemError("cost must be finite for an arm: nothing else can be measured")
    if np.any(finite != finite[0]) and not getattr(algorithm, "reads_costs", False):
        raise ProblemError(
            "cost must be the same for all arms with an algorithm that does not look at it; got "
            f"{float(finite.min()):g} to {float(finite.max()):g} and "
            f"{getattr(algorithm, 'name', type(algorithm).__name__)!r}. 'mislid' does"
        )
    return given / finite.min()


def new_setting(
    question: Question, algorithm: Any, proven: bool = False, price: Vector | None = None
) -> Setting:
    """The question for kernels; a price (K,) is infinite for arms that cannot be measured.

    Proven rules have no phantom measurements.
    """
    model, at = question.model, coordinates(question.model)
    authors = bool(getattr(algorithm, "authors", False))
    low, high = question.reward_range or (0.0, 1.0)
    return Setting(
        X=np.array(at.matrix, order="C"),
        basis=np.array(at.basis, dtype=np.int64),
        eps=model.misspecification,
        variance=question.noise**2,
        noise_model=NOISE_MODELS.index(question.noise_model),
        low=low,
        width=high - low,
        m=question.m,
        tol=question.tolerance,
        delta=question.delta,
        largest_norm=float(np.max(np.linalg.norm(model.features, axis=1))),
        mean_bound=question.mean_bound,
        phantom=PHANTOM if authors and not proven else 0.0,
        widening=WIDENING * float(np.max(question.noise)) if authors else 0.0,
        responds=bool(getattr(algorithm, "responds", False)),
        selective=bool(getattr(algorithm, "selective", False)),
        structured=question.structured,
        price=np.ones(model.K) if price is None else price,
        priced=price is not None and bool(np.any(price != price[0])),
    )


def new_state(setting: Setting, plays: bool = True, settled: Settled | None = None) -> State:
    """A state without measurements; a rule that `plays` a game has a second search space.

    States of open trials share the `settled` pairs.
    """
    K, m = setting.X.shape[0], setting.m
    test = search_space(setting.X, setting.basis, m)
    play = search_space(setting.X, setting.basis, m) if plays else test
    settled = new_settled(K, m) if settled is None else settled
    state = State.zeros({"K": K, "m": m}, test=test, play=play, settled=settled)
    begin_with(setting, state, np.zeros(K), np.zeros(K))
    state.incumbents[:] = np.arange(m)
    return state


def new_settled(K: int, m: int) -> Settled:
    """A record without settled pairs."""
    count = min(K, 2 * m + SPARE_ROWS)
    none = {name: np.full(n, -1, np.int64) for name, n in (("rows", K), ("owners", count))}
    return Settled.zeros({"K": K, "R": count}, used=np.zeros(count, np.int64), **none)


def begin_with(
    setting: Setting, state: State, counts: Vector, sums: Vector, scatter: Vector | None = None
) -> None:
    """Reset a state to these measurements: counts, sums and scatter (K,)."""
    for name, value in state.fields().items():
        if isinstance(value, int | float):
            setattr(state, name, -1 if name.endswith(("_challenger", "_incumbent")) else 0)
    state.test.exempt[:] = 0
    state.samples = int(counts.sum())
    state.counts[:], state.sums[:], state.lost[:] = counts, sums, 0.0
    state.scatter[:] = 0.0 if scatter is None else scatter
    state.weights[:] = (counts + setting.phantom) / setting.variance
    state.means[:] = sums / np.maximum(counts, 1.0)


def _first_design(
    question: Question, basis: NDArray[np.int64], every_arm: bool, price: Vector | None
) -> NDArray[np.int64]:
    """The arms (n,) to measure first: all or a basis, several times if variances are unknown."""
    can = np.arange(question.K, dtype=np.int64)
    if price is not None:
        can = can[np.isfinite(price)]
        if not np.isin(basis, can).all():  # some basis arms cannot be measured
            able = Model(question.model.features[can], math.inf)
            others = can[spanner(able)] if can.size > 1 else can
            basis = np.unique(np.concatenate([basis[np.isin(basis, can)], others]))
    design = can if every_arm else basis
    if question.noise_model == "unknown":
        # Every arm needs an estimated variance, and pairs are proved by their own two arms.
        return np.tile(can, FIRST_VALUES)
    if question.noise_model == "unknown-equal":
        return np.tile(design, 1 + math.ceil(FIRST_FREEDOM / len(design)))
    return design


def _own(rule: Any, argument: str) -> Any:
    """A copy of a rule: each engine has its own state of rules written in Python."""
    try:
        return copy.deepcopy(rule)
    except Exception as problem:
        raise ProblemError(
            f"{argument} must be an object that copy.deepcopy can copy, since every run has its "
            f"own; got {shown(rule)} ({type(problem).__name__}: {problem})"
        ) from problem
