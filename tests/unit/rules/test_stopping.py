"""Stopping rules against slow versions made of the public geometry and dense matrices."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import logsumexp

from helpers.measured import Data, Floats, random_data, samples, setting_of, state_of
from mislid._kernels.compile import kernel
from mislid._kernels.mixture import SPREADS, Mixture, mixture_price, new_mixture
from mislid._kernels.search import ALL, BELOW, EXEMPT, search
from mislid._kernels.state import (
    LAGGING,
    LAST_TEST,
    PAIRED,
    SAMPLES,
    SEARCHED,
    STALLS,
    STATISTIC,
    TESTS,
    THRESHOLD,
    State,
    new_state,
)
from mislid._kernels.stopping import CODES, PRACTICE, estimate_and_test, new_stopping
from mislid._kernels.two_arms import ACCURACY, closest_unstructured, is_wide
from mislid.errors import ProblemError
from mislid.geometry.alternatives import closest_alternative, pair_alternative
from mislid.geometry.coordinates import coordinates
from mislid.geometry.pairs import all_pairs, top_arms
from mislid.geometry.projection import project
from mislid.model import Model
from mislid.rules.stopping import STOPPING_RULES
from mislid.rules.thresholds import (
    heuristic_threshold,
    pairwise_threshold,
    paper_threshold,
    unstructured_threshold,
)


@kernel
def price(X, weights, means, prior):
    return mixture_price(X, weights, means, prior)


@kernel
def closest_of(setting, given, weights, incumbents, tol, space):
    if is_wide(setting.eps, given, tol):
        return closest_unstructured(given, weights, incumbents, tol, space)
    status, cost, _, i, j, _, _ = search(
        int(ALL), setting.X, setting.eps, given, weights, incumbents, tol, ACCURACY, space
    )
    return status, cost, i, j


def verdict(data: Data, name: str) -> tuple[bool, State]:
    setting, state = setting_of(data), state_of(data)
    return bool(estimate_and_test(setting, new_stopping(setting, name), state)), state


def dense_price(X: Floats, weights: Floats, means: Floats, prior: Mixture) -> float:
    """The mixture's price with K by K matrices, over the arms that were measured."""
    seen = weights > 0
    X, w, x = X[seen], weights[seen], means[seen]
    logs = []
    for s, v in zip(prior.scales, prior.variances, strict=True):
        Sigma = s**2 * X @ X.T + v * np.eye(len(x))
        determinant = np.linalg.slogdet(np.eye(len(x)) + w[:, None] * Sigma)[1]
        logs.append(-0.5 * determinant - 0.5 * x @ np.linalg.solve(np.diag(1 / w) + Sigma, x))
    return float(math.log(len(logs)) - logsumexp(logs))


def estimated(data: Data) -> tuple[Floats, NDArray[np.int64]]:
    means = project(data.model, data.means, data.weights).means
    return means, top_arms(means, data.m)


def test_rules_have_names_and_honest_labels() -> None:
    assert set(STOPPING_RULES) == set(CODES)
    assert {name for name, rule in STOPPING_RULES.items() if not rule.guaranteed} == {
        "heuristic",
        "paper-printed",
    }
    assert "no guarantee" in str(STOPPING_RULES["heuristic"])


def test_unknown_rules_and_grids_are_refused() -> None:
    setting = setting_of(random_data(np.random.default_rng(0)))
    with pytest.raises(ProblemError, match="stopping must be one of heuristic, paper"):
        new_stopping(setting, "magic")
    with pytest.raises(ProblemError, match="gamma"):
        new_stopping(setting, "paper", gamma=0.9)


@pytest.mark.parametrize("eps", [0.0, 0.004, 0.2, 5.0, math.inf])
def test_price_is_that_of_dense_matrices(eps: float) -> None:
    for data in samples(1, 20, eps):
        setting = setting_of(data)
        prior = new_mixture(setting)
        weights = data.weights.copy()
        weights[np.setdiff1d(np.arange(data.model.K), setting.basis)[:1]] = 0.0
        slow = dense_price(setting.X, weights, data.means, prior)
        assert_allclose(price(setting.X, weights, data.means, prior), slow, rtol=1e-7)


