"""The base of the suites, and the instances on which they test rules.

No two arms have the same numbers, except where arms are to be tied, so that no decision depends on
how a tie is broken. The first m arms are the m best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid.model import Instance, Model
from mislid.question import Question


class Suite:
    """Tests of one part: methods named `test_...`, which pytest collects from a subclass.

    Examples
    --------
    `check` runs them without pytest, for example in a notebook:

    >>> from mislid.testing import StoppingRuleSuite
    >>> class Never:
    ...     def judge(self, view):
    ...         return mislid.Verdict(False)
    >>> class TestNever(StoppingRuleSuite):
    ...     def stopping(self):
    ...         return Never()
    >>> import mislid
    >>> TestNever.check()
    Traceback (most recent call last):
    ...
    AssertionError: 1000000 measurements of every arm must decide (two arms)
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


class Case(NamedTuple):
    """An instance, and how many best arms are to be found.

    Attributes
    ----------
    name
        What is special about it.
    instance
        The truth.
    m
        How many.
    """

    name: str
    instance: Instance
    m: int

    def question(self, delta: float = 0.05) -> Question:
        """The question that a rule gets."""
        return Question(
            self.instance.model,
            self.m,
            noise=self.instance.noise,
            delta=delta,
            mean_bound=float(np.max(np.abs(self.instance.means))),
        )


def _case(
    name: str, m: int, features: ArrayLike, means: ArrayLike, eps: float, noise: ArrayLike
) -> Case:
    return Case(name, Instance(Model(features, eps), means, noise=noise), m)


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

# A lead that a short run cannot reveal.
_TINY = 1e-4


def _walls() -> Case:
    eps = 0.5
    slope = 0.5 * (eps - 0.5 * _TINY)
    features = [[1.0, 0.0], [1.0, 0.0], [-slope, 1.0], [slope, 1.0], [-1.0, 0.0]]
    means = [2.0 + eps, 2.0 - eps, 0.5 * _TINY, -0.5 * _TINY, -2.0]
    return _case("means at the largest deviation", 3, features, means, eps, 1.0)


# The first two arms fix one parameter, the next two the other, all at the largest deviation. The
# line puts the fourth arm above the third; only a tube as wide as declared allows the truth.
WALLS = _walls()

# The pair that decides is nearly tied: an answer that comes at all is wrong every other time, or
# always for a rule that misjudges what is special about the instance.
HARD = (
    _case("a tiny gap", 1, [[1.0], [1.0]], [_TINY, 0.0], math.inf, 1.0),
    _case(
        "a tiny gap and unequal noise",
        1,
        [[1.0, 0.3], [0.0, 1.0], [-1.0, 0.4]],
        [_TINY, 0.0, -3.0],
        1.5,
        [0.3, 3.0, 1.0],
    ),
    WALLS,
)

_PAIR = [[1.0], [1.0]]
_PLANE = [[1.0, 0.3], [0.3, 1.0], [-1.0, -1.0], [-0.5, 0.2]]

# The first two arms are equal, and all others far from them.
TIED = (
    _case("two equal arms", 1, _PAIR, [1.0, 1.0], math.inf, 1.0),
    _case("two equal arms of little noise", 1, _PAIR, [1.0, 1.0], math.inf, 0.03),
    _case("two equal arms of unequal noise", 1, _PAIR, [1.0, 1.0], math.inf, [5.0, 0.05]),
    _case("two equal linear arms", 1, _PLANE, [1.3, 1.3, -2.0, -0.3], 0.0, 0.3),
    _case("two equal arms near the line", 1, _PLANE, [1.5, 1.5, -2.0, -0.5], 0.5, 0.3),
)
