"""Three small questions on which every algorithm runs with every stopping rule.

Numbers are generic: no two arms have the same noise, so that no decision is a tie that rounding
would break differently on another machine.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mislid import Instance, Model
from mislid.algorithms import ALGORITHMS
from mislid.stopping.rules import STOPPING_RULES


class Small(NamedTuple):
    """An instance and how many best arms to find."""

    instance: Instance
    m: int

    def allows(self, algorithm: str) -> bool:
        """Whether the algorithm is made for this; LinGame knows one best arm only."""
        return self.m == 1 or algorithm != "lingame"


_FEATURES = [
    [0.93, -0.21, 0.37],
    [-0.34, 0.88, 0.12],
    [0.17, 0.29, -0.91],
    [0.68, 0.53, -0.26],
    [-0.47, -0.62, 0.55],
    [-0.71, 0.19, -0.43],
]
_NOISE = [0.731, 0.547, 0.613, 0.689, 0.571, 0.653]

SMALL = {
    "tube": Small(
        Instance(Model(_FEATURES, 0.5), [1.02, 0.73, -0.11, 0.08, -0.57, -0.94], noise=_NOISE), 2
    ),
    "line": Small(
        Instance(
            Model([row[:2] for row in _FEATURES[:5]], 0.0),
            [row[0] * 0.7 - row[1] * 0.3 for row in _FEATURES[:5]],
            noise=_NOISE[:5],
        ),
        1,
    ),
    "free": Small(
        Instance(Model(_FEATURES[:4], math.inf), [0.21, 1.13, -0.42, 0.05], noise=_NOISE[:4]), 1
    ),
}

# The default algorithm with every stopping rule, the others with one of each kind.
PAIRINGS = [
    (algorithm, stopping)
    for algorithm in ALGORITHMS
    for stopping in STOPPING_RULES
    if algorithm == "mislid" or stopping in ("guaranteed", "heuristic")
]
