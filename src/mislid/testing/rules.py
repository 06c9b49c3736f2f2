"""Tests of sampling rules and stopping rules, named, composed or written in Python.

No two arms of an instance have the same numbers, except where arms are to be tied, so that no
decision depends on how a tie is broken. The first m arms are the m best.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid.engine import Engine, Verdict
from mislid.model import Instance, Model
from mislid.question import Question
from mislid.simulation.identify import identify
from mislid.stopping.rules import as_stopping_rule

# Correct rules fail a statistical test with at most this probability.
LEVEL = 1e-4
# Long enough for exploration to begin, and so sure that no run stops before.
_SAMPLES, _DELTA = 60, 1e-12
# Measurements of every arm after which a stopping rule is asked.
_TIMES = 2 ** np.arange(21)
# Leads, in standard deviations, that occur by chance with more than these probabilities.
_LEADS = {0.05: 1.6, 1e-6: 4.7}


class Case(NamedTuple):
    """An instance with m best arms, and what is special about it."""

    name: str
    m: int
    instance: Instance

    def question(self, delta: float = 0.05) -> Question:
        """The question that a rule gets."""
        instance = self.instance
        bound = float(np.max(np.abs(instance.means)))
        return Question(instance.model, self.m, noise=instance.noise, delta=delta, mean_bound=bound)


def _case(
    name: str, m: int, features: ArrayLike, means: ArrayLike, eps: float, noise: ArrayLike
) -> Case:
    return Case(name, m, Instance(Model(features, eps), means, noise=noise))


_FEATURES = np.array(
    [[0.93, -0.21], [0.41, 0.77], [0.17, -0.29], [-0.34, 0.38], [-0.47, -0.62], [-0.71, 0.19]]
)
_MEANS = np.array([1.02, 0.63, 0.11, -0.28, -0.57, -0.74])
_NOISE = np.array([0.731, 0.547, 0.613, 0.689, 0.571, 0.653])

CASES = (
    _case("two arms", 1, [[1.3], [0.4]], [0.9, 0.2], 0.3, [0.61, 0.47]),
    _case("all arms but one", 4, _FEATURES[:5], _MEANS[:5], 0.5, _NOISE[:5]),
    _case("unequal noise", 2, _FEATURES, _MEANS, 0.5, [0.1, 0.9, 0.2, 0.5, 1.1, 0.3]),
    _case("one best arm", 1, _FEATURES[:4], _MEANS[:4], 0.5, _NOISE[:4]),
    _case("any means", 1, _FEATURES[:4], _MEANS[:4], math.inf, _NOISE[:4]),
    _case("linear means", 2, _FEATURES, _FEATURES @ [0.9, 0.31], 0.0, _NOISE),
)

# The gap is three times the noise: a few measurements of every arm show which is best. Means are
# linear, so that rules that rely on linearity find the answer as well.
EASY = _case("easy", 1, _FEATURES[:4], _FEATURES[:4] @ [2.0, -1.0], 0.1, [0.51, 0.49, 0.53, 0.54])

_PAIR = [[1.0], [1.0]]
_PLANE = [[1.0, 0.3], [0.3, 1.0], [-1.0, -1.0], [-0.5, 0.2]]
_WALLS = [[1.0, 0.0], [1.0, 0.0], [-0.25, 1.0], [0.25, 1.0], [-1.0, 0.0]]

# Every answer is wrong: the arms at its border are equal, and the others far from them.
# Of the last instance, the line puts the fourth arm above the third: only a tube as wide as
# declared allows the truth.
TIED = (
    _case("two equal arms", 1, _PAIR, [1.0, 1.0], math.inf, 1.0),
    _case("two equal arms of little noise", 1, _PAIR, [1.0, 1.0], math.inf, 0.03),
    _case("two equal arms of unequal noise", 1, _PAIR, [1.0, 1.0], math.inf, [5.0, 0.05]),
    _case("two equal linear arms", 1, _PLANE, [1.3, 1.3, -2.0, -0.3], 0.0, 0.3),
    _case("two equal arms near the line", 1, _PLANE, [1.5, 1.5, -2.0, -0.5], 0.5, 0.3),
    _case("means at the largest deviation", 3, _WALLS, [2.5, 1.5, 0.0, 0.0, -2.0], 0.5, 1.0),
)


@contextmanager
def global_randomness(seed: int) -> Iterator[None]:
    """Seed the generators that a whole process shares, and restore them at the end."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - rules may use it, though they should not
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


