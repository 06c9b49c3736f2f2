"""Rules that measure in phases against their plain versions, and designs against solvers."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.random import Generator
from scipy.optimize import minimize

from helpers.rival_runs import Floats
from mislid import Model
from mislid._jit import for_python
from mislid.algorithms import RAGE, XYAdaptive, XYStatic
from mislid.algorithms._designs import apportion, own_design, xy_design
from mislid.algorithms._phases import Phased, Phases
from mislid.engine import Engine
from mislid.question import Question
from mislid.stopping.state import Setting
from oracles.phases import (
    PlainPhases,
    PlainRAGE,
    PlainXYAdaptive,
    PlainXYStatic,
    apportioned,
    variances,
)

PLAIN: dict[type, type[PlainPhases]] = {
    RAGE: PlainRAGE,
    XYAdaptive: PlainXYAdaptive,
    XYStatic: PlainXYStatic,
}
ALL: tuple[Phased, ...] = (
    RAGE(),
    RAGE(fresh=False),
    XYAdaptive(),
    XYAdaptive(shrink=0.3, first=5, fresh=False),
    XYStatic(),
)


def assert_decides_like(rule: Phased, question: Question, means: Floats, rng: Generator) -> int:
    """Arm for arm until the rule's own test is satisfied; the number of phases."""
    engine = Engine(question, rule, "heuristic")
    plain = PLAIN[type(rule)](question)
    for name, value in vars(rule).items():
        setattr(plain, name, value)
    sums = np.zeros(question.K)
    for t in range(400_000):
        planned = t < len(engine.design)
        arm = int(engine.design[t]) if planned else engine.propose()
        if not planned:
            assert arm == plain.propose(engine.counts.astype(float), sums)
        reward = means[arm] + question.noise[arm] * rng.normal()
        engine.observe(arm, reward)
        sums[arm] += reward
        if not planned and engine.own_test():
            assert plain.decides(engine.counts.astype(float), sums)
            assert sorted(plain.accepted) == sorted(engine.incumbents)
            return plain.number
        if not planned:
            assert not plain.decides(engine.counts.astype(float), sums)
    raise AssertionError("the rule does not end")


def question_of(
    rng: Generator, shape: tuple[int, int], m: int, eps: float
) -> tuple[Question, Floats]:
    """Features, and means within the tube that take a few phases to tell apart."""
    while True:
        features = rng.normal(size=shape)
        deviations = rng.uniform(-1, 1, shape[0]) * min(eps, 0.3)
        means = features @ rng.normal(size=shape[1]) + deviations
        ordered = np.sort(means)[::-1]
        if 0.1 < ordered[m - 1] - ordered[m] < 0.25:
            break
    noise = rng.uniform(0.5, 1.5, shape[0])
    return Question(Model(features, eps), m, noise=noise, delta=0.1), means


@pytest.mark.parametrize("rule", ALL, ids=str)
@pytest.mark.parametrize("eps", [0.0, 0.05, np.inf])
@pytest.mark.parametrize(("K", "d", "m"), [(7, 3, 1), (7, 3, 3), (5, 4, 4), (12, 4, 5)])
def test_decides_like_the_plain_rule(
    rng: Generator, K: int, d: int, m: int, eps: float, rule: Phased
) -> None:
    question, means = question_of(rng, (K, d), m, eps)
    assert assert_decides_like(rule, question, means, rng) >= 1


@pytest.mark.parametrize("rule", ALL, ids=str)
def test_a_tolerance_ends_phases_early(rng: Generator, rule: Phased) -> None:
    question, means = Question(Model(np.eye(5), 0.0), 2, tolerance=0.5), np.arange(5) / 5
    loose = assert_decides_like(rule, question, means, rng)
    assert loose < assert_decides_like(rule, question.replace(tolerance=0.0), means, rng)


def kernel_design(
    question: Question, candidates: list[int], *, linear: bool, cost: Floats | None = None
) -> tuple[Floats, float]:
    """Shares and largest variance of a design for these arms."""
    engine = Engine(question, RAGE(), "heuristic", cost=cost)
    setting, rule = engine._rules.setting, engine._rules.sampler
    rule.candidates[:] = np.isin(np.arange(question.K), candidates)
    design = for_python(_xy_design if linear else _own_design)
    rho = design(setting, rule)
    return rule.share.copy(), rho


def _xy_design(setting: Setting, rule: Phases) -> float:
    return xy_design(setting, rule)


def _own_design(setting: Setting, rule: Phases) -> float:
    return own_design(setting, rule)


def squares(question: Question, candidates: list[int], share: Floats, *, linear: bool) -> Floats:
    """Variances of all pairs of candidates at these shares."""
    features = question.model.features if linear else np.eye(question.K)
    scaled = features / question.noise[:, None]
    inverse = np.linalg.pinv(scaled.T @ (share[:, None] * scaled), rcond=1e-9, hermitian=True)
    return variances(inverse, features, list(combinations(candidates, 2)))


def least_variance(question: Question, candidates: list[int], *, linear: bool) -> float:
    """The largest variance at the best shares, by a general solver from the uniform ones."""
    K = question.K
    at = partial(squares, question, candidates, linear=linear)
    bounds = [(1e-6, 1.0)] * K + [(0.0, None)]
    found = minimize(
        lambda v: v[K],
        np.append(np.full(K, 1 / K), at(np.full(K, 1 / K)).max()),
        bounds=bounds,
        constraints=[
            {"type": "eq", "fun": lambda v: v[:K].sum() - 1},
            {"type": "ineq", "fun": lambda v: v[K] - at(v[:K])},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    return float(at(found.x[:K] / found.x[:K].sum()).max())


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_designs_have_nearly_the_least_variance(rng: Generator, count: int, linear: bool) -> None:
    for _ in range(4):
        noise = rng.uniform(0.3, 3.0, 6)
        question = Question(Model(rng.normal(size=(6, 3)), 0.0), 1, noise=noise)
        candidates = sorted(int(k) for k in rng.permutation(6)[:count])
        share, rho = kernel_design(question, candidates, linear=linear)
        assert share.sum() == pytest.approx(1.0)
        assert rho == pytest.approx(squares(question, candidates, share, linear=linear).max())
        least = least_variance(question, candidates, linear=linear)
        assert rho <= (1.03 if linear else 1.0 + 1e-4) * least


@pytest.mark.parametrize("samples", [5, 23, 1000, 123_457])
def test_whole_numbers_are_near_the_shares(rng: Generator, samples: int) -> None:
    for _ in range(20):
        share = rng.dirichlet(np.full(5, 0.3)) * (rng.random(5) < 0.8)
        share[0] += 0.1
        share /= share.sum()
        plan = np.zeros(5)
        for_python(apportion)(share, float(samples), plan)
        np.testing.assert_array_equal(plan, apportioned(share, samples))
        assert plan.sum() == samples
        assert np.all((plan >= 1) == (share > 0))
