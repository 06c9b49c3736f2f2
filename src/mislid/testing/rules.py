"""Test suites for sampling rules and stopping rules, named, composed or written in Python.

The arms of an instance differ in all numbers, so that no decision depends on how a tie is broken;
only the instances for tests of ties have equal arms. The first m arms are the m best.
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
# Length of runs, long enough for exploration to begin; delta is so small that no run stops earlier.
_SAMPLES, _DELTA = 60, 1e-12
# Numbers of measurements of every arm at which a stopping rule is tested.
_TIMES = 2 ** np.arange(21)
# Leads, in standard deviations, that occur by chance with at least the probability in the key.
_LEADS = {0.05: 1.6, 1e-6: 4.7}


class Case(NamedTuple):
    """An instance with m best arms, and a name that says what it tests."""

    name: str
    m: int
    instance: Instance

    def question(self, delta: float = 0.05) -> Question:
        """The question about the instance."""
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

# The gap is three times the noise, so a few measurements of every arm suffice. The means are
# linear, so that rules that rely on linearity also find the answer.
EASY = _case("easy", 1, _FEATURES[:4], _FEATURES[:4] @ [2.0, -1.0], 0.1, [0.51, 0.49, 0.53, 0.54])

_PAIR = [[1.0], [1.0]]
_PLANE = [[1.0, 0.3], [0.3, 1.0], [-1.0, -1.0], [-0.5, 0.2]]
_WALLS = [[1.0, 0.0], [1.0, 0.0], [-0.25, 1.0], [0.25, 1.0], [-1.0, 0.0]]

# Instances whose m-th and next arm are equal, so that no answer may be given; the other arms are
# far away. In the last one, the nearest linear model ranks the fourth arm above the third: the true
# means are at the largest deviation from it that is declared.
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
    """Seed the global random generators of `random` and NumPy, and restore them at the end."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - rules may use it, though they should not
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


class SamplingRuleSuite:
    """Test suite for a sampling rule; override `algorithm`.

    Attributes
    ----------
    in_studies
        Whether studies can use the rule. Set it to False for rules that need the true means, and
        for compositions without a name.
    permutes
        Whether the rule chooses the same arms if the arms are permuted. Set it to False for rules
        that draw arms at random.
    samples
        Number of measurements within which the rule must answer an easy question, with the stopping
        rule "guaranteed"; None to skip this test.

    Examples
    --------
    >>> class TestUniform(SamplingRuleSuite):
    ...     def algorithm(self):
    ...         return "uniform"

    LinGame draws arms at random, and only finds a single best arm:

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
        """The sampling rule under test.

        Returns
        -------
        str, Algorithm or object
            A value for the argument `algorithm` of `identify`.
        """
        raise NotImplementedError("a suite for sampling rules must override algorithm")

    def allows(self, question: Question) -> bool:
        """Whether the rule can answer a question; the suite skips other questions.

        Parameters
        ----------
        question
            A question about one of the suite's instances.

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
        """Check that all randomness comes from the view, none from global generators.

        The instances include two arms, m = K - 1, unequal noise, and zero and infinite
        misspecification.
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
        """Check that a copy of a study's log gives the same choices after batches and failures."""
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
        """Check that permuted counts and means give the same arm."""
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
        """Check that the answer is correct and takes at most `samples` measurements."""
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
    """Test suite for a stopping rule; override `stopping`.

    Attributes
    ----------
    runs
        Number of runs on each instance with two equal arms, for rules that claim a guarantee. Each
        run has up to a million measurements of every arm.

    Examples
    --------
    >>> class TestGuaranteed(StoppingRuleSuite):
    ...     def stopping(self):
    ...         return "guaranteed"
    """

    runs: int = 150

    def stopping(self) -> Any:
        """The stopping rule under test.

        Returns
        -------
        str or object
            A value for the argument `stopping` of `identify`.
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
        """Check verdicts after 1 to 1,000 measurements of every arm."""
        for case in CASES:
            for count in (1, 3, 10, 100, 1000):
                _check_verdict(self._verdict(case, count, case.instance.means), case)

    def test_ties_are_not_decided(self) -> None:
        """Check that neither missing data nor a few measurements with equal means decide."""
        for case in CASES:
            for count in (0, 1, 2, 5, 20):
                assert not self._verdict(case, count, 0.0).decided, (
                    f"{count} measurements of every arm, all 0, must decide nothing ({case.name})"
                )

    def test_clear_data_are_decided(self) -> None:
        """Check that a million measurements of every arm decide for the first m arms."""
        for case in CASES:
            verdict = self._verdict(case, 1_000_000, case.instance.means)
            assert verdict.decided, f"1000000 measurements of every arm must decide ({case.name})"
            answer = sorted(verdict.answer or ())
            assert answer == list(range(case.m)), (
                f"the answer must be {list(range(case.m))} ({case.name}); got {answer}"
            )

    def test_the_same_data_give_the_same_verdict(self) -> None:
        """Check that verdicts do not depend on the global random generators."""
        for case in CASES:
            verdicts = []
            for seed in (1, 2):
                with global_randomness(seed):
                    verdicts.append(str(self._verdict(case, 10, case.instance.means)))
            assert verdicts[1] == verdicts[0], f"a second verdict must be the same ({case.name})"

    def test_leads_by_chance_decide_nothing(self) -> None:
        """Check that leads more likely than delta between equal arms do not decide.

        This holds for rules that claim a guarantee, for 1 to a million measurements of every arm,
        and for a large and a small delta. The test detects rules with a wrong scale, rules that
        ignore delta, and rules that stop after a fixed number of measurements.
        """
        for case in TIED if self._is_guaranteed() else ():
            # With features, the data of the other arms affect the lead.
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
        """Check the error rate on equal arms, for rules that claim a guarantee.

        Each run tests the rule at 21 times, from 1 to a million measurements of every arm. Each of
        the two answers may have probability at most delta, because the slightest difference of the
        means makes one of them wrong.
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
    """Check that pair and statistic fit the decision; the engine checks that they are valid."""
    answer, pair = verdict.answer or (), verdict.pair
    assert pair is None or (pair[0] not in answer and pair[1] in answer), (
        f"the pair must be an arm outside the answer and one of it ({case.name}); got {pair}"
    )
    numbers = verdict.statistic, verdict.threshold
    assert not verdict.decided or np.isnan(numbers).any() or numbers[0] >= numbers[1], (
        f"the statistic must reach the threshold where a rule decides ({case.name}); got {numbers}"
    )
