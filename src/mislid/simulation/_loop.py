"""A run, compiled from the first measurement to the answer."""

from __future__ import annotations

import numpy as np

from mislid.geometry._compile import random_kernel
from mislid.geometry._heap import Indices
from mislid.rules._propose import Sampler, needs_estimate, propose
from mislid.rules._random import uniform
from mislid.rules._rivals import Rivals, own_test, rival_arm
from mislid.rules._state import JUDGED, QUEUED, SAMPLES, Setting, State, observe
from mislid.rules._stopping import Stopping, is_due, judge
from mislid.simulation._draw import Source, draw

RUNNING, STOPPED, EXHAUSTED = range(3)


@random_kernel
def advance(
    setting: Setting,
    sampler: Sampler,
    stopping: Stopping,
    state: State,
    source: Source,
    design: Indices,
    own: bool,
    key: np.uint64,
    generator: np.random.Generator,
    budget: int,
    pause: int,
    rivals: Rivals | None,
) -> int:
    """Go on until an answer, `budget` measurements in all, or `pause` more of them.

    `design` (n,) is measured first. With `own`, a rival rule's own test takes the place of
    `stopping`. The decisions' random numbers come from `key` by position, the rewards from
    `generator`; nothing depends on where a run was paused. Rivals are compiled only where given.
    """
    plan, memory, clock = sampler.plan, sampler.memory, state.clock
    until = clock[SAMPLES] + pause
    while True:
        samples = clock[SAMPLES]
        planned = samples < design.shape[0]
        # After a pause the state has been judged: once more could change its last bits.
        if not planned and not own and clock[QUEUED] == 0 and clock[JUDGED] != samples:
            testing = is_due(stopping, state)
            looking = testing or needs_estimate(plan)
            if looking and judge(setting, stopping, state, testing):
                return STOPPED
        if samples >= budget:
            return EXHAUSTED
        if samples >= until:
            return RUNNING
        if planned:
            arm = design[samples]
        elif rivals is None:
            arm = propose(setting, plan, memory, state, uniform(key, samples))
        else:
            arm = rival_arm(setting, plan, memory, rivals, state)
        reward = draw(source.kind, source.parameters, source.table, arm, generator)
        observe(setting, state, arm, reward)
        if rivals is not None:
            testing = own and not planned
            if testing and own_test(setting, plan, memory, rivals, state):
                return STOPPED
