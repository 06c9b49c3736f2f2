"""Compiled steps of an engine: a simulated run, and the events of a study.

Rules and sources of rewards are kernels that are called by address, so the steps are compiled once
for all of them.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import Indices, Matrix, Struct, Vector, inner, kernel, linked
from mislid.algorithms._draws import uniform
from mislid.geometry.linalg import copy
from mislid.stopping.state import Setting, State, observe

RUNNING, STOPPED, EXHAUSTED = range(3)


class Rules(Struct):
    """A sampling rule and a stopping rule with their options and memory."""

    setting: Setting
    state: State
    sampler: Struct
    propose: int  # address of a kernel, as `_propose` below
    own_test: int  # address of a kernel, as `_own_test`; 0 if the sampling rule has none
    estimates: bool  # whether the sampling rule reads the projected means
    phased: bool  # whether it plans many measurements at once
    stopping: Struct
    judge: int  # address of a kernel, as `_judge`
    gamma: float  # least factor in samples between two tests
    patience: int  # no test up to this number of samples
    key: np.uint64  # key of the decisions' random numbers


def _propose(setting: Setting, sampler: Struct, state: State, uniform: float) -> int:
    """The arm to measure next; `uniform` in [0, 1) is its only random number."""
    raise NotImplementedError


def _own_test(setting: Setting, sampler: Struct, state: State) -> bool:
    """Whether the rule's stopping test is satisfied; fills the answer into `state.incumbents`."""
    raise NotImplementedError


def _judge(setting: Setting, stopping: Struct, state: State, testing: bool) -> bool:
    """Estimate and, if `testing`, test."""
    raise NotImplementedError


_call_propose, _call_own_test, _call_judge = linked(_propose), linked(_own_test), linked(_judge)


@kernel
def propose(rules: Rules, state: State, position: int) -> int:
    """The arm to measure next, by the random number at this position."""
    number = uniform(rules.key, position)
    arm = _call_propose(rules.propose, rules.setting, rules.sampler, state, number)
    price = rules.setting.price
    if price[arm] < np.inf:
        return arm
    best = -1  # of those that can be measured, the one with the fewest measurements
    for k in range(price.shape[0]):
        if price[k] < np.inf and (best < 0 or state.counts[k] < state.counts[best]):
            best = k
    return best


@inner
def estimate(rules: Rules, state: State) -> None:
    """Estimate without a test."""
    _call_judge(rules.judge, rules.setting, rules.stopping, state, False)


@inner
def judge(rules: Rules) -> bool:
    """Estimate if needed, and test if a test is due."""
    state = rules.state
    due = state.samples > rules.patience and state.samples > rules.gamma * state.last_test
    if not due and not rules.estimates:
        return False
    return _call_judge(rules.judge, rules.setting, rules.stopping, state, due)


class Source(Struct):
    """Source of simulated rewards: a kernel and its data."""

    draw: int  # address of a kernel, one of those below
    parameters: Matrix  # (K, 4)
    table: Matrix  # (n, K) rewards, n = 0 for distributions


@kernel
def draw_gaussian(source: Source, arm: int, generator: np.random.Generator) -> float:
    """A normal reward; parameters are its mean and its standard deviation."""
    parameters = source.parameters
    return parameters[arm, 0] + parameters[arm, 1] * generator.standard_normal()


@kernel
def draw_bernoulli(source: Source, arm: int, generator: np.random.Generator) -> float:
    """1 or 0; the parameter is the probability of 1."""
    return 1.0 if generator.random() < source.parameters[arm, 0] else 0.0


@kernel
def draw_beta(source: Source, arm: int, generator: np.random.Generator) -> float:
    """A stretched Beta variable; parameters are two shapes, the lowest reward and the range."""
    parameters = source.parameters
    share = generator.beta(parameters[arm, 0], parameters[arm, 1])
    return parameters[arm, 2] + parameters[arm, 3] * share


@kernel
def draw_row(source: Source, arm: int, generator: np.random.Generator) -> float:
    """The reward of a random row of the table."""
    table = source.table
    return table[int(generator.random() * table.shape[0]), arm]


_call_draw = linked(draw_gaussian)


@kernel
def sample(source: Source, arm: int, generator: np.random.Generator, rewards: Vector) -> None:
    """Fill rewards (n,) with rewards of one arm."""
    for n in range(rewards.shape[0]):
        rewards[n] = _call_draw(source.draw, source, arm, generator)