class SamplingRuleSuite:
    """Tests of a sampling rule; override `algorithm`.

    Attributes
    ----------
    in_studies
        Whether studies can use the rule: not those that must know the true means, nor compositions
        without a name.
    permutes
        Whether the rule chooses the same arms where the arms come in another order; not those that
        draw arms at random.
    samples
        Measurements within which an easy question must be answered, with the stopping rule
        "guaranteed"; None where that is not claimed.

    Examples
    --------
    >>> class TestUniform(SamplingRuleSuite):
    ...     def algorithm(self):
    ...         return "uniform"

    LinGame draws arms at random, and finds one best arm only:

    >>> class TestLinGame(SamplingRuleSuite):
    ...     permutes = False
    ...
    ...     def algorithm(self):
    ...         return "lingame"
    ...
    ...     def allows(self, question):
    ...         return question.m == 1
    """

    in_studies: bool = True
    permutes: bool = True
    samples: int | None = 2_000

    def algorithm(self) -> Any:
        """The rule that is tested.

        Returns
        -------
        str, Algorithm or object
            What `identify` takes as `algorithm`.
        """
        raise NotImplementedError("a suite for sampling rules must override algorithm")

    def allows(self, question: Question) -> bool:
        """Whether the rule is made for a question; others are left out.

        Parameters
        ----------
        question
            About one of the suite's instances.

        Returns
        -------
        bool
            True unless overridden.
        """
        return True

    def _cases(self) -> list[Case]:
        allowed = [case for case in CASES if self.allows(case.question())]
        assert allowed, "allows() must allow at least one question"
        return allowed

    def _engine(self, case: Case, counts: ArrayLike, sums: ArrayLike) -> Engine:
        engine = Engine(case.question(_DELTA), self.algorithm(), truth=case.instance)
        engine.reset(counts, sums)
        engine.judge(test=False)
        return engine

    def test_a_run_depends_on_its_seed_alone(self) -> None:
        """All randomness comes from the view, none from generators that a process shares.

        For two arms, m = K - 1, unequal noise, no and infinite misspecification.
        """
        for case in self._cases():
            runs = []
            limits: Any = {"delta": _DELTA, "max_samples": _SAMPLES, "seed": 0}
            for seed in (1, 2):
                with global_randomness(seed):
                    rule = self.algorithm()
                    runs.append(identify(case.instance, case.m, algorithm=rule, **limits))
            one, other = runs
            assert one.samples == _SAMPLES, f"{_SAMPLES} measurements must be made ({case.name})"
            assert one.means.tolist() == other.means.tolist(), (
                f"a repeated run must choose the same arms ({case.name})"
            )

    def test_a_study_goes_on_elsewhere_with_the_same_choices(self) -> None:
        """Another process replays the study's log, with batches and failed trials."""
        from mislid.study.manage import copy_study, create_study, load_study
        from mislid.study.storage import MemoryStorage

        rule = self.algorithm()
        given = {} if isinstance(rule, str) else {"algorithm": rule}
        for case in self._cases() if self.in_studies else ():
            here, there, question = MemoryStorage(), MemoryStorage(), case.question(_DELTA)
            study = create_study(
                candidates=question.model.features,
                intercept=False,
                misspecification=question.model.misspecification,
                noise=question.noise,
                m=question.m,
                delta=question.delta,
                mean_bound=question.mean_bound,
                algorithm=rule,
                seed=0,
                storage=here,
            )
            for number in range(8):
                trials = study.ask(3)
                for trial in (trials[2], trials[0]):
                    study.tell(trial, float(case.instance.means[int(trial.arm)]))
                if number % 2:
                    study.tell(trials[1], state="fail")
            copy_study(from_study_name=study.study_name, from_storage=here, to_storage=there)
            other = load_study(storage=there, **given)
            found, expected = ([trial.arm for trial in one.ask(5)] for one in (other, study))
            assert found == expected, (
                f"a copied study must ask for arms {expected} ({case.name}); got {found}"
            )

    def test_permuted_arms_are_chosen_alike(self) -> None:
        """From the same counts and means, in another order, the same arm."""
        generator = np.random.default_rng(5)
        for case in self._cases() if self.permutes else ():
            model, means, noise = case.instance.model, case.instance.means, case.instance.noise
            for _ in range(10):
                order = generator.permutation(means.size)
                counts = 5 + generator.permutation(3 * means.size)[: means.size]
                deviations = noise * generator.standard_normal(means.size)
                sums = counts * (means + deviations / np.sqrt(counts))
                arm = self._engine(case, counts, sums).propose()
                features = Model(model.features[order], model.misspecification)
                permuted = Instance(features, means[order], noise=noise[order])
                other = self._engine(case._replace(instance=permuted), counts[order], sums[order])
                found = order[other.propose()]
                assert found == arm, (
                    f"arm {arm} must be chosen in any order ({case.name}); got {found}"
                )

    def test_an_easy_question_is_answered(self) -> None:
        """Within the number of `samples`, and correctly."""
        if self.samples is None or not self.allows(EASY.question()):
            return
        for seed in range(3):
            given: Any = {"algorithm": self.algorithm(), "max_samples": self.samples}
            found = identify(EASY.instance, EASY.m, seed=seed, **given)
            assert found.status == "stopped", (
                f"a run must stop within {self.samples} samples; its status is {found.status!r}"
            )
            assert found.correct, "the answer must be correct"


