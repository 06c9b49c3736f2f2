"""Instances on which a careless stopping rule errs, each for another reason.

The first m arms are the m best. Where the gap is tiny, an answer that comes at all is a toss of a
coin, so that a rule that keeps its promise exhausts the budget of nearly every run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mislid import Instance, Model

# A lead that no budget here can reveal.
TINY = 1e-4


@dataclass(frozen=True)
class Hard:
    """An instance, the number m of best arms, why it is hard, and when a run gives up.

    `understated` is by how much the noise must be understated for wrong answers to come often.
    """

    instance: Instance
    m: int
    reason: str
    budget: int
    tolerance: float = 0.0
    understated: float = 4.0


def _instance(
    features: ArrayLike, means: ArrayLike, eps: float, noise: ArrayLike = 1.0
) -> Instance:
    return Instance(Model(features, eps), means, noise=noise)


def raised_arm() -> Instance:
    """As the published A_eps5: linear means, but the fourth best of ten is raised by five.

    Regression spreads the lift over all arms. The declared misspecification is the lift.
    """
    features = [
        [0.69, -0.22, -0.01, 0.35, -0.88],
        [0.11, -0.46, 0.76, -0.87, 0.36],
        [0.41, -1, 0.01, -0.13, -0.59],
        [0.74, -0.55, 0.79, 0.74, -0.96],
        [0.61, 0.62, 0.03, -0.43, -0.89],
        [0.01, 0.01, -0.53, -0.97, 0.87],
        [-0.23, -0.18, -0.91, -0.9, 1],
        [0.3, -0.53, -0.13, 0.95, 0.8],
        [-0.35, 0.61, -0.37, -0.7, 0.4],
        [-0.1, 0.6, -0.53, -0.36, 0.6],
    ]
    means = np.array(features) @ [1.0, -1.2, 0.7, -1.1, -0.3]
    means[0] += 5.0
    return _instance(features, means, 5.0)


def _tied(eps: float) -> Hard:
    """Every arm has its own dimension: only measurements of two arms tell which is ahead."""
    features = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]
    means = [2.0, 0.5 * TINY, -0.5 * TINY, -2.0]
    return Hard(_instance(features, means, eps), 2, "the gap is tiny", 800)


def _many() -> Hard:
    """Forty arms: everything that is paid for by arm or by pair is dear, one pair is tied."""
    levels = np.repeat([2.0, 0.0, -2.0], [9, 2, 29])
    levels[9] = TINY
    others = np.random.default_rng(40).normal(size=(40, 4))
    deviation = np.where(np.arange(40) % 2 == 0, 0.1, -0.1)
    deviation[9:11] = 0.0
    features = np.column_stack([levels, others])
    instance = _instance(features, levels + deviation, 0.1)
    return Hard(instance, 10, "there are 40 arms", 500, understated=8.0)


def _one_best() -> Hard:
    """The best arm leads four others by a hair: most wrong answers are as good as the right one."""
    features = [[1.0, 0.2], [1.0, -0.2], [0.8, 0.5], [0.9, -0.6], [0.7, 0.7], [-1.0, 0.1]]
    means = [1.0 + TINY, 1.0, 1.0, 1.0, 1.0, -1.0]
    return Hard(_instance(features, means, 0.6), 1, "one best arm", 800)


def _unequal_noise() -> Hard:
    """The noisy arm of the tied pair misleads a rule that takes all arms for equally noisy."""
    features = [[1.0, 0.0, 0.3], [0.0, 1.0, 0.0], [0.2, 0.0, 1.0], [-1.0, 0.4, 0.0]]
    means = [3.0, TINY, 0.0, -3.0]
    noise = [0.5, 0.3, 3.0, 1.0]
    return Hard(_instance(features, means, 1.5, noise), 2, "noises differ by ten", 1200)


def _beyond_the_tolerance() -> Hard:
    """An arm that is worse by a hair more than the tolerance is a wrong answer."""
    features = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]
    means = [0.5 + TINY, 0.0, -1.0]
    return Hard(_instance(features, means, 0.6), 1, "a gap just over the tolerance", 800, 0.5)


def _walls() -> Hard:
    """The first two arms fix one parameter, the next two the other, all at the largest deviation.

    The line puts the fourth arm above the third; only a tube as wide as declared allows the truth.
    """
    eps = 0.5
    slope = 0.5 * (eps - 0.5 * TINY)
    features = [[1.0, 0.0], [1.0, 0.0], [-slope, 1.0], [slope, 1.0], [-1.0, 0.0]]
    means = [2.0 + eps, 2.0 - eps, 0.5 * TINY, -0.5 * TINY, -2.0]
    return Hard(_instance(features, means, eps), 3, "the truth is on the tube's boundary", 1200)


HARD = {
    "raised": Hard(raised_arm(), 3, "misspecified so that LinGapE fails", 1500, understated=8.0),
    "tied": _tied(0.1),
    "tied, linear": _tied(0.0),
    "tied, no structure": _tied(math.inf),
    "walls": _walls(),
    "many": _many(),
    "one best": _one_best(),
    "noises": _unequal_noise(),
    "tolerance": _beyond_the_tolerance(),
}
