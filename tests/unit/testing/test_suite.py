"""Suites run without a test runner."""

import random
from unittest import SkipTest

import numpy as np
import pytest

from helpers.scripts import run_script
from mislid.testing import (
    EnvironmentSuite,
    SamplingRuleSuite,
    StoppingRuleSuite,
    StorageSuite,
    Suite,
)
from mislid.testing.suite import evidence_above_one, global_randomness, required_error


class Steps(Suite):
    """Two tests that note what happens; one fails."""

    happened: list[str] = []  # noqa: RUF012

    def setup_method(self) -> None:
        self.happened.append("set up")

    def teardown_method(self) -> None:
        self.happened.append("torn down")

    def test_good(self) -> None:
        self.happened.append("good")

    def test_bad(self) -> None:
        raise ValueError("no good")


def test_every_test_has_its_own_object_and_failures_are_told() -> None:
    Steps.happened.clear()
    assert list(Steps.failures()) == ["test_bad"]
    assert Steps.happened == ["set up", "good", "torn down", "set up", "torn down"]
    with pytest.raises(AssertionError, match=r"^test_bad: ValueError: no good$"):
        Steps.check()


def test_more_tests_may_be_added() -> None:
    class More(Steps):
        def test_bad(self) -> None:
            pass

        def test_third(self) -> None:
            pass

    assert More.list_tests() == ["test_good", "test_bad", "test_third"]
    assert More.check() == "3 tests passed"


def test_what_is_skipped_is_no_failure_and_says_why() -> None:
    class Skips(Suite):
        def test_good(self) -> None:
            pass

        def test_far(self) -> None:
            raise SkipTest("too far")

    assert Skips.failures() == {}
    assert Skips.check() == "1 tests passed, test_far skipped: too far"


def test_bets_on_numbers_of_mean_one_win_as_rarely_as_they_must() -> None:
    generator = np.random.default_rng(3)
    fair = [evidence_above_one(generator.standard_normal(300) - 0.5) for _ in range(1000)]
    assert np.mean(np.array(fair) > np.log(20.0)) <= 0.05
    better = [evidence_above_one(generator.standard_normal(300)) for _ in range(100)]
    assert min(better) > np.log(20.0)
    assert evidence_above_one(np.array([-np.inf, 800.0])) > 700.0


@pytest.mark.parametrize(
    ("suite", "method"),
    [
        (SamplingRuleSuite, "algorithm"),
        (StoppingRuleSuite, "stopping"),
        (EnvironmentSuite, "environment"),
        (StorageSuite, "open_storage"),
    ],
)
def test_what_must_be_overridden_is_named(suite: type[Suite], method: str) -> None:
    with pytest.raises(NotImplementedError, match=f"must override {method}$"):
        getattr(suite(), method)()


def test_errors_that_are_required() -> None:
    with required_error(ValueError, "no"):
        raise ValueError("no good")
    with pytest.raises(AssertionError, match="must say 'yes'"), required_error(ValueError, "yes"):
        raise ValueError("no good")
    with pytest.raises(AssertionError, match="must be raised"), required_error(ValueError):
        pass


def test_the_generators_of_the_process_are_put_back() -> None:
    def drawn() -> tuple[float, float]:
        return random.random(), float(np.random.random())  # noqa: NPY002

    with global_randomness(5):
        expected = drawn()
        with global_randomness(3):
            assert drawn() != expected
        again = drawn()
    with global_randomness(5):
        assert (drawn(), drawn()) == (expected, again)


def test_the_suites_need_neither_pytest_nor_what_is_heavy() -> None:
    heavy = ("pytest", "numba", "pandas", "sqlalchemy", "matplotlib")
    code = f"import sys, mislid.testing; print([one for one in {heavy} if one in sys.modules])"
    assert run_script(code) == ("[]\n", "")
