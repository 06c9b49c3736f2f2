"""What the suites share: tests that need no test runner, though pytest runs them too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

import numpy as np

from mislid._validation import Vector

if TYPE_CHECKING:
    from mislid.engine import Engine, View

# Correct parts fail a statistical test with at most this probability.
LEVEL = 1e-4
# From almost all of the capital to what is left after losing some ten thousand times.
_STAKES = 0.9 * 10.0 ** (-0.5 * np.arange(10))


class Suite:
    """Tests of one part: the methods whose names begin with `test_`.

    Each test gets an object of its own, between `setup_method` and `teardown_method`, as in pytest.
    One that does not apply to a part raises `unittest.SkipTest` with the reason, which pytest knows
    too.

    Examples
    --------
    A suite finds the mistake in an environment whose rewards are too large:

    >>> from mislid.simulation import Gaussian
    >>> from mislid.testing import EnvironmentSuite
    >>> class Generous(Gaussian):
    ...     def sample(self, arm, size, generator):
    ...         return 0.1 + super().sample(arm, size, generator)
    >>> class TestGenerous(EnvironmentSuite):
    ...     def environment(self):
    ...         return Generous([0.2, 0.5])
    >>> len(TestGenerous.list_tests())
    4
    >>> for name, problem in TestGenerous.failures().items():
    ...     print(f"{name}: {problem}")
    test_rewards_have_the_declared_means: the mean of arm 0 must be 0.2 up to ...; got 0...
    """

    def setup_method(self) -> None:
        """Prepare one test."""

    def teardown_method(self) -> None:
        """Clean up after it."""

    @classmethod
    def list_tests(cls) -> list[str]:
        """The names of the tests.

        Returns
        -------
        list of str
            In the order of the source.
        """
        classes = reversed(cls.__mro__)
        names = (name for owner in classes for name in vars(owner) if name.startswith("test_"))
        return list(dict.fromkeys(names))

    @classmethod
    def failures(cls) -> dict[str, Exception]:
        """Run all tests.

        Returns
        -------
        dict
            What went wrong, by the name of the test; empty where nothing did. Tests that were
            skipped are not in it.
        """
        found = cls._problems()
        return {name: one for name, one in found.items() if not isinstance(one, SkipTest)}

    @classmethod
    def _problems(cls) -> dict[str, Exception]:
        """What kept tests from passing, by their names."""
        found = {}
        for name in cls.list_tests():
            try:
                cls._run(name)
            except Exception as problem:  # noqa: BLE001 - whatever fails, the others are run too
                found[name] = problem
        return found

    @classmethod
    def _run(cls, name: str) -> None:
        suite = cls()
        suite.setup_method()
        try:
            getattr(suite, name)()
        finally:
            suite.teardown_method()

    @classmethod
    def check(cls) -> str:
        """Run all tests.

        Returns
        -------
        str
            How many passed, and which were skipped and why.

        Raises
        ------
        AssertionError
            If any failed; the message has one line for each.
        """
        problems = cls._problems()
        failed, skipped = [], []
        for name, problem in problems.items():
            if isinstance(problem, SkipTest):
                skipped.append(f", {name} skipped: {problem}")
            else:
                failed.append(f"{name}: {type(problem).__name__}: {problem}")
        if failed:
            raise AssertionError("\n".join(failed))
        return f"{len(cls.list_tests()) - len(skipped)} tests passed{''.join(skipped)}"


def require(condition: object, message: str) -> None:
    """Fail unless the condition holds; also where Python ignores `assert`."""
    if not condition:
        raise AssertionError(message)


def require_equal(found: Any, expected: Any, what: str) -> None:
    """Fail unless both are equal."""
    require(found == expected, f"{what} must be {expected!r}; got {found!r}")


def evidence_above_one(logs: Vector) -> float:
    """How surely numbers that are not negative have a mean above 1, from their logarithms (n,).

    It is the logarithm of what is won by bets on them: a share s of the capital, staked on x, turns
    1 into 1 - s + s x. Where each x has at most the mean 1, whatever came before, so has the final
    capital, and it is above 1 / level with at most the probability `level` (Markov). The bets are
    averaged over stakes.

    Examples
    --------
    >>> fair, better = np.log([0.5, 1.5] * 50), np.log([0.5, 2.5] * 50)
    >>> evidence_above_one(fair) < 0.0, evidence_above_one(better) > 9.0
    (True, True)
    """
    stakes = _STAKES[:, None]
    gains = np.logaddexp(np.log1p(-stakes), np.log(stakes) + logs).sum(axis=1)
    return float(np.logaddexp.reduce(gains) - np.log(_STAKES.size))


@contextmanager
def required_error(kind: type[Exception], part: str = "") -> Iterator[None]:
    """Fail unless the block raises an error of this kind."""
    try:
        yield
    except kind as problem:
        require(part in str(problem), f"{kind.__name__} must say {part!r}; it says {problem}")
    else:
        require(False, f"{kind.__name__} must be raised, and was not")


@contextmanager
def global_randomness(seed: int) -> Iterator[None]:
    """Seed the generators that a whole process shares, and put them back at the end."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - rules may use it, though they should not
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def unchanged_data(engine: Engine, what: str) -> Iterator[View]:
    """Fail if the block changes what was measured."""
    view, names = engine.view(), ("counts", "means", "estimate")
    before = {name: getattr(view, name).tolist() for name in names}
    yield view
    for place, after in (("the view", view), ("the engine", engine.view())):
        for name in names:
            require_equal(getattr(after, name).tolist(), before[name], f"{name} of {place} {what}")
