"""The furthest among the answers that are good enough (Jourdan and Degenne, 2022).

With a tolerance several answers are right. One that the estimate calls good enough, though not the
best, may be further from the models in which it is wrong: then it can be given earlier. The test is
that of `projected_test`, for the answer whose closest alternative is furthest at the present
counts. For one best arm all answers are compared that are good enough. For more, the m best and
those that differ from them in one arm: only an exchange that breaks up the closest pair, by letting
its challenger in or its incumbent out, can be better.

The answer is left in `state.incumbents`, so that sampling rules answer its closest alternative.
"""

from __future__ import annotations

from typing import Annotated

from mislid._jit import Indices, Struct, inner, kernel
from mislid.geometry.newton import SOLVED, STALLED
from mislid.geometry.search import forget_means
from mislid.geometry.two_arms import Closest, leave_nothing_out
from mislid.stopping.projected_test import ProjectedTest, is_far, new_projected_test
from mislid.stopping.schedule import closest, count_test, estimate, keep_doubt
from mislid.stopping.state import Setting, State


class Furthest(Struct):
    """The test, and answers that are compared."""

    test: ProjectedTest
    best: Annotated[Indices, ("m",)]  # the m best of the estimate, increasing
    furthest: Annotated[Indices, ("m",)]  # of those looked at so far


def new_furthest(setting: Setting, kind: int) -> Furthest:
    """The test before the first measurement, with this kind of threshold."""
    return Furthest.zeros({"m": setting.m}, test=new_projected_test(setting, kind))


@inner
def put(answer: Indices, out: Indices) -> None:
    """Copy an answer."""
    for b in range(out.shape[0]):
        out[b] = answer[b]


@inner
def exchange(best: Indices, arm: int, gone: int, out: Indices) -> None:
    """The answer with `arm` in the place of `gone`, increasing."""
    put(best, out)
    place = 0
    while out[place] != gone:
        place += 1
    while place + 1 < out.shape[0] and out[place + 1] < arm:
        out[place] = out[place + 1]
        place += 1
    while place > 0 and out[place - 1] > arm:
        out[place] = out[place - 1]
        place -= 1
    out[place] = arm


@inner
def is_in(answer: Indices, arm: int) -> bool:
    """Whether an arm is in an answer."""
    found = False
    for b in range(answer.shape[0]):
        found = found or answer[b] == arm
    return found


@inner
def search_answer(setting: Setting, state: State) -> Closest:
    """The alternative that is closest to the estimate, for the answer in `state.incumbents`."""
    eps = setting.eps + setting.widening
    return closest(eps, state.projected, setting.tol, state)


@inner
def choose_answer(setting: Setting, rule: Furthest, state: State) -> Closest:
    """Let the furthest answer be the incumbents; its closest alternative is the last found."""
    status, cost, i, j = search_answer(setting, state)
    if status != SOLVED or setting.tol == 0.0:
        return status, cost, i, j
    put(state.incumbents, rule.best)
    put(state.incumbents, rule.furthest)
    first, largest, means = cost, cost, state.projected
    for arm in range(means.shape[0]):
        if is_in(rule.best, arm):
            continue
        for b in range(rule.best.shape[0]):
            gone = rule.best[b]
            breaks = arm == i or gone == j
            if breaks and means[arm] + setting.tol >= means[gone]:
                exchange(rule.best, arm, gone, state.incumbents)
                status, cost, _, _ = search_answer(setting, state)
                if status == SOLVED and cost > largest:
                    largest = cost
                    put(state.incumbents, rule.furthest)
    put(rule.furthest if largest > first else rule.best, state.incumbents)
    return search_answer(setting, state)


@kernel
def judge_furthest(setting: Setting, rule: Furthest, state: State, testing: bool) -> bool:
    """Estimate, choose the answer and, if `testing`, compare its cost with the threshold."""
    if not estimate(setting, state):
        return False
    forget_means(state.test)
    status, cost, i, j = choose_answer(setting, rule, state)
    answer = False
    if testing:
        count_test(state)
        answer = status == SOLVED and is_far(setting, rule.test, state, cost, i, j)
    if status == STALLED:
        state.stalls += 1
    elif status == SOLVED:
        keep_doubt(state, state.projected, i, j)
        state.answered = state.samples
    leave_nothing_out(state.test)
    return answer
