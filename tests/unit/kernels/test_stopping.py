"""What stopping rules leave behind for sampling rules and for the next test."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.measured import Data, engine_of, random_data, samples, setting_of, state_of
from mislid._jit import kernel
from mislid.geometry.alternatives import closest_alternative
from mislid.geometry.duality import all_pairs, top_arms
from mislid.geometry.search import call_project
from mislid.geometry.two_arms import ACCURACY, Closest
from mislid.stopping.registry import CompiledStopping, Setup, compile_stopping
from mislid.stopping.rules import STOPPING_RULES
from mislid.stopping.schedule import closest
from mislid.stopping.state import Setting, State, new_state, take_in


@kernel
def closest_of(setting: Setting, state: State) -> Closest:
    """The alternative closest to the empirical means, from nothing."""
    if not np.isinf(setting.eps):
        space = state.test
        call_project(space.project, setting.eps, state.means, state.weights, ACCURACY, space)
    return closest(setting.eps, state.means, setting.tol, state)


def judged(setting: Setting, rule: CompiledStopping, state: State) -> bool:
    return bool(rule.judge(setting, rule.struct, state, True))


def compiled(name: str, data: Data) -> CompiledStopping:
    return compile_stopping(STOPPING_RULES[name], Setup(setting_of(data), data.question))


def verdict(data: Data, name: str) -> tuple[bool, State]:
    setting, state = setting_of(data), state_of(data)
    return judged(setting, compiled(name, data), state), state


def with_incumbents_of(data: Data) -> State:
    """Measured, with the m best empirical means as incumbents."""
    state = state_of(data)
    state.incumbents[:] = top_arms(data.means, data.m)
    return state


@pytest.mark.parametrize("name", list(STOPPING_RULES))
def test_no_pair_stays_exempt(name: str) -> None:
    for data in samples(5, 30):
        assert not verdict(data, name)[1].test.exempt.any()


@pytest.mark.parametrize("name", ["heuristic", "guaranteed"])
def test_a_search_that_stalls_decides_nothing(name: str) -> None:
    data = random_data(np.random.default_rng(12), 0.05, size=1e9)
    setting, state = setting_of(data), state_of(data)
    rule = compiled(name, data)
    assert judged(setting, rule, state)
    assert state.stalls == 0
    means = state.means.copy()
    state.means[:] = math.nan
    state.samples += 1
    assert not judged(setting, rule, state)
    assert state.stalls == 1
    state.means[:] = means
    assert judged(setting, rule, state)


@pytest.mark.parametrize("name", [name for name in STOPPING_RULES if name != "guaranteed"])
@pytest.mark.parametrize("eps", [0.05, 0.5])
def test_shortcuts_along_a_run_change_no_verdict(name: str, eps: float) -> None:
    """An old alternative may spare work; a fresh rule has none."""
    rng = np.random.default_rng(14)
    data = random_data(rng, eps)
    data = data._replace(noise=20.0 * data.noise)
    setting, state = setting_of(data), new_state(setting_of(data))
    rule = compiled(name, data)
    verdicts = []
    spared = 0
    for t in range(1500):
        arm, n = t % data.model.K, 1 + state.samples // 200
        total = n * data.means[arm] + np.sqrt(n) * data.noise[arm] * rng.normal()
        take_in(setting, state, arm, n, total, 0.0)
        if t >= data.model.K:
            verdicts.append(judged(setting, rule, state))
            spared += state.searched < state.samples
        if t >= data.model.K and t % 4 == 0:
            seen = data._replace(counts=state.counts.copy(), means=state.means.copy())
            assert verdicts[-1] == engine_of(seen, name).judge(True).decided
    assert spared > 100
    assert len(set(verdicts)) == 2


@pytest.mark.parametrize("eps", [0.0, 0.3, math.inf])
def test_closest_leaves_means_minus_alternative(eps: float) -> None:
    for data in samples(9, 20, eps):
        state = with_incumbents_of(data)
        expected = closest_alternative(
            data.model, data.means, data.weights, data.m, tolerance=data.tol
        )
        _, cost, i, j = closest_of(setting_of(data), state)
        assert_allclose(cost, expected.cost, rtol=1e-7)
        below = state.test.below
        assert_allclose(0.5 * np.sum(state.weights * below**2), cost, rtol=1e-6)
        alternative = data.means - below
        assert alternative[i] >= alternative[j] + data.tol - 1e-9
        assert i not in state.incumbents
        assert j in state.incumbents


@pytest.mark.parametrize("eps", [0.05, math.inf])
def test_closest_leaves_out_exempt_pairs(eps: float) -> None:
    data = random_data(np.random.default_rng(13), eps)
    setting, state = setting_of(data), with_incumbents_of(data)
    pairs = all_pairs(data.model.K, state.incumbents)
    seen = []
    for _ in pairs:
        _, cost, i, j = closest_of(setting, state)
        seen.append((cost, i, j))
        state.test.exempt[pairs.tolist().index([i, j])] = 1
    costs = [cost for cost, _, _ in seen]
    assert_allclose(costs, sorted(costs), rtol=1e-9)
    assert len({(i, j) for _, i, j in seen}) == len(pairs)
