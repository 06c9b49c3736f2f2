"""Rules that measure in phases keep their promise by their own tests, in the tube too."""

import pytest

from mislid import Instance, Model
from statistical.hard import HARD, Hard
from statistical.trials import attempt, misled

DELTA = 1e-3
RULES = ("rage", "xy-adaptive", "xy-static")
# By the features the first arm beats the second at any slope; in truth it is the other way round.
REVERSED = Hard(
    Instance(Model([[0.9], [1.0], [0.2]], 0.2), [1.05, 0.85, 0.2], noise=0.3),
    m=1,
    reason="deviations outweigh the features",
    budget=100_000,
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["tied", "tied, linear", "walls", "tolerance"])
def test_wrong_answers_are_rare(name: str, rule: str) -> None:
    found = attempt(HARD[name], 100, stopping="heuristic", delta=DELTA, sampling=(rule,))
    assert not found.exceed(DELTA)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["tied", "tied, linear", "walls"])
def test_understated_noise_is_caught(name: str, rule: str) -> None:
    believed = misled(HARD[name], noise=8.0)
    options = {"stopping": "heuristic", "delta": DELTA, "sampling": (rule,)}
    assert attempt(HARD[name], 60, believed=believed, **options).exceed(DELTA)


@pytest.mark.parametrize("rule", RULES)
def test_features_that_mislead_do_not(rule: str) -> None:
    options = {"stopping": "heuristic", "delta": DELTA, "sampling": (rule,)}
    found = attempt(REVERSED, 60, **options)
    assert found.stopped == 60
    assert not found.exceed(DELTA)
    believed = misled(REVERSED, misspecification=10.0)
    assert attempt(REVERSED, 60, believed=believed, **options).exceed(DELTA)