class StoppingRuleSuite:
    """Tests of a stopping rule; override `stopping`.

    Attributes
    ----------
    runs
        Number of runs on each instance with two equal arms, for a rule that claims to be
        guaranteed, to a million measurements of every arm.

    Examples
    --------
    >>> class TestGuaranteed(StoppingRuleSuite):
    ...     def stopping(self):
    ...         return "guaranteed"
    """

    runs: int = 150

    def stopping(self) -> Any:
        """The rule that is tested.

        Returns
        -------
        str or object
            What `identify` takes as `stopping`.
        """
        raise NotImplementedError("a suite for stopping rules must override stopping")

    def _is_guaranteed(self) -> bool:
        return as_stopping_rule(self.stopping()).guaranteed

    def _verdict(self, case: Case, counts: int, means: ArrayLike, delta: float = 0.05) -> Verdict:
        engine = Engine(case.question(delta), "uniform", self.stopping())
        numbers = np.full(case.instance.K, counts)
        engine.reset(numbers, numbers * np.asarray(means))
        return engine.judge(test=True)

    def test_it_gives_verdicts(self) -> None:
        """With arms that there are, from the first measurements to the thousandth."""
        for case in CASES:
            for count in (1, 3, 10, 100, 1000):
                _check_verdict(self._verdict(case, count, case.instance.means), case)

    def test_ties_are_not_decided(self) -> None:
        """Without measurements, and with few of the same mean."""
        for case in CASES:
            for count in (0, 1, 2, 5, 20):
                assert not self._verdict(case, count, 0.0).decided, (
                    f"{count} measurements of every arm, all 0, must decide nothing ({case.name})"
                )

    def test_clear_data_are_decided(self) -> None:
        """A million measurements of every arm, and the answer is the first m arms."""
        for case in CASES:
            verdict = self._verdict(case, 1_000_000, case.instance.means)
            assert verdict.decided, f"1000000 measurements of every arm must decide ({case.name})"
            answer = sorted(verdict.answer or ())
            assert answer == list(range(case.m)), (
                f"the answer must be {list(range(case.m))} ({case.name}); got {answer}"
            )

    def test_the_same_data_give_the_same_verdict(self) -> None:
        """Whatever the state of the random generators that a process shares."""
        for case in CASES:
            verdicts = []
            for seed in (1, 2):
                with global_randomness(seed):
                    verdicts.append(str(self._verdict(case, 10, case.instance.means)))
            assert verdicts[1] == verdicts[0], f"a second verdict must be the same ({case.name})"

    def test_leads_by_chance_decide_nothing(self) -> None:
        """For rules that claim a guarantee: no lead that two equal arms have more often than delta.

        From 1 to a million measurements of every arm, for a large and a small delta. It finds rules
        with a wrong scale, without delta, or that stop after some number of measurements.
        """
        for case in TIED if self._is_guaranteed() else ():
            # With features, the other arms have a say in the lead.
            free = math.isinf(case.instance.model.misspecification)
            spread = math.hypot(*case.instance.noise[:2])
            for delta, lead in _LEADS.items():
                for count in _TIMES.tolist():
                    means = case.instance.means.copy()
                    means[0] += free * lead * spread / math.sqrt(count)
                    assert not self._verdict(case, count, means, delta=delta).decided, (
                        f"{count} measurements of every arm with a lead of {free * lead} standard "
                        f"deviations must decide nothing at delta {delta:g} ({case.name})"
                    )

    def test_equal_arms_are_decided_as_rarely_as_promised(self) -> None:
        """For rules that claim a guarantee: asked at 21 times, from 1 measurement to a million.

        Each of the two answers has at most the probability delta: either is wrong as soon as the
        means differ, however little.
        """
        from scipy.stats import binomtest

        for case in TIED if self._is_guaranteed() else ():
            decided = sum(self._decides(case, number) for number in range(self.runs))
            assert binomtest(decided, self.runs, 0.1, alternative="greater").pvalue >= LEVEL, (
                "a guaranteed rule with delta 0.05 must decide between equal arms in at most a "
                f"share 0.1 of runs; it did in {decided} of {self.runs} ({case.name})"
            )

    def _decides(self, case: Case, number: int) -> bool:
        generator = np.random.default_rng(number)
        engine = Engine(case.question(0.05), "uniform", self.stopping())
        means, noise = case.instance.means, case.instance.noise
        for count in np.diff(_TIMES, prepend=0):
            sums = count * means + math.sqrt(count) * noise * generator.standard_normal(means.size)
            for arm, total in enumerate(sums.tolist()):
                engine.observe(arm, total, int(count))
            if engine.judge(test=True).decided:
                return True
        return False


def _check_verdict(verdict: Verdict, case: Case) -> None:
    """Check the roles of arms and numbers; that these are valid the engine checks."""
    answer, pair = verdict.answer or (), verdict.pair
    assert pair is None or (pair[0] not in answer and pair[1] in answer), (
        f"the pair must be an arm outside the answer and one of it ({case.name}); got {pair}"
    )
    numbers = verdict.statistic, verdict.threshold
    assert not verdict.decided or np.isnan(numbers).any() or numbers[0] >= numbers[1], (
        f"the statistic must reach the threshold where a rule decides ({case.name}); got {numbers}"
    )