def test_price_keeps_its_digits_when_all_means_are_large() -> None:
    # Constant means are linear here, so 1e5 noises of level are a matter of the prior alone.
    data = random_data(np.random.default_rng(5), 0.1, size=1e6)
    ones = Data(Model(np.ones((4, 1)), 0.1), np.ones(4), data.counts[:4], np.full(4, 1e5), 1)
    setting = setting_of(ones)
    prior = new_mixture(setting)._replace(scales=np.array([1e5]), variances=np.zeros(1))
    w = ones.counts.sum()
    expected = 0.5 * math.log(1 + w * 1e10) + 0.5 * 1e10 / (1 / w + 1e10)
    assert_allclose(price(setting.X, ones.weights, ones.means, prior), expected, rtol=1e-12)


def test_priors_reach_the_declared_misspecification_and_no_further() -> None:
    for eps in (0.0, 0.004, 0.25, 10.0, 50.0, math.inf):
        data = random_data(np.random.default_rng(3), eps)
        unit = math.exp(np.mean(np.log(data.noise)))
        largest = math.sqrt(3.0 * np.max(new_mixture(setting_of(data)).variances))
        assert_allclose(largest, min(eps, unit * SPREADS[-1]))


@pytest.mark.parametrize("eps", [0.0, 0.02, math.inf])
@pytest.mark.parametrize("weight", [1.0, 1e3])
def test_ratio_has_mean_one_under_the_truth(eps: float, weight: float) -> None:
    # One arm, empirical mean x ~ N(mu, 1/w). The ratio exp(1/2 w (x - mu)^2 - price(x)) times the
    # density of x is sqrt(w / 2 pi) exp(-price(x)) for every mu: it must integrate to one.
    data = Data(Model([[1.0], [1.0]], eps), np.ones(2), np.ones(2), np.zeros(2), 1)
    X, prior = np.ones((1, 1)), new_mixture(setting_of(data))
    prior = prior._replace(shrunk=np.zeros(1), residual=np.zeros(1))

    def density(x: float) -> float:
        value = -price(X, np.array([weight]), np.array([x]), prior)
        return math.sqrt(weight / (2 * math.pi)) * math.exp(value)

    edges = [0.0, 0.003, *(10.0**k for k in range(-2, 5)), 2e4]
    half = sum(quad(density, a, b, limit=200)[0] for a, b in pairwise(edges))
    assert 2 * half == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("name", ["heuristic", "paper", "paper-printed"])
def test_paper_rules_measure_from_the_projected_means(name: str) -> None:
    verdicts = []
    for data in samples(2, 40):
        t, K, d = data.counts.sum(), data.model.K, data.model.d
        eps = data.model.misspecification
        means, incumbents = estimated(data)
        cost = closest_alternative(
            data.model, means, data.weights, data.m, tolerance=data.tol, incumbents=incumbents
        ).cost
        if name == "heuristic":
            threshold = heuristic_threshold(t, data.delta)
        else:
            information = float(data.weights.sum())
            printed = name == "paper-printed"
            threshold = paper_threshold(
                t, K, d, data.delta, eps, information=information, printed=printed
            )
            if name == "paper" and not explored(data):
                threshold = unstructured_threshold(t, K, data.delta)
        answer, state = verdict(data, name)
        assert_array_equal(state.incumbents, incumbents)
        assert_allclose(state.evidence[THRESHOLD], threshold, rtol=1e-12)
        assert_allclose(state.evidence[STATISTIC], cost, rtol=1e-6, atol=1e-9 * t)
        assert answer == (state.evidence[STATISTIC] > threshold)
        verdicts.append(answer)
    assert set(verdicts) == {True, False}


def explored(data: Data) -> bool:
    X = coordinates(data.model).matrix / data.noise[:, None]
    V = (X * data.counts[:, None]).T @ X
    return bool(np.linalg.eigvalsh(V)[0] > 2 * np.max(np.sum(X**2, axis=1)))


def test_linear_threshold_waits_until_features_are_explored() -> None:
    features = np.random.default_rng(0).normal(size=(30, 2))
    found = set()
    for n in range(1, 6):
        data = Data(Model(features, 0.0), np.ones(30), np.zeros(30), features[:, 0], 1)
        data.counts[coordinates(data.model).basis] = n
        _, state = verdict(data, "paper")
        linear = paper_threshold(2 * n, 30, 2, 0.05, 0.0)
        assert linear < unstructured_threshold(2 * n, 30, 0.05)
        assert (state.evidence[THRESHOLD] == linear) == explored(data)
        found.add(explored(data))
    assert found == {True, False}


