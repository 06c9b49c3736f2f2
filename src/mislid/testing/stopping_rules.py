"""Tests of stopping rules, named or written in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mislid.engine import Engine, Verdict
from mislid.simulation.identify import identify
from mislid.stopping.rules import as_stopping_rule
from mislid.testing.cases import CASES, HARD, Case
from mislid.testing.suite import (
    LEVEL,
    Suite,
    evidence_above_one,
    global_randomness,
    unchanged_data,
)
from mislid.testing.ties import TIED, wrong_answers

# A proof holds for any sampling rule: an eager one and a blind one.
_SAMPLING = ("mislid", "uniform")
# Of runs with equal arms: looking often shows at large error rates, a wrong scale at small ones.
_DELTAS = (0.05, 1e-6)


class StoppingRuleSuite(Suite):
    """Tests of a stopping rule; override `stopping`.

    Attributes
    ----------
    runs, samples, delta
        Number of runs on each hard instance, measurements after which a run gives up, and error
        rate: the test of a rule that claims to be guaranteed. The smaller delta is, the fewer wrong
        answers give a false claim away.
    tied_runs
        Number of runs on each instance with two equal arms, for such a rule, to a million
        measurements of every arm. With 100, one that is wrong ten times as often there as it claims
        is caught, and mostly one that is so five times.

    Examples
    --------
    >>> class TestGuaranteed(StoppingRuleSuite):
    ...     def stopping(self):
    ...         return "guaranteed"
    """

    runs: int = 30
    samples: int = 200
    delta: float = 1e-3
    tied_runs: int = 100

    def stopping(self) -> Any:
        """The rule that is tested.

        Returns
        -------
        str or object
            What `identify` takes as `stopping`.
        """
        raise NotImplementedError("a suite for stopping rules must override stopping")

    def _verdict(self, case: Case, counts: ArrayLike, means: ArrayLike) -> Verdict:
        engine = self._engine(case, counts, means)
        return engine.judge(test=True)

    def _engine(self, case: Case, counts: ArrayLike, means: ArrayLike) -> Engine:
        engine = Engine(case.question(), "uniform", self.stopping())
        numbers = np.broadcast_to(counts, case.instance.K)
        engine.reset(numbers, numbers * np.asarray(means))
        return engine

    def test_it_gives_verdicts(self) -> None:
        """With arms that there are, from the first measurements to the thousandth."""
        for case in CASES:
            for count in (1, 3, 10, 100, 1000):
                _require_verdict(self._verdict(case, count, case.instance.means), case)

    def test_nothing_is_decided_without_data(self) -> None:
        """Before the first measurement."""
        for case in CASES:
            assert not self._verdict(case, 0, 0.0).decided, f"nothing is measured ({case.name})"

    def test_ties_are_not_decided(self) -> None:
        """Few measurements with the same mean say nothing about who is best."""
        for case in CASES:
            for count in (1, 2, 5, 20):
                self._require_open(case, count)

    def test_ties_are_never_decided_by_a_guaranteed_rule(self) -> None:
        """However many measurements there are, to a million of every arm."""
        for case in (*CASES, *TIED) if self._is_guaranteed() else ():
            uneven = 1 + np.arange(case.instance.K) % 3
            for count in 10 ** np.arange(7):
                self._require_open(case, count)
                self._require_open(case, count * uneven)

    def _require_open(self, case: Case, counts: ArrayLike) -> None:
        assert not self._verdict(case, counts, 0.0).decided, (
            f"{counts!r} measurements of every arm, all 0, must decide nothing ({case.name})"
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

    def test_a_verdict_changes_no_data(self) -> None:
        """Neither those of the engine nor those of the view that a rule gets."""
        for case in CASES:
            engine = self._engine(case, 10, case.instance.means)
            engine.judge(test=False)
            with unchanged_data(engine) as view:
                if engine.stopping.judge is not None:
                    engine.stopping.judge(view)
                else:
                    engine.judge(test=True)

    def test_wrong_answers_are_as_rare_as_promised(self) -> None:
        """For rules that claim a guarantee: a binomial test on hard instances."""
        from scipy.stats import binomtest

        for case in HARD if self._is_guaranteed() else ():
            wrong = sum(self._is_wrong(case, number) for number in range(self.runs))
            test = binomtest(wrong, self.runs, self.delta, alternative="greater")
            assert test.pvalue >= LEVEL, (
                f"a guaranteed rule must be wrong in at most a share {self.delta:g} of runs; "
                f"it was wrong in {wrong} of {self.runs} ({case.name})"
            )

    def test_equal_arms_are_decided_as_rarely_as_promised(self) -> None:
        """For rules that claim a guarantee: asked at 21 times, from 1 measurement to a million.

        With little, much and unequal noise, and with features. The test is a bet on the weights of
        wrong answers; `mislid.testing.ties` says what they are.
        """
        enough = math.log(len(TIED) * len(_DELTAS) / LEVEL)
        for case in TIED if self._is_guaranteed() else ():
            for delta in _DELTAS:
                logs = wrong_answers(case, delta, self.stopping, self.tied_runs)
                assert evidence_above_one(logs - math.log(delta)) < enough, (
                    f"a guaranteed rule must be wrong with at most probability {delta:g}; "
                    f"{self.tied_runs} runs put it at about {np.exp(logs).mean():.2g} ({case.name})"
                )

    def _is_guaranteed(self) -> bool:
        return as_stopping_rule(self.stopping()).guaranteed

    def _is_wrong(self, case: Case, number: int) -> bool:
        found = identify(
            case.instance,
            case.m,
            delta=self.delta,
            algorithm=_SAMPLING[number % len(_SAMPLING)],
            stopping=self.stopping(),
            seed=number,
            max_samples=self.samples,
        )
        return found.correct is False


def _require_verdict(verdict: Verdict, case: Case) -> None:
    """Require that a verdict names arms that there are, in their roles."""
    arms = set(range(case.instance.K))
    answer, pair = verdict.answer or (), verdict.pair
    assert isinstance(verdict.decided, bool | np.bool), "decided must be True or False"
    assert len(answer) == len(set(answer) & arms) == case.m, (
        f"the answer must be {case.m} different arms ({case.name}); got {answer}"
    )
    assert pair is None or (pair[0] in arms - set(answer) and pair[1] in answer), (
        f"the pair must be an arm outside the answer and one of it ({case.name}); got {pair}"
    )
    numbers = verdict.statistic, verdict.threshold
    assert not verdict.decided or np.isnan(numbers).any() or numbers[0] >= numbers[1], (
        f"the statistic must reach the threshold where a rule decides ({case.name}); got {numbers}"
    )
