"""Rules that measure in phases against their plain versions, and designs against solvers."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.random import Generator
from scipy.optimize import minimize

from helpers.rival_runs import Floats
from mislid import Instance, Model, identify
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
    estimates,
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


def test_arms_that_cannot_be_measured_have_no_share(rng: Generator) -> None:
    question = Question(Model(rng.normal(size=(6, 2)), 0.0), 1)
    cost = np.array([1.0, np.inf, 1.0, 1.0, np.inf, 1.0])
    for linear in (True, False):
        share, rho = kernel_design(question, list(range(6)), linear=linear, cost=cost)
        assert share[1] == share[4] == 0.0
        assert share.sum() == pytest.approx(1.0)
        assert np.isfinite(rho)


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


def test_the_bias_of_a_regression_is_reached_in_the_tube(rng: Generator) -> None:
    features, counts, eps = rng.normal(size=(7, 3)), rng.integers(1, 9, 7), 0.2
    question = Question(Model(features, eps), 1, noise=rng.uniform(0.5, 2.0, 7))
    found = estimates(question, counts.astype(float), np.zeros(7), True)
    worst = 0.0
    for signs in np.ndindex(*[2] * 7):
        deviations = eps * (2.0 * np.array(signs) - 1.0)
        fitted = estimates(question, counts.astype(float), counts * deviations, True).means
        worst = max(worst, abs(fitted[2] - fitted[4] - (deviations[2] - deviations[4])))
    assert found.biases[2, 4] == pytest.approx(worst)


@pytest.mark.parametrize("algorithm", ALL, ids=str)
@pytest.mark.parametrize("unit", [0.25, 1e3])
def test_free_of_units(rng: Generator, algorithm: Phased, unit: float) -> None:
    question, means = question_of(rng, (6, 3), 2, 0.05)
    features, noise = question.model.features, question.noise
    runs = [
        identify(
            Instance(Model(features, scale * 0.05), scale * means, noise=scale * noise),
            2,
            algorithm=algorithm,
            stopping="heuristic",
            max_samples=100_000,
        )
        for scale in (1.0, unit)
    ]
    assert runs[0].samples == runs[1].samples
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)


@pytest.mark.parametrize("stopping", ["guaranteed", "heuristic"])
@pytest.mark.parametrize("eps", [0.0, 0.02, 0.3, np.inf])
@pytest.mark.parametrize("name", ["rage", "xy-adaptive", "xy-static"])
def test_runs_end_and_are_right(name: str, eps: float, stopping: str) -> None:
    rng = np.random.default_rng(3)
    for seed in range(1):
        question, means = question_of(rng, (8, 3), 2, eps)
        instance = Instance(question.model, means, noise=question.noise)
        found = identify(
            instance, 2, algorithm=name, stopping=stopping, seed=seed, max_samples=1_000_000
        )
        assert found.status == "stopped"
        assert found.correct


def test_a_static_design_does_not_look_at_values(rng: Generator) -> None:
    """Until it stops, the same arms are measured whatever comes out."""
    question, _ = question_of(rng, (8, 3), 2, 0.0)
    chosen = []
    for scale in (0.0, 0.1):
        engine = Engine(question.replace(delta=1e-9), "xy-static", "heuristic")
        for arm in engine.design:
            engine.observe(int(arm), scale * rng.normal())
        arms = [engine.propose()]
        for _ in range(300):
            engine.observe(arms[-1], scale * rng.normal())
            arms.append(engine.propose())
        chosen.append(arms)
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", ["rage", "xy-adaptive", "xy-static"])
def test_equal_arms_take_few_plans(name: str) -> None:
    """Nothing tells them apart, so that a phase has nothing to measure."""
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.2]])
    engine = Engine(Question(Model(features, 0.0), 1, noise=0.3), name, "heuristic")
    means = features @ [1.0, 0.3]
    for arm in engine.design:
        engine.observe(int(arm), means[arm])
    for _ in range(5_000):
        arm = engine.propose()
        engine.observe(arm, means[arm])
    assert engine._rules.sampler.number < 400