def test_mixture_measures_from_the_empirical_means() -> None:
    verdicts = []
    for data in samples(3, 60):
        setting = setting_of(data)
        _, incumbents = estimated(data)
        cost = closest_alternative(
            data.model, data.means, data.weights, data.m, tolerance=data.tol, incumbents=incumbents
        ).cost
        slow = dense_price(setting.X, data.weights, data.means, new_mixture(setting))
        answer, state = verdict(data, "mixture")
        assert_allclose(state.evidence[STATISTIC], cost, rtol=1e-6, atol=1e-9 * data.counts.sum())
        assert_allclose(state.evidence[THRESHOLD], math.log(1 / data.delta) + slow, rtol=1e-7)
        assert answer == (state.evidence[STATISTIC] >= state.evidence[THRESHOLD])
        verdicts.append(answer)
    assert set(verdicts) == {True, False}


def test_mixture_finds_the_closest_pair_when_the_means_are_far_from_any_model() -> None:
    # The projection's cost then dwarfs what pairs add, and a bound on it prunes the search.
    for n, data in enumerate(samples(10, 60, 0.05)):
        far = data._replace(means=data.means + np.random.default_rng(n).normal(size=data.model.K))
        expected = closest_alternative(
            far.model,
            far.means,
            far.weights,
            far.m,
            tolerance=far.tol,
            incumbents=estimated(far)[1],
        )
        _, state = verdict(far, "mixture")
        assert_allclose(state.evidence[STATISTIC], expected.cost, rtol=1e-7)


def pair_ratios(data: Data, pairs: NDArray[np.int64], delta: float) -> tuple[Floats, Floats]:
    """Every pair's statistic and threshold from its own two arms."""
    i, j = pairs.T
    gap = np.maximum(data.means[j] - data.means[i] + data.tol, 0.0)
    total = data.weights[i] + data.weights[j]
    costs = 0.5 * gap**2 * data.weights[i] * data.weights[j] / total
    levels = [
        pairwise_threshold(data.counts[a], data.counts[b], data.model.K, data.m, delta)
        for a, b in pairs
    ]
    return costs, np.array(levels)


def test_pairwise_asks_every_pair() -> None:
    verdicts = []
    for data in samples(4, 60):
        pairs = all_pairs(data.model.K, estimated(data)[1])
        costs, levels = pair_ratios(data, pairs, data.delta)
        limiting = int(np.argmin(costs / levels))
        answer, state = verdict(data, "pairwise")
        assert answer == bool(np.all(costs >= levels))
        assert_allclose(state.evidence[:2], [costs[limiting], levels[limiting]], rtol=1e-9)
        if costs[limiting] > 0:
            assert state.evidence[2:4].astype(int).tolist() == pairs[limiting].tolist()
        assert not state.test.pairs[EXEMPT].any()
        verdicts.append(answer)
    assert set(verdicts) == {True, False}


def proofs(data: Data) -> tuple[NDArray[np.bool_], Floats, Floats, float]:
    """Of every pair: settled by its own arms or not, its own threshold, its cost; the mixture's."""
    setting = setting_of(data)
    pairs = all_pairs(data.model.K, estimated(data)[1])
    costs, levels = pair_ratios(data, pairs, data.delta / 2)
    slow = dense_price(setting.X, data.weights, data.means, new_mixture(setting))
    threshold = math.log(2 / data.delta) + slow
    structured = [
        pair_alternative(data.model, data.means, data.weights, i, j, tolerance=data.tol).cost
        for i, j in pairs.tolist()
    ]
    return costs >= levels, levels, np.array(structured), threshold


def settled_by(data: Data) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[float]]:
    """Which pairs `guaranteed` settles by their own arms, which by the mixture; all thresholds."""
    alone, levels, structured, threshold = proofs(data)
    return alone, structured >= threshold, [*levels, threshold]


def left_by_pairs(data: Data) -> float:
    """Measurements until each arm has what its gap to the other side asks for."""
    means, incumbents = estimated(data)
    inside = np.isin(np.arange(data.model.K), incumbents)
    gaps = np.where(inside, means - means[~inside].max(), means[inside].min() - means) + data.tol
    levels = [pairwise_threshold(n, n, data.model.K, data.m, data.delta / 2) for n in data.counts]
    needed = data.noise**2 * 4 * np.array(levels) / gaps**2
    return PRACTICE * float(np.sum(np.maximum(needed - data.counts, 0.0)))


