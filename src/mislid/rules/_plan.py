"""Which rules an identification is composed of, as small integers, and what sampling remembers.

Compiled code selects by code; the names that people use are in `mislid.algorithms`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.geometry._heap import Indices

# Sampling rules.
UNIFORM, FIXED, GAME, BEST_RESPONSE, LUCB, LINGAPE, LINGIFA = range(7)
# Learners of the game.
ADAHEDGE, EXPONENTIAL_WEIGHTS, FOLLOW_THE_LEADER = range(3)
# Gains that the learner is fed.
OPTIMISTIC, AGGRESSIVE, EMPIRICAL = range(3)
# Bonuses of the first two.
PAPER_BONUS, AUTHORS_BONUS = range(2)
# From an allocation to an arm.
DIRECT, C_TRACKING, D_TRACKING = range(3)
# Positions in Memory.scalars.
OWN_INDEX, OWN_THRESHOLD = range(2)


class Plan(NamedTuple):
    """The composition of a sampling rule."""

    sampler: int
    learner: int
    gain: int
    bonus: int
    tracking: int
    forced: bool  # forced exploration with tracking
    authors: bool  # details of the published runs where they differ from the text
    pulls: int  # measurements a round
    subset: int  # challengers drawn at random besides the recent ones; 0 for all
    power: float  # best responses: gain / counts^power
    range: float  # exponential weights: bound on the gains
    steps: int  # learner updates a measurement
    per_answer: bool  # one learner per answer (m = 1) instead of one in all
    exploration: float  # best responses serve arms with fewer than this times sqrt(t) first
    greedy: bool  # LinGIFA: the arm that shrinks the width most, not the less certain of two
    allocation: Vector  # (K,) of FIXED


def new_plan(K: int, **codes: Any) -> Plan:
    """Uniform sampling, but for the codes given."""
    settings: dict[str, Any] = {
        "sampler": UNIFORM,
        "learner": ADAHEDGE,
        "gain": EMPIRICAL,
        "bonus": PAPER_BONUS,
        "tracking": DIRECT,
        "forced": False,
        "authors": False,
        "pulls": 1,
        "subset": 0,
        "power": 0.0,
        "range": 1.0,
        "steps": 1,
        "per_answer": False,
        "exploration": 0.0,
        "greedy": True,
        "allocation": np.zeros(K),
    }
    return Plan(**{**settings, **codes})


class Memory(NamedTuple):
    """What a sampling rule remembers from round to round."""

    omega: Vector  # (K,) the learner's allocation
    gains: Vector  # (K,) of the last round
    cumulative: Matrix  # (n, K) sums of gains that each of n learners has seen
    gaps: Vector  # (n,) their sums of mixability gaps
    rounds: Vector  # (n,) how often each has been taught
    tracked: Vector  # (K,) sums of allocations
    weights: Vector  # (K,) omega / variance
    scalars: Vector  # (8,)
    recent: Indices  # (n,) recent challengers, first in first out, -1 where there are fewer


def new_memory(K: int, learners: int = 1, gap: float = 0.0, recent: int = 1) -> Memory:
    """Before the first round; `gap` is the mixability gap that AdaHedge starts with.

    `recent` challengers are remembered.
    """
    gains, tracked, weights = np.zeros((3, K))
    return Memory(
        omega=np.full(K, 1.0 / K),
        gains=gains,
        cumulative=np.zeros((learners, K)),
        gaps=np.full(learners, gap),
        rounds=np.zeros(learners),
        tracked=tracked,
        weights=weights,
        scalars=np.zeros(8),
        recent=np.full(recent, -1, np.int64),
    )
