"""A study's events, taken in by the compiled rules without going back to Python in between.

One kernel serves single calls and whole logs, so that a replay does what was done at the time.
"""

from __future__ import annotations

from mislid._jit import IndexTable, Indices, PerArm, Struct, Vector, for_python, inner, kernel
from mislid._kernels.loop import Rules, estimate, judge, propose
from mislid.geometry.linalg import copy
from mislid.stopping.state import Setting, State, observe

# Columns of Steps.places: where a step's arms and choices begin, and the first trial asked for.
ARMS, CHOICES, TRIAL = range(3)


class Steps(Struct):
    """What happened, in order. A step that makes choices is an ask, any other a tell.

    The arms of a tell are those that were measured, of an ask those of the open trials. Row n of
    `places` says where the last step's end.
    """

    places: IndexTable  # (n + 1, 3)
    arms: Indices  # (a,)
    values: Vector  # (a,) more is better; 0 for open trials
    chosen: Indices  # (c,) filled in: the arms of new trials


class Design(Struct):
    """The first design."""

    arms: Indices  # (n,) arms that are measured first
    done: bool  # whether all of them are
    asked: PerArm  # work


@inner
def _go_round(first: Design, state: State, waiting: Indices, chosen: Indices) -> None:
    """Arms of the design with the fewest measurements and open trials; of equals, the first."""
    copy(state.counts, first.asked)
    for a in range(waiting.shape[0]):
        first.asked[waiting[a]] += 1.0
    for c in range(chosen.shape[0]):
        least = first.arms[0]
        for a in range(1, first.arms.shape[0]):
            if first.asked[first.arms[a]] < first.asked[least]:
                least = first.arms[a]
        first.asked[least] += 1.0
        chosen[c] = least


@inner
def _take_in(rules: Rules, first: Design, arms: Indices, values: Vector) -> bool:
    """Take in measurements; whether to judge then.

    Not before the first design is measured, nor between the pulls of one round, as in a simulation.
    """
    state = rules.state
    for a in range(arms.shape[0]):
        observe(rules.setting, state, arms[a], values[a])
    if not first.done:
        for a in range(first.arms.shape[0]):
            if state.counts[first.arms[a]] == 0.0:
                return False
        first.done = True
    return state.queued == 0


@inner
def _pretend(setting: Setting, state: State, pretended: State, waiting: Indices) -> None:
    """What was measured and estimated, and open trials as if they had returned the estimate.

    Searches keep their own workspaces.
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


pretend = for_python(_pretend)


@inner
def _choose(rules: Rules, pretended: State, waiting: Indices, trial: int, chosen: Indices) -> None:
    """Fill in the arms of new trials from this id on, while trials of the arms `waiting` are open.

    With nothing open, the first is chosen by the data, and any other as if open trials had returned
    the present estimates.
    """
    setting, state, made = rules.setting, rules.state, 0
    if waiting.shape[0] == 0:
        chosen[0] = propose(rules, state, trial)
        made, waiting = 1, chosen[:1]
        if chosen.shape[0] == 1:
            return
    elif rules.phased:
        propose(rules, state, trial)  # a phase whose values are all told ends, whatever is open
    # A rule that needs no estimate has none before the first test.
    if state.judged == 0:
        estimate(rules, state)
    _pretend(setting, state, pretended, waiting)
    for c in range(made, chosen.shape[0]):
        if pretended.queued == 0:
            estimate(rules, pretended)
        chosen[c] = propose(rules, pretended, trial + c)
        observe(setting, pretended, chosen[c], state.projected[chosen[c]])
        pretended.waiting += 1
    state.rounds, state.queued = pretended.rounds, pretended.queued
    state.stalls = pretended.stalls


@kernel
def replay(rules: Rules, pretended: State, first: Design, steps: Steps, step: int) -> int:
    """Take in steps from this one on, until a verdict; their number, negative with a verdict."""
    places = steps.places
    while step < places.shape[0] - 1:
        begin, end = places[step], places[step + 1]
        arms = steps.arms[begin[ARMS] : end[ARMS]]
        chosen = steps.chosen[begin[CHOICES] : end[CHOICES]]
        step += 1
        if chosen.shape[0] == 0:
            values = steps.values[begin[ARMS] : end[ARMS]]
            if _take_in(rules, first, arms, values) and judge(rules):
                return -step
        elif first.done:
            _choose(rules, pretended, arms, begin[TRIAL], chosen)
        else:
            _go_round(first, rules.state, arms, chosen)
    return step
