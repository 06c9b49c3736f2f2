"""What stopping rules leave behind for sampling rules and for the next test."""

import math

import numpy as np
import pytest

from helpers.measured import Data, engine_of, random_data, setting_of, state_of
from mislid.engine.engine import new_state
from mislid.stopping.rules import STOPPING_RULES, CompiledStopping, Setup, compile_stopping
from mislid.stopping.state import Setting, State, observe_sum


def judged(setting: Setting, rule: CompiledStopping, state: State) -> bool:
    return bool(rule.judge(setting, rule.struct, state, True))


def compiled(name: str, data: Data) -> CompiledStopping:
    return compile_stopping(STOPPING_RULES[name], Setup(setting_of(data), data.question))


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
        observe_sum(setting, state, arm, n, total, 0.0)
        if t >= data.model.K:
            verdicts.append(judged(setting, rule, state))
            spared += state.searched < state.samples
        if t >= data.model.K and t % 4 == 0:
            seen = data._replace(counts=state.counts.copy(), means=state.means.copy())
            assert verdicts[-1] == engine_of(seen, name).judge(True).decided
    assert spared > 100
    assert len(set(verdicts)) == 2