def test_guaranteed_aims_at_the_proof_that_is_likely_to_end_first() -> None:
    aims = []
    for data in samples(6, 150):
        answer, state = verdict(data, "guaranteed")
        alone, _, structured, threshold = proofs(data)
        if answer:
            continue
        together = data.counts.sum() * (threshold / structured[~alone].min() - 1.0)
        by_pairs = state.clock[PAIRED] == state.clock[SAMPLES]
        assert by_pairs == (left_by_pairs(data) < together)
        aims.append(by_pairs)
        costs, levels = pair_ratios(
            data, all_pairs(data.model.K, estimated(data)[1]), data.delta / 2
        )
        lagging = all_pairs(data.model.K, estimated(data)[1])[np.argmin(costs / levels)]
        if costs.min() > 0:
            assert state.doubted[LAGGING:].tolist() == lagging.tolist()
    assert set(aims) == {True, False}


def test_guaranteed_settles_each_pair_by_either_proof() -> None:
    verdicts = []
    for data in samples(5, 150):
        alone, mixture, thresholds = settled_by(data)
        answer, state = verdict(data, "guaranteed")
        assert answer == bool(np.all(alone | mixture))
        assert answer == (state.evidence[STATISTIC] >= state.evidence[THRESHOLD])
        assert np.min(np.abs(state.evidence[THRESHOLD] / thresholds - 1)) < 1e-7
        assert not state.test.pairs[EXEMPT].any()
        verdicts.append(answer)
    assert set(verdicts) == {True, False}


def test_guaranteed_needs_both_proofs_at_times() -> None:
    # The last arm was never measured: only features speak for it. The closest pair is too close for
    # the mixture, which pays for all arms.
    features = [[1.0, 0.0], [0.0, 1.0], *([0.5, 0.5],) * 5, [-1.0, -1.0]]
    means = np.array([1.0, 0.5, *np.linspace(0.2, 0.6, 5), 0.0])
    counts = np.array([505.0] * 7 + [0.0])
    data = Data(Model(features, 0.3), np.ones(8), counts, means, 1)
    alone, mixture, _ = settled_by(data)
    assert not np.all(alone)
    assert not np.all(mixture)
    assert np.all(alone | mixture)
    assert verdict(data, "guaranteed")[0]
    assert not verdict(data._replace(counts=0.8 * counts), "guaranteed")[0]
    assert not verdict(data, "pairwise")[0]
    assert not verdict(data, "mixture")[0]


@pytest.mark.parametrize("name", list(CODES))
def test_units_do_not_matter(name: str) -> None:
    for data in samples(6, 15):
        unit = 2.0**20  # exact, so that the search takes the same path
        scaled = data._replace(
            model=Model(data.model.features, data.model.misspecification * unit),
            noise=data.noise * unit,
            means=data.means * unit,
            tol=data.tol * unit,
        )
        answer, state = verdict(data, name)
        other, scaled_state = verdict(scaled, name)
        assert answer == other
        assert_allclose(scaled_state.evidence, state.evidence, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", list(CODES))
def test_the_basis_of_the_features_does_not_matter(name: str) -> None:
    for n, data in enumerate(samples(7, 15)):
        turn = np.random.default_rng(n).normal(size=(data.model.d, data.model.d))
        turned = data._replace(model=Model(data.model.features @ turn, data.model.misspecification))
        answer, state = verdict(data, name)
        other, turned_state = verdict(turned, name)
        assert answer == other
        size = float(data.weights @ data.means**2)
        assert_allclose(turned_state.evidence, state.evidence, rtol=1e-6, atol=1e-9 * size)


@pytest.mark.parametrize("name", list(CODES))
def test_more_confidence_or_less_tolerance_never_stops_earlier(name: str) -> None:
    changes = 0
    for data in samples(8, 25):
        by_delta = [verdict(data._replace(delta=c), name)[0] for c in (1e-12, 1e-4, 0.05, 0.4)]
        by_tolerance = [verdict(data._replace(tol=x), name)[0] for x in (0.0, 0.1, 0.5, 2.0)]
        assert by_delta == sorted(by_delta)
        assert by_tolerance == sorted(by_tolerance)
        changes += len(set(by_delta)) + len(set(by_tolerance)) - 2
    assert changes > 3


@pytest.mark.parametrize("name", ["mixture", "guaranteed", "pairwise"])
def test_arms_never_measured_are_not_settled_by_themselves(name: str) -> None:
    features = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.2]])
    counts = np.array([1e6, 1e6, 0.0])
    means = np.array([1.0, 0.0, 123.0])  # the last must not be looked at
    for eps, known in ((0.0, True), (1.0, False), (math.inf, False)):
        data = Data(Model(features, eps), np.ones(3), counts, means, 1)
        answer, state = verdict(data, name)
        assert answer == (known and name != "pairwise")
        assert np.all(np.isfinite(state.evidence))


