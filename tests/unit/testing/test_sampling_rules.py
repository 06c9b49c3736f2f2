"""The suite of sampling rules: all of the package pass it, and broken ones do not."""

from typing import Any

import numpy as np
import pytest

from helpers.suites import fails
from mislid.algorithms import ALGORITHMS
from mislid.engine import View
from mislid.question import Question
from mislid.testing import SamplingRuleSuite

# These draw arms, or challengers, at random; the oracle's allocation is solved to a tolerance only.
UNORDERED = {
    "mislid-paper",
    "mislid-authors",
    "mislid-authors-tricks",
    "mislid-authors-greedy",
    "oracle",
    "peps",
}


@pytest.mark.slow
class TestNamedRules(SamplingRuleSuite):
    @pytest.fixture(autouse=True, params=list(ALGORITHMS))
    def use(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param
        self.in_studies = self.name != "oracle"
        self.permutes = self.name not in UNORDERED

    def algorithm(self) -> str:
        return self.name

    def allows(self, question: Question) -> bool:
        return question.m == 1 or self.name != "lingame"


class LeastKnown:
    """The arm of the closest pair that was measured less often."""

    def propose(self, view: View) -> int:
        pair = view.closest_alternative.pair
        return int(min(pair, key=lambda arm: view.counts[arm]))


class TestPythonRule(SamplingRuleSuite):
    samples = None  # two arms may be all that it ever measures

    def algorithm(self) -> LeastKnown:
        return LeastKnown()


class Coin:
    """Arms at random, by the view's generator."""

    def propose(self, view: View) -> int:
        return int(view.rng.integers(view.question.K))


class BeyondTheLast(Coin):
    def propose(self, view: View) -> Any:
        return view.question.K


class GloballyRandom(Coin):
    def propose(self, view: View) -> int:
        return int(np.random.randint(view.question.K))  # noqa: NPY002


class CountsItsCalls(Coin):
    """Remembers for all objects how often it was asked."""

    calls = 0

    def propose(self, view: View) -> int:
        type(self).calls += 1
        return self.calls % view.question.K


class Stubborn(Coin):
    def propose(self, view: View) -> int:
        return 0


BROKEN = {
    BeyondTheLast: "test_a_run_depends_on_its_seed_alone",
    GloballyRandom: "test_a_run_depends_on_its_seed_alone",
    CountsItsCalls: "test_a_study_goes_on_elsewhere_with_the_same_choices",
    Stubborn: "test_permuted_arms_are_chosen_alike",
}


@pytest.mark.parametrize(("rule", "test"), BROKEN.items(), ids=[rule.__name__ for rule in BROKEN])
def test_broken_rules_are_caught(rule: type[Coin], test: str) -> None:
    class Broken(SamplingRuleSuite):
        def algorithm(self) -> Coin:
            return rule()

    assert fails(Broken, test)


def test_a_rule_that_never_gets_to_an_answer_is_caught() -> None:
    class Endless(SamplingRuleSuite):
        permutes = False
        samples = 500

        def algorithm(self) -> Stubborn:
            return Stubborn()

    assert fails(Endless, "test_an_easy_question_is_answered")
