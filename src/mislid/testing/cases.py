"""Small instances on which rules are tested.

No two arms have the same numbers, so that no decision hangs on how a tie is broken. The first m
arms are the m best.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid.model import Instance, Model
from mislid.question import Question

# A lead that a short run cannot reveal.
_TINY = 1e-4


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
        """What a rule is asked."""
        return Question(
            self.instance.model,
            self.m,
            noise=self.instance.noise,
            delta=delta,
            mean_bound=float(np.max(np.abs(self.instance.means))),
        )


def new_case(
    name: str, m: int, features: ArrayLike, means: ArrayLike, eps: float, noise: ArrayLike
) -> Case:
    """A case, from numbers; `eps` is the misspecification."""
    return Case(name, Instance(Model(features, eps), means, noise=noise), m)


_FEATURES = np.array(
    [[0.93, -0.21], [0.41, 0.77], [0.17, -0.29], [-0.34, 0.38], [-0.47, -0.62], [-0.71, 0.19]]
)
_MEANS = np.array([1.02, 0.63, 0.11, -0.28, -0.57, -0.74])
_NOISE = np.array([0.731, 0.547, 0.613, 0.689, 0.571, 0.653])

CASES = (
    new_case("two arms", 1, [[1.3], [0.4]], [0.9, 0.2], 0.3, [0.61, 0.47]),
    new_case("all arms but one", 4, _FEATURES[:5], _MEANS[:5], 0.5, _NOISE[:5]),
    new_case("unequal noise", 2, _FEATURES, _MEANS, 0.5, [0.1, 0.9, 0.2, 0.5, 1.1, 0.3]),
    new_case("one best arm", 1, _FEATURES[:4], _MEANS[:4], 0.5, _NOISE[:4]),
    new_case("any means", 1, _FEATURES[:4], _MEANS[:4], math.inf, _NOISE[:4]),
    new_case("linear means", 2, _FEATURES, _FEATURES @ [0.9, 0.31], 0.0, _NOISE),
)

# The gap is three times the noise: a few measurements of every arm tell who is best, one does not.
# Means are linear, so that rules which trust that get to the answer as well.
EASY = new_case(
    "easy", 1, _FEATURES[:4], _FEATURES[:4] @ [2.0, -1.0], 0.1, [0.51, 0.49, 0.53, 0.54]
)


def _walls() -> Case:
    eps = 0.5
    slope = 0.5 * (eps - 0.5 * _TINY)
    features = [[1.0, 0.0], [1.0, 0.0], [-slope, 1.0], [slope, 1.0], [-1.0, 0.0]]
    means = [2.0 + eps, 2.0 - eps, 0.5 * _TINY, -0.5 * _TINY, -2.0]
    return new_case("means at the largest deviation", 3, features, means, eps, 1.0)


# The first two arms fix one parameter, the next two the other, all at the largest deviation. The
# line puts the fourth arm above the third; only a tube as wide as declared allows the truth.
WALLS = _walls()

# The pair that decides is nearly tied: an answer that comes at all is wrong every other time, or
# always for a rule that misjudges what is special about the instance.
HARD = (
    new_case("a tiny gap", 1, [[1.0], [1.0]], [_TINY, 0.0], math.inf, 1.0),
    new_case(
        "a tiny gap and unequal noise",
        1,
        [[1.0, 0.3], [0.0, 1.0], [-1.0, 0.4]],
        [_TINY, 0.0, -3.0],
        1.5,
        [0.3, 3.0, 1.0],
    ),
    WALLS,
)
