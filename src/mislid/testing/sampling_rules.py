"""Tests of sampling rules, named, composed or written in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mislid._validation import Vector
from mislid.engine import Engine
from mislid.model import Instance, Model
from mislid.question import Question
from mislid.simulation.environments import Environment
from mislid.simulation.identify import Identification, identify
from mislid.testing.cases import CASES, EASY, Case
from mislid.testing.suite import Suite, global_randomness, unchanged_data

# Long enough for exploration to begin, and so sure that no run stops before.
_SAMPLES, _DELTA = 60, 1e-12


@dataclass(frozen=True, eq=False)
class _Recorder(Environment):
    """Normal rewards, and what was drawn."""

    arms: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)

    def sample(self, arm: int, size: int, generator: np.random.Generator) -> Vector:
        drawn: Vector = self.means[arm] + self.noise[arm] * generator.standard_normal(size)
        self.arms.extend([arm] * size)
        self.rewards.extend(drawn.tolist())
        return drawn


class SamplingRuleSuite(Suite):
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

    def _recorded(self, case: Case) -> _Recorder:
        recorder = _Recorder(case.instance.means, case.instance.noise)
        self._identify(case, environment=recorder)
        return recorder

    def _identify(self, case: Case, **options: Any) -> Identification:
        return identify(
            case.instance,
            case.m,
            delta=_DELTA,
            algorithm=self.algorithm(),
            seed=0,
            max_samples=_SAMPLES,
            **options,
        )

    def _engine(self, instance: Instance, m: int, **options: Any) -> Engine:
        question = Case("", instance, m).question(_DELTA)
        return Engine(question, self.algorithm(), truth=instance, **options)

    def test_it_proposes_arms(self) -> None:
        """For two arms, m = K - 1, unequal noise, no and infinite misspecification."""
        for case in self._cases():
            arms = self._recorded(case).arms
            assert len(arms) == _SAMPLES, f"{_SAMPLES} measurements must be made ({case.name})"
            _require_arms(arms, case)

    def test_arms_that_were_never_measured_do_no_harm(self) -> None:
        """A first design need not have all arms."""
        for case in self._cases():
            engine = self._engine(case.instance, case.m, every_arm=False)
            for arm in engine.design:
                engine.observe(int(arm), float(case.instance.means[arm]))
            for _ in range(_SAMPLES):
                if not engine.is_midround:
                    engine.judge(test=False)
                arm = engine.propose()
                _require_arms([arm], case)
                engine.observe(arm, float(case.instance.means[arm]))

    def test_the_same_seed_gives_the_same_run(self) -> None:
        """Randomness comes from the view alone, not from what a process shares."""
        for case in self._cases():
            runs = []
            for seed in (1, 2):
                with global_randomness(seed):
                    runs.append(self._recorded(case).arms)
            assert runs[1] == runs[0], f"a repeated run must choose the same arms ({case.name})"

    def test_pauses_and_callbacks_change_nothing(self) -> None:
        """Someone who watches a run, or stops it to look, sees the same run."""
        for case in self._cases():
            calls: list[Any] = []
            whole = self._identify(case)
            watched = self._identify(case, callback=calls.append, every=7)
            assert len(calls) > 2, "the callback must be called"
            for name in ("counts", "means"):
                assert np.array_equal(getattr(watched, name), getattr(whole, name)), (
                    f"a watched run must have the same {name} ({case.name})"
                )

    def test_a_study_makes_the_same_choices(self) -> None:
        """It is told the rewards of a simulation, one by one."""
        for case in self._cases() if self.in_studies else ():
            run = self._recorded(case)
            study = self._study(case)
            for number, (arm, reward) in enumerate(zip(run.arms, run.rewards, strict=True)):
                trial = study.ask()
                assert trial.arm == arm, f"trial {number} must be of arm {arm} ({case.name})"
                study.tell(trial, reward)

    def _study(self, case: Case, **options: Any) -> Any:
        from mislid.study import create_study

        question = case.question(_DELTA)
        return create_study(
            candidates=question.model.features,
            intercept=False,
            misspecification=question.model.misspecification,
            noise=question.noise,
            m=question.m,
            delta=question.delta,
            mean_bound=question.mean_bound,
            algorithm=self.algorithm(),
            seed=0,
            **options,
        )

    def test_a_study_goes_on_elsewhere_with_the_same_choices(self) -> None:
        """Another process reads the log, with open trials, and chooses what this one would."""
        from mislid.study import copy_study, load_study
        from mislid.study.storage import MemoryStorage

        rule = self.algorithm()
        given = {} if isinstance(rule, str) else {"algorithm": rule}
        for case in self._cases() if self.in_studies else ():
            here, there = MemoryStorage(), MemoryStorage()
            study = self._study(case, storage=here)
            for number in range(8):
                trials = study.ask(3)
                for trial in (trials[2], trials[0]):
                    study.tell(trial, float(case.instance.means[trial.arm]))
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
            K, instance = case.instance.K, case.instance
            for _ in range(10):
                order = generator.permutation(K)
                counts = 5 + generator.permutation(3 * K)[:K]
                deviations = instance.noise * generator.standard_normal(K)
                sums = counts * (instance.means + deviations / np.sqrt(counts))
                arm = self._choice(instance, case.m, counts, sums)
                permuted = _permuted(instance, order)
                other = self._choice(permuted, case.m, counts[order], sums[order])
                assert order[other] == arm, (
                    f"arm {arm} must be chosen in any order ({case.name}); got {order[other]}"
                )

    def _choice(self, instance: Instance, m: int, counts: Any, sums: Any) -> int:
        engine = self._engine(instance, m)
        engine.reset(counts, sums)
        engine.judge(test=False)
        return engine.propose()

    def test_a_proposal_changes_no_data(self) -> None:
        """Neither those of the engine nor those of the view that a rule gets."""
        for case in self._cases():
            engine = self._engine(case.instance, case.m)
            engine.reset(np.arange(1, case.instance.K + 1), case.instance.means)
            engine.judge(test=False)
            with unchanged_data(engine) as view:
                if hasattr(engine.algorithm, "propose"):
                    engine.algorithm.propose(view)
                else:
                    engine.propose()

    def test_an_easy_question_is_answered(self) -> None:
        """Within the number of `samples`, and correctly."""
        if self.samples is None or not self.allows(EASY.question()):
            return
        for seed in range(3):
            found = identify(
                EASY.instance,
                EASY.m,
                algorithm=self.algorithm(),
                seed=seed,
                max_samples=self.samples,
            )
            assert found.status == "stopped", (
                f"a run must stop within {self.samples} samples; its status is {found.status!r}"
            )
            assert found.correct, "the answer must be correct"


def _require_arms(arms: list[int], case: Case) -> None:
    K = case.instance.K
    assert all(0 <= arm < K for arm in arms), f"arms must be 0 to {K - 1} ({case.name}); got {arms}"


def _permuted(instance: Instance, order: Any) -> Instance:
    model = instance.model
    return Instance(
        Model(model.features[order], model.misspecification),
        instance.means[order],
        noise=instance.noise[order],
    )