@kernel
def advance(
    rules: Rules,
    source: Source,
    design: Indices,
    own: bool,
    generator: np.random.Generator,
    budget: int,
    pause: int,
) -> int:
    """Continue to an answer, `budget` measurements in total, or `pause` more of them.

    `design` (n,) is measured first. With `own`, the sampling rule's test replaces the stopping
    rule. The decisions' random numbers are determined by key and position, and rewards are drawn by
    `generator`, so a run does not depend on its pauses.
    """
    setting, state = rules.setting, rules.state
    until = state.samples + pause
    while True:
        samples = state.samples
        planned = samples < design.shape[0]
        # After a pause the state is judged already; judging again could change its last bits.
        looking = not planned and not own and state.queued == 0 and state.judged != samples
        if looking and judge(rules):
            return STOPPED
        if samples >= budget:
            return EXHAUSTED
        if samples >= until:
            return RUNNING
        arm = design[samples] if planned else propose(rules, state, samples)
        observe(setting, state, arm, _call_draw(source.draw, source, arm, generator))
        if own and not planned and _call_own_test(rules.own_test, setting, rules.sampler, state):
            return STOPPED


@kernel
def tell(rules: Rules, design: Indices, arms: Indices, values: Vector) -> bool:
    """Add measurements and judge; whether the rules decide.

    As in a simulation, rules do not judge before the first design is measured, nor within a round.
    """
    state = rules.state
    for a in range(arms.shape[0]):
        observe(rules.setting, state, arms[a], values[a])
    for a in range(design.shape[0]):
        if state.counts[design[a]] == 0.0:
            return False
    return state.queued == 0 and judge(rules)


@kernel
def pretend(setting: Setting, state: State, pretended: State, waiting: Indices) -> None:
    """Copy data and estimates, and add open trials as if they had returned the estimate.

    The two states have separate workspaces for searches.
    """
    pretended.samples, pretended.judged = state.samples, state.judged
    pretended.tests, pretended.last_test = state.tests, state.last_test
    pretended.searched, pretended.answered = state.searched, state.answered
    pretended.aim, pretended.rounds = state.aim, state.rounds
    pretended.queued, pretended.stalls = state.queued, state.stalls
    pretended.statistic, pretended.threshold = state.statistic, state.threshold
    pretended.challenger, pretended.incumbent = state.challenger, state.incumbent
    pretended.doubt_challenger = state.doubt_challenger
    pretended.doubt_incumbent = state.doubt_incumbent
    pretended.lagging_challenger = state.lagging_challenger
    pretended.lagging_incumbent = state.lagging_incumbent
    pretended.linear_challenger = state.linear_challenger
    pretended.linear_incumbent = state.linear_incumbent
    copy(state.counts, pretended.counts)
    copy(state.sums, pretended.sums)
    copy(state.lost, pretended.lost)
    copy(state.scatter, pretended.scatter)
    copy(state.weights, pretended.weights)
    copy(state.means, pretended.means)
    copy(state.projected, pretended.projected)
    copy(state.doubt, pretended.doubt)
    for b in range(state.incumbents.shape[0]):
        pretended.incumbents[b] = state.incumbents[b]
    pretended.waiting = waiting.shape[0]
    for a in range(waiting.shape[0]):
        observe(setting, pretended, waiting[a], state.projected[waiting[a]])


@kernel
def choose(rules: Rules, pretended: State, waiting: Indices, trial: int, chosen: Indices) -> None:
    """Choose the arms of new trials from this id on, as if open trials had returned the estimate.

    At least one trial is open; `waiting` are the arms of the open trials.
    """
    setting, state = rules.setting, rules.state
    # A rule that needs no estimate has none before the first test.
    if state.judged == 0:
        estimate(rules, state)
    pretend(setting, state, pretended, waiting)
    for c in range(chosen.shape[0]):
        if pretended.queued == 0:
            estimate(rules, pretended)
        chosen[c] = propose(rules, pretended, trial + c)
        observe(setting, pretended, chosen[c], state.projected[chosen[c]])
        pretended.waiting += 1
    state.rounds, state.queued = pretended.rounds, pretended.queued
    state.stalls = pretended.stalls