def test_tests_follow_a_geometric_grid() -> None:
    data = random_data(np.random.default_rng(11), 0.1)
    setting, state = setting_of(data), state_of(data)
    stopping = new_stopping(setting, "guaranteed", gamma=1.5)
    for t in range(10, 100):
        state.clock[SAMPLES] = t
        before = state.clock[TESTS]
        estimate_and_test(setting, stopping, state)
        assert (state.clock[TESTS] > before) == (t in {10, 16, 25, 38, 58, 88})
    assert state.clock[LAST_TEST] == 88


@pytest.mark.parametrize("name", ["heuristic", "mixture"])
def test_a_search_that_stalls_decides_nothing(name: str) -> None:
    data = random_data(np.random.default_rng(12), 0.05, size=1e9)
    setting, state = setting_of(data), state_of(data)
    stopping = new_stopping(setting, name)
    assert estimate_and_test(setting, stopping, state)
    assert state.clock[STALLS] == 0
    means = state.means.copy()
    state.means[:] = math.nan
    state.clock[SAMPLES] += 1
    assert not estimate_and_test(setting, stopping, state)
    assert state.clock[STALLS] == 1
    state.means[:] = means
    assert estimate_and_test(setting, stopping, state)


@pytest.mark.parametrize("name", list(CODES))
@pytest.mark.parametrize("eps", [0.05, 0.5])
def test_shortcuts_along_a_run_change_no_verdict(name: str, eps: float) -> None:
    """An old alternative or an old price may spare work; a fresh rule has neither."""
    rng = np.random.default_rng(14)
    data = random_data(rng, eps)
    data = data._replace(noise=20.0 * data.noise)
    setting, state = setting_of(data), new_state(setting_of(data))
    stopping = new_stopping(setting, name)
    verdicts = []
    spared = 0
    for t in range(1500):
        arm, n = t % data.model.K, 1 + int(state.clock[SAMPLES]) // 200
        state.counts[arm] += n
        state.sums[arm] += n * data.means[arm] + np.sqrt(n) * data.noise[arm] * rng.normal()
        state.weights[:] = state.counts / setting.variance
        state.means[:] = state.sums / np.maximum(state.counts, 1.0)
        state.clock[SAMPLES] += n
        if t >= data.model.K:
            verdicts.append(estimate_and_test(setting, stopping, state))
            spared += state.clock[SEARCHED] < state.clock[SAMPLES]
        if t >= data.model.K and t % 4 == 0:
            seen = data._replace(counts=state.counts.copy(), means=state.means.copy())
            assert verdicts[-1] == verdict(seen, name)[0]
    assert name == "pairwise" or spared > 100
    assert len(set(verdicts)) == 2


@pytest.mark.parametrize("eps", [0.0, 0.3, math.inf])
def test_closest_leaves_means_minus_alternative(eps: float) -> None:
    for data in samples(9, 20, eps):
        setting, state = setting_of(data), state_of(data)
        incumbents = top_arms(data.means, data.m)
        expected = closest_alternative(
            data.model, data.means, data.weights, data.m, tolerance=data.tol
        )
        _, cost, i, j = closest_of(
            setting, state.means, state.weights, incumbents, data.tol, state.play
        )
        assert_allclose(cost, expected.cost, rtol=1e-7)
        below = state.play.arms[BELOW]
        assert_allclose(0.5 * np.sum(state.weights * below**2), cost, rtol=1e-6)
        alternative = data.means - below
        assert alternative[i] >= alternative[j] + data.tol - 1e-9
        assert i not in incumbents
        assert j in incumbents


@pytest.mark.parametrize("eps", [0.05, math.inf])
def test_closest_leaves_out_exempt_pairs(eps: float) -> None:
    data = random_data(np.random.default_rng(13), eps)
    setting, state = setting_of(data), state_of(data)
    incumbents = top_arms(data.means, data.m)
    pairs = all_pairs(data.model.K, incumbents)
    seen = []
    for _ in pairs:
        _, cost, i, j = closest_of(
            setting, state.means, state.weights, incumbents, data.tol, state.play
        )
        seen.append((cost, i, j))
        state.play.pairs[EXEMPT, pairs.tolist().index([i, j])] = 1
    costs = [cost for cost, _, _ in seen]
    assert_allclose(costs, sorted(costs), rtol=1e-9)
    assert len({(i, j) for _, i, j in seen}) == len(pairs)
