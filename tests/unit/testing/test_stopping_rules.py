"""The suite of stopping rules: all of the package pass it, and broken ones do not."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from helpers.suites import fails
from mislid.engine import Verdict, View
from mislid.stopping.rules import STOPPING_RULES
from mislid.testing import StoppingRuleSuite


@pytest.mark.slow
class TestNamedRules(StoppingRuleSuite):
    @pytest.fixture(autouse=True, params=list(STOPPING_RULES))
    def use(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def stopping(self) -> str:
        return self.name


class Pairs:
    """Hoeffding's inequality for all pairs at all times; docs/extending.md has the proof."""

    guaranteed = True

    def judge(self, view: View) -> Verdict:
        if view.counts.min() == 0:
            return Verdict(False)
        answer = np.argsort(-view.means, kind="stable")[: view.question.m]
        rest = np.setdiff1d(np.arange(view.question.K), answer)
        pairs = len(answer) * len(rest)
        spread = 1.0 / view.weights
        gaps = view.means[answer, None] - view.means[rest]
        variances = spread[answer, None] + spread[rest]
        evidence = np.where(gaps > 0.0, gaps, 0.0) ** 2 / (2.0 * variances)
        worst = np.unravel_index(np.argmin(evidence), evidence.shape)
        threshold = math.log(pairs * view.samples**3 / (2.0 * view.question.delta))
        return Verdict(
            bool(evidence[worst] >= threshold),
            float(evidence[worst]),
            threshold,
            (int(rest[worst[1]]), int(answer[worst[0]])),
            tuple(int(arm) for arm in answer),
        )


@pytest.mark.slow
class TestPythonRule(StoppingRuleSuite):
    def stopping(self) -> Pairs:
        return Pairs()


class AtOnce:
    """Stops as soon as it is asked, and promises to be right."""

    guaranteed = True

    def judge(self, view: View) -> Verdict:
        return Verdict(True)


class Eager(Pairs):
    """Asks for too little evidence."""

    def judge(self, view: View) -> Verdict:
        verdict = super().judge(view)
        return Verdict(verdict.statistic > 2.0, verdict.statistic, 2.0, verdict.pair)


class Waits:
    """Stops after so many measurements, whatever they say."""

    guaranteed, number = True, 1_000

    def judge(self, view: View) -> Verdict:
        return Verdict(view.samples >= self.number)


class IgnoresDelta(Pairs):
    """Proves what it decides at an error rate of 5%, whatever was asked."""

    def judge(self, view: View) -> Verdict:
        question = view.question.replace(delta=0.05)
        return super().judge(
            View(question, view.samples, view.counts, view.means, view.estimate, (), (0, 0))
        )


class LooksAgain(Pairs):
    """A test for one look at the two arms at the border, at every look."""

    def judge(self, view: View) -> Verdict:
        if view.counts.min() == 0:
            return Verdict(False)
        order = np.argsort(-view.means, kind="stable")
        m = view.question.m
        variance = float((1.0 / view.weights)[order[m - 1 : m + 1]].sum())
        lead = float(view.means[order[m - 1]] - view.means[order[m]]) / math.sqrt(variance)
        answer = tuple(int(arm) for arm in order[:m])
        enough = NormalDist().inv_cdf(1.0 - 0.5 * view.question.delta)
        return Verdict(lead >= enough, lead, enough, (int(order[m]), answer[-1]), answer)


class VarianceForDeviation(Pairs):
    """Takes the noise for its square."""

    def judge(self, view: View) -> Verdict:
        question = view.question.replace(noise=view.question.noise**2)
        return super().judge(
            View(question, view.samples, view.counts, view.means, view.estimate, (), (0, 0))
        )


class Unproven:
    """Promises nothing, so that no errors are counted."""

    def judge(self, view: View) -> Verdict:
        return Verdict(False)


class GloballyRandom(Unproven):
    def judge(self, view: View) -> Verdict:
        return Verdict(False, statistic=float(np.random.random()))  # noqa: NPY002


class BelowItsThreshold(Unproven):
    def judge(self, view: View) -> Verdict:
        return Verdict(view.samples > 1000, statistic=1.0, threshold=2.0)


CHANCE = "test_leads_by_chance_decide_nothing"
EQUAL = "test_equal_arms_are_decided_as_rarely_as_promised"
BROKEN = [
    (AtOnce, "test_ties_are_not_decided"),
    (AtOnce, CHANCE),
    (AtOnce, EQUAL),
    (GloballyRandom, "test_the_same_data_give_the_same_verdict"),
    (Unproven, "test_clear_data_are_decided"),
    (BelowItsThreshold, "test_it_gives_verdicts"),
]
UNSOUND = [
    (Eager, EQUAL),
    (Waits, CHANCE),
    (IgnoresDelta, CHANCE),
    (LooksAgain, EQUAL),
    (VarianceForDeviation, CHANCE),
    (VarianceForDeviation, EQUAL),
]


def suite_of(rule: type) -> type[StoppingRuleSuite]:
    class Broken(StoppingRuleSuite):
        def stopping(self) -> object:
            return rule()

    return Broken


@pytest.mark.parametrize(("rule", "test"), BROKEN)
def test_broken_rules_are_caught(rule: type, test: str) -> None:
    assert fails(suite_of(rule), test)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "test"), UNSOUND)
def test_false_promises_are_caught(rule: type, test: str) -> None:
    assert fails(suite_of(rule), test)


@pytest.mark.parametrize("test", [CHANCE, EQUAL])
def test_without_a_promise_errors_are_not_counted(test: str) -> None:
    class Modest(AtOnce):
        guaranteed = False

    assert not fails(suite_of(Modest), test)
