"""A run, compiled from the first measurement to the answer."""

from __future__ import annotations

import numpy as np

from mislid.geometry._compile import random_kernel
from mislid.geometry._heap import Indices
from mislid.rules._propose import Sampler, needs_estimate, own_test, propose
from mislid.rules._random import uniform
from mislid.rules._state import QUEUED, SAMPLES, Setting, State, estimate, observe
from mislid.rules._stopping import Stopping, decided
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
) -> int:
    """Go on until an answer, `budget` measurements in all, or `pause` more of them.

    `design` (n,) is measured first. With `own`, a rival rule's own test takes the place of
    `stopping`. The decisions' random numbers come from `key` by position, the rewards from
    `generator`; nothing depends on where a run was paused.
    """
    clock = state.clock
    until = clock[SAMPLES] + pause
    while True:
        samples = clock[SAMPLES]
        if samples >= design.shape[0]:
            if not own and clock[QUEUED] == 0:
                # The published runs never test before the first draw.
                fresh = sampler.plan.authors and samples == design.shape[0]
                if estimate(setting, state) and not fresh and decided(setting, stopping, state):
                    return STOPPED
            elif needs_estimate(sampler) and clock[QUEUED] == 0:
                estimate(setting, state)
        if samples >= budget:
            return EXHAUSTED
        if samples >= until:
            return RUNNING
        planned = samples < design.shape[0]
        if planned:
            arm = design[samples]
        else:
            arm = propose(setting, sampler, state, uniform(key, samples))
        reward = draw(source.kind, source.parameters, source.table, arm, generator)
        observe(setting, state, arm, reward)
        if own and not planned and own_test(setting, sampler, state):
            return STOPPED
