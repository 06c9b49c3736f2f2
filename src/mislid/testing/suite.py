"""The base of the suites, and statistics that several of them use."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from mislid._validation import Vector

if TYPE_CHECKING:
    from mislid.engine import Engine, View

# Correct parts fail a statistical test with at most this probability.
LEVEL = 1e-4
# From almost all of the capital to what is left after losing some ten thousand times.
_STAKES = 0.9 * 10.0 ** (-0.5 * np.arange(10))


class Suite:
    """Tests of one part: methods named `test_...`, which pytest collects from a subclass.

    Examples
    --------
    `check` runs them where there is no pytest, as in a notebook:

    >>> from mislid.simulation import Gaussian
    >>> from mislid.testing import EnvironmentSuite
    >>> class Generous(Gaussian):
    ...     def sample(self, arm, size, generator):
    ...         return 0.1 + super().sample(arm, size, generator)
    >>> class TestGenerous(EnvironmentSuite):
    ...     def environment(self):
    ...         return Generous([0.2, 0.5])
    >>> TestGenerous.check()
    Traceback (most recent call last):
    ...
    AssertionError: rewards of arm 0 must be sub-Gaussian with the declared noise 1; they ...
    """

    def setup_method(self) -> None:
        """Prepare one test."""

    def teardown_method(self) -> None:
        """Clean up after it."""

    @classmethod
    def check(cls) -> None:
        """Run all tests, each on a new object, up to the first that fails.

        Raises
        ------
        AssertionError
            If one fails.
        """
        for name in filter(lambda name: name.startswith("test_"), dir(cls)):
            suite = cls()
            suite.setup_method()
            try:
                getattr(suite, name)()
            finally:
                suite.teardown_method()


def evidence_above_one(logs: Vector) -> float:
    """Evidence that nonnegative numbers have a mean above 1, from their logarithms (n,).

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
def unchanged_data(engine: Engine) -> Iterator[View]:
    """Fail if the block changes what was measured, in the engine or in a rule's view of it."""
    names = ("counts", "means", "estimate")
    view = engine.view()
    before = {name: getattr(view, name).tolist() for name in names}
    yield view
    for after in (view, engine.view()):
        for name in names:
            assert getattr(after, name).tolist() == before[name], f"a rule must not change {name}"
