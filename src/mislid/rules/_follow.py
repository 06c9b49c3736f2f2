"""A study's events, taken in by the compiled rules without going back to Python in between.

One kernel serves single calls and whole logs, so that a replay does what was done at the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.geometry._compile import inner, kernel
from mislid.geometry._heap import Indices
from mislid.geometry._linalg import copy
from mislid.rules._propose import Sampler, needs_estimate, propose
from mislid.rules._random import uniform
from mislid.rules._rivals import Rivals, rival_arm
from mislid.rules._state import QUEUED, ROUNDS, STALLS, Setting, State, observe
from mislid.rules._stopping import Stopping, is_due, judge

# Columns of Steps.places: where a step's arms and choices begin, and the first trial asked for.
ARMS, CHOICES, TRIAL = range(3)
# Pretended values never enter a stopping test.
TESTED = False


class Steps(NamedTuple):
    """What happened, in order. A step that makes choices is an ask, any other a tell.

    The arms of a tell are those that were measured, of an ask those of the open trials. Row n of
    `places` says where the last step's end.
    """

    places: Indices  # (n + 1, 3)
    arms: Indices  # (a,)
    values: Vector  # (a,) more is better; 0 for open trials
    chosen: Indices  # (c,) filled in: the arms of new trials


class Round(NamedTuple):
    """The first design."""

    design: Indices  # (n,) arms that are measured first
    done: Indices  # (1,) whether all of them are
    asked: Vector  # (K,) work


@inner
def _go_round(first: Round, state: State, waiting: Indices, chosen: Indices) -> None:
    """Arms of the design with the fewest measurements and open trials; of equals, the first."""
    copy(state.counts, first.asked)
    for a in range(waiting.shape[0]):
        first.asked[waiting[a]] += 1.0
    for c in range(chosen.shape[0]):
        least = first.design[0]
        for a in range(1, first.design.shape[0]):
            if first.asked[first.design[a]] < first.asked[least]:
                least = first.design[a]
        first.asked[least] += 1.0
        chosen[c] = least


@inner
def _take_in(setting: Setting, state: State, first: Round, arms: Indices, values: Vector) -> bool:
    """Take in measurements; whether to judge then.

    Not before the first design is measured, nor between the pulls of one round, as in a simulation.
    """
    for a in range(arms.shape[0]):
        observe(setting, state, arms[a], values[a])
    if first.done[0] == 0:
        for a in range(first.design.shape[0]):
            if state.counts[first.design[a]] == 0.0:
                return False
        first.done[0] = 1
    return state.clock[QUEUED] == 0


@inner
def _pretend(setting: Setting, state: State, pretended: State, waiting: Indices) -> None:
    """What was measured and estimated, and open trials as if they had returned the estimate.

    Searches keep their own workspaces.
    """
    for position in range(state.clock.shape[0]):
        pretended.clock[position] = state.clock[position]
    copy(state.counts, pretended.counts)
    copy(state.sums, pretended.sums)
    copy(state.weights, pretended.weights)
    copy(state.means, pretended.means)
    copy(state.projected, pretended.projected)
    for b in range(state.incumbents.shape[0]):
        pretended.incumbents[b] = state.incumbents[b]
    copy(state.evidence, pretended.evidence)
    copy(state.doubt, pretended.doubt)
    pretended.doubted[0] = state.doubted[0]
    pretended.doubted[1] = state.doubted[1]
    for a in range(waiting.shape[0]):
        observe(setting, pretended, waiting[a], state.projected[waiting[a]])


@kernel
def follow(
    setting: Setting,
    sampler: Sampler,
    stopping: Stopping,
    state: State,
    pretended: State,
    first: Round,
    key: np.uint64,
    rivals: Rivals | None,
    steps: Steps,
    step: int,
) -> int:
    """Take in steps from this one on, until a verdict; how many were taken in, negative with one.

    With nothing open, an ask's first trial is chosen by the data, and any other as if open trials
    had returned the present estimates. The loop is all here because a kernel around `judge` or
    `propose` takes long to compile. Rivals are compiled only where given.
    """
    plan, memory, places = sampler.plan, sampler.memory, steps.places
    while step < places.shape[0] - 1:
        here, after = places[step], places[step + 1]
        arms = steps.arms[here[ARMS] : after[ARMS]]
        chosen = steps.chosen[here[CHOICES] : after[CHOICES]]
        step += 1
        if chosen.shape[0] == 0:
            values = steps.values[here[ARMS] : after[ARMS]]
            if _take_in(setting, state, first, arms, values):
                testing = is_due(stopping, state)
                looking = testing or needs_estimate(plan)
                if looking and judge(setting, stopping, state, testing):
                    return -step
            continue
        if first.done[0] == 0:
            _go_round(first, state, arms, chosen)
            continue
        made = 0
        if arms.shape[0] == 0:
            number = uniform(key, here[TRIAL])
            if rivals is None:
                chosen[0] = propose(setting, plan, memory, state, number)
            else:
                chosen[0] = rival_arm(setting, plan, memory, rivals, state)
            made, arms = 1, chosen[:1]
            if chosen.shape[0] == 1:
                continue
        _pretend(setting, state, pretended, arms)
        for c in range(made, chosen.shape[0]):
            if pretended.clock[QUEUED] == 0:
                judge(setting, stopping, pretended, bool(TESTED))
            number = uniform(key, here[TRIAL] + c)
            if rivals is None:
                chosen[c] = propose(setting, plan, memory, pretended, number)
            else:
                chosen[c] = rival_arm(setting, plan, memory, rivals, pretended)
            observe(setting, pretended, chosen[c], state.projected[chosen[c]])
        for kept in (ROUNDS, QUEUED, STALLS):
            state.clock[kept] = pretended.clock[kept]
    return step
