"""How often a stopping rule decides between two equal arms.

Where the m-th best arm and the next are equal, each of the two answers has at most the probability
delta under a guaranteed rule: either is wrong as soon as the means differ, however little. Few runs
tell, even for a small delta, because half of them are drawn as if the wrong arm led, and all are
weighed: the weight of a run is how much likelier it is with equal arms than as it was drawn, so
that the expected weight of wrong answers is their probability (importance sampling).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mislid._validation import Vector
from mislid.engine import Engine
from mislid.testing.cases import Case, new_case

# Measurements of an arm after which a rule is asked. A rule that just waits for a number of them
# shows itself up to the last of these.
_TIMES = 2.0 ** np.arange(21)
# Measurements of the right and of the wrong arm are in one of these proportions.
_SHARES = ((1, 1), (1, 9), (9, 1))
# A wrong arm leads by so many standard deviations at one of the times: (n, 2) of lead and time.
_LEADS = np.array([(lead, time) for lead in (2.0, 4.0, 6.0) for time in _TIMES])

_PAIR = [[1.0], [1.0]]
_PLANE = [[1.0, 0.3], [0.3, 1.0], [-1.0, -1.0], [-0.5, 0.2]]

# Of the arms, counted from 0, m - 1 and m are equal, and all others far from them.
TIED = (
    new_case("two equal arms", 1, _PAIR, [1.0, 1.0], math.inf, 1.0),
    new_case("two equal arms of little noise", 1, _PAIR, [1.0, 1.0], math.inf, 0.03),
    new_case("two equal arms of much noise", 1, _PAIR, [1.0, 1.0], math.inf, 30.0),
    new_case("two equal arms of unequal noise", 1, _PAIR, [1.0, 1.0], math.inf, [5.0, 0.05]),
    new_case(
        "two equal noisy arms among quiet ones",
        2,
        np.ones((8, 1)),
        [90.0, 1.0, 1.0, *[-90.0] * 5],
        math.inf,
        [0.05, 5.0, 5.0, *[0.05] * 5],
    ),
    new_case("two equal linear arms", 1, _PLANE, [1.3, 1.3, -2.0, -0.3], 0.0, 0.3),
    new_case("two equal arms near the line", 1, _PLANE, [1.5, 1.5, -2.0, -0.5], 0.5, 0.3),
)


class _Plan(NamedTuple):
    """How one run is drawn: the arms, their proportions (K,), and the wrong one's lead."""

    right: int
    wrong: int
    shares: Vector
    drift: float


def wrong_answers(case: Case, delta: float, stopping: Callable[[], Any], runs: int) -> Vector:
    """Logarithms of the weights (runs,) of runs, -inf where the answer is not wrong."""
    generator = np.random.default_rng(0)
    logs = []
    for number in range(runs):
        engine = Engine(case.question(delta), "uniform", stopping())
        logs.append(_log_weight(case, engine, _plan(case, number, generator), generator))
    return np.array(logs)


def _plan(case: Case, number: int, generator: np.random.Generator) -> _Plan:
    right, wrong = (case.m - 1, case.m) if number % 2 == 0 else (case.m, case.m - 1)
    shares = np.ones(case.instance.K)
    shares[[right, wrong]] = _SHARES[number % len(_SHARES)]
    lead, time = _LEADS[generator.integers(len(_LEADS))]
    tilted = generator.random() < 0.5
    return _Plan(right, wrong, shares, lead / math.sqrt(time) if tilted else 0.0)


def _log_weight(case: Case, engine: Engine, plan: _Plan, generator: np.random.Generator) -> float:
    """That of one run, at its answer."""
    noise, pair = case.instance.noise, [plan.wrong, plan.right]
    # Of a mean, times the number of measurements.
    variances = noise**2 / plan.shares
    spread = math.sqrt(variances[pair].sum())
    means = case.instance.means.copy()
    means[pair] += np.array([1.0, -1.0]) * plan.drift * variances[pair] / spread
    answer = {*range(case.m - 1), plan.right}
    for time, before in zip(_TIMES, [0.0, *_TIMES], strict=False):
        _measure(engine, plan.shares * (time - before), means, noise, generator)
        verdict = engine.judge(test=True)
        if verdict.decided:
            lead = float(np.subtract(*engine.means[pair])) / spread * math.sqrt(time)
            return -math.inf if set(verdict.answer or ()) == answer else _log_ratio(lead, time)
    return -math.inf


def _measure(
    engine: Engine, counts: Vector, means: Vector, noise: Vector, generator: np.random.Generator
) -> None:
    sums = counts * means + np.sqrt(counts) * noise * generator.standard_normal(counts.size)
    for arm, count in enumerate(counts):
        engine.observe(arm, float(sums[arm]), int(count))


def _log_ratio(lead: float, time: float) -> float:
    """How much likelier data are with equal arms than as they were drawn, as a logarithm.

    They depend on the wrong arm's lead alone, which has the standard deviation 1.
    """
    drifts = _LEADS[:, 0] * np.sqrt(time / _LEADS[:, 1])
    tilted = np.logaddexp.reduce(drifts * lead - 0.5 * drifts**2) - math.log(len(drifts))
    return float(-np.logaddexp(0.0, tilted) + math.log(2.0))
