"""What must hold of projections and alternatives whatever the model, the means and the weights."""

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.linalg import null_space

from mislid.geometry.alternatives import (
    Alternative,
    AlternativeSearch,
    closest_alternative,
    pair_alternative,
)
from mislid.geometry.duality import PairProblem, proved_bound
from mislid.geometry.projection import project
from mislid.model import Model

Floats = NDArray[np.float64]

RTOL = 1e-9


class Case(NamedTuple):
    """A pair problem: challenger 0, incumbent 1."""

    features: Floats
    misspecification: float
    means: Floats
    weights: Floats
    tolerance: float

    def pair(self, **changes: Any) -> Alternative:
        now = self._replace(**changes)
        model = Model(now.features, now.misspecification)
        return pair_alternative(model, now.means, now.weights, 0, 1, tolerance=now.tolerance)

    def closest(self, m: int, **changes: Any) -> Alternative:
        now = self._replace(**changes)
        model = Model(now.features, now.misspecification)
        return closest_alternative(model, now.means, now.weights, m, tolerance=now.tolerance)

    @property
    def size(self) -> float:
        """A cost that is large here: everything absolute is measured by it."""
        return float(np.max(self.weights) * (np.max(np.abs(self.means)) + self.tolerance) ** 2)


@st.composite
def cases(draw: st.DrawFn, zeros: bool = True, smallest: int = 2) -> Case:
    """Well-conditioned problems; hypothesis chooses the regimes, a seed the numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arms = draw(st.integers(smallest, 14))
    dimension = draw(st.integers(1, min(arms, 5)))
    kind = draw(st.sampled_from(["gaussian", "small integers", "groups"]))
    if kind == "gaussian":
        features = rng.normal(size=(arms, dimension))
    elif kind == "small integers":
        features = rng.integers(-2, 3, size=(arms, dimension)).astype(np.float64)
    else:
        features = np.eye(dimension)[rng.integers(dimension, size=arms)]
    assume(np.any(features != 0))
    misspecification = draw(st.sampled_from([0.0, 1e-6, 0.1, 1.0, 10.0, math.inf]))
    means = rng.normal(size=arms)
    if draw(st.booleans()):
        means = features @ rng.normal(size=dimension) + 0.1 * means
    weights = 10.0 ** rng.uniform(-2, 2, size=arms)
    if zeros and draw(st.booleans()):
        weights = np.where(rng.random(arms) < 0.3, 0.0, weights)
        assume(np.any(weights > 0))
    return Case(features, misspecification, means, weights, draw(st.sampled_from([0.0, 0.1, 2.0])))


def same_cost(one: float, other: float, case: Case, factor: float = 1.0) -> None:
    """Equal up to the accuracy that is promised."""
    assert_allclose(one, other, rtol=2 * RTOL, atol=1e-12 * factor * case.size)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_arms_does_not_matter(case: Case, random: Any) -> None:
    order = list(range(len(case.means)))
    random.shuffle(order)
    where = np.argsort(order)
    model = Model(case.features[order], case.misspecification)
    means, weights = case.means[order], case.weights[order]
    found = pair_alternative(
        model, means, weights, int(where[0]), int(where[1]), tolerance=case.tolerance
    )
    same_cost(found.cost, case.pair().cost, case)
    same_cost(
        project(model, means, weights).cost,
        project(Model(case.features, case.misspecification), case.means, case.weights).cost,
        case,
    )
    closest = closest_alternative(model, means, weights, 1, tolerance=case.tolerance)
    same_cost(closest.cost, case.closest(1).cost, case)


@given(cases(), st.integers(0, 2**32 - 1), st.integers(-6, 6))
def test_the_basis_of_the_features_does_not_matter(case: Case, seed: int, power: int) -> None:
    dimension = case.features.shape[1]
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(dimension, dimension)))[0] for _ in range(2))
    R = 10.0**power * left * rng.uniform(0.5, 2, dimension) @ right
    mixed = case.features @ R
    same_cost(case.pair(features=mixed).cost, case.pair().cost, case)
    same_cost(case.closest(1, features=mixed).cost, case.closest(1).cost, case)
    one, other = (
        project(Model(features, case.misspecification), case.means, case.weights)
        for features in (case.features, mixed)
    )
    same_cost(one.cost, other.cost, case)


@given(cases(), st.integers(-20, 20), st.floats(-10, 10))
def test_rewards_have_no_scale(case: Case, power: int, digits: float) -> None:
    s = (1.0 + abs(digits)) * 2.0**power
    scaled = {
        "means": s * case.means,
        "misspecification": s * case.misspecification,
        "tolerance": s * case.tolerance,
    }
    found, plain = case.pair(**scaled), case.pair()
    same_cost(found.cost / s**2, plain.cost, case)
    same_cost(case.closest(1, **scaled).cost / s**2, case.closest(1).cost, case)


@given(cases(), st.integers(-20, 20), st.floats(-10, 10))
def test_weights_have_no_scale(case: Case, power: int, digits: float) -> None:
    c = (1.0 + abs(digits)) * 2.0**power
    found, plain = case.pair(weights=c * case.weights), case.pair()
    same_cost(found.cost / c, plain.cost, case)
    if math.isfinite(plain.cost):
        heavy = case.weights > 0
        atol = 1e-4 * math.sqrt(case.size / np.min(case.weights[heavy]))
        assert_allclose(found.means[heavy], plain.means[heavy], atol=atol)


@given(cases(), st.floats(-100, 100))
def test_the_level_of_linear_models_does_not_matter(case: Case, level: float) -> None:
    """Adding a linear model to the means adds it to the alternatives, at the same distance."""
    assume(math.isfinite(case.misspecification))
    rng = np.random.default_rng(0)
    shift = case.features @ rng.normal(size=case.features.shape[1]) * level
    gap = float(shift[1] - shift[0])
    assume(case.tolerance - gap >= 0)
    found = case.pair(means=case.means + shift, tolerance=case.tolerance - gap)
    factor = 1 + float(np.max(np.abs(shift)) / max(np.max(np.abs(case.means)), 1e-3)) ** 2
    same_cost(found.cost, case.pair().cost, case, factor)


def split(case: Case, arm: int, share: float) -> dict[str, Any]:
    """The problem with a copy of an arm, which takes a share of its weight."""
    weights = np.append(case.weights, share * case.weights[arm])
    weights[arm] *= 1 - share
    return {
        "features": np.vstack([case.features, case.features[arm]]),
        "means": np.append(case.means, case.means[arm]),
        "weights": weights,
    }


@given(cases(smallest=3), st.integers(2, 13), st.floats(0.05, 0.95))
def test_splitting_an_arm_cannot_cost_more(case: Case, arm: int, share: float) -> None:
    """An arm that is not of the pair becomes two of the same features, mean and weight in sum.

    Each copy has a deviation of its own, so that every alternative of the split model whose copies
    agree is one of the plain model at the same cost, and the other way round. Copies that differ
    gain nothing: their average is a model too and, the loss being convex, no dearer. So weights
    are repetitions for arms outside the pair.
    """
    arm = arm % len(case.means)
    assume(arm > 1)
    found, plain = case.pair(**split(case, arm, share)), case.pair()
    same_cost(found.cost, plain.cost, case)


@given(cases(), st.floats(0.05, 0.95), st.sampled_from([0, 1]))
def test_splitting_an_arm_of_the_pair_makes_it_cheaper(case: Case, share: float, arm: int) -> None:
    """Only one copy has to be reversed then; with no tube to part them it makes no difference."""
    found, plain = case.pair(**split(case, arm, share)), case.pair()
    if math.isinf(plain.cost):
        assert found.cost == math.inf
        return
    assert found.cost <= plain.cost * (1 + RTOL) + 1e-12 * case.size
    if case.misspecification == 0.0:
        same_cost(found.cost, plain.cost, case)


@given(cases(), st.floats(0, 3), st.floats(0, 3))
def test_a_wider_tube_is_no_dearer(case: Case, eps: float, more: float) -> None:
    narrow = case.pair(misspecification=eps).cost
    wide = case.pair(misspecification=eps + more).cost
    assert math.isinf(narrow) or wide <= narrow * (1 + RTOL) + 1e-12 * case.size
    narrow, wide = (
        project(Model(case.features, value), case.means, case.weights).cost
        for value in (eps, eps + more)
    )
    assert wide <= narrow * (1 + RTOL) + 1e-12 * case.size


@given(cases(), st.floats(0, 3), st.floats(0, 3))
def test_more_tolerance_is_no_cheaper(case: Case, tolerance: float, more: float) -> None:
    for solve in (case.pair, lambda **changes: case.closest(1, **changes)):
        strict = solve(tolerance=tolerance + more).cost
        exact = solve(tolerance=tolerance).cost
        if math.isinf(exact):
            assert math.isinf(strict)
        else:
            assert exact <= strict * (1 + RTOL) + 1e-12 * case.size


@given(cases())
def test_an_alternative_costs_at_least_the_projection(case: Case) -> None:
    model = Model(case.features, case.misspecification)
    floor = project(model, case.means, case.weights)
    found = case.pair()
    assert found.cost >= floor.bound * (1 - RTOL) - 1e-12 * case.size
    if floor.means[0] >= floor.means[1] + case.tolerance:
        same_cost(found.cost, floor.cost, case)


@given(cases())
def test_every_answer_proves_itself(case: Case) -> None:
    for found in (case.pair(), case.closest(1), case.closest(len(case.means) - 1)):
        assert found.bound <= found.cost
        assert str(found.check()) == "holds"
    shown = project(Model(case.features, case.misspecification), case.means, case.weights)
    assert shown.bound <= shown.cost
    assert str(shown.check()) == "holds"


@given(cases(), st.integers(0, 2**32 - 1), st.floats(-3, 3), st.floats(0, 10))
def test_any_feasible_multipliers_are_a_lower_bound(
    case: Case, seed: int, power: float, alpha: float
) -> None:
    """z in the null space of A' and alpha >= 0, from nowhere: whatever is stored is safe to use."""
    found = case.pair()
    basis = null_space(found.model.features.T)
    rng = np.random.default_rng(seed)
    z = 10.0**power * basis @ rng.normal(size=basis.shape[1])
    if math.isinf(case.misspecification):
        z = np.zeros(len(case.means))
    problem = PairProblem(found.model, case.means, case.weights, case.tolerance)
    bound = proved_bound(problem, z, alpha, (0, 1))
    assert bound <= found.cost * (1 + RTOL) + 1e-12 * case.size
    floor = project(found.model, case.means, case.weights)
    assert proved_bound(problem, z) <= floor.cost * (1 + RTOL) + 1e-12 * case.size


@given(cases(), cases())
def test_stored_multipliers_bound_other_means_and_weights(case: Case, other: Case) -> None:
    """The certificate of one problem is a bound for the same pair at other means and weights."""
    size = min(len(case.means), len(other.means))
    assume(np.any(other.weights[:size] > 0) and np.any(case.weights[:size] > 0))
    assume(np.any(case.features[:size] != 0))
    first = Case(
        case.features[:size], case.misspecification, case.means[:size], case.weights[:size], 0.1
    )
    stored = first.pair()
    assume(math.isfinite(stored.cost))
    second = first._replace(means=other.means[:size], weights=other.weights[:size])
    problem = PairProblem(stored.model, second.means, second.weights, 0.1)
    bound = proved_bound(problem, stored.multipliers, stored.alpha, (0, 1))
    # Rounding in A'z = 0 is worth a little at means of another size.
    assert bound <= second.pair().cost * (1 + 1e-7) + 1e-9 * second.size


@given(st.lists(cases(smallest=6), min_size=2, max_size=4), st.integers(1, 5))
def test_what_a_search_remembers_does_not_change_its_answers(several: list[Case], m: int) -> None:
    """The harshest sequence: means and weights have nothing to do with one another."""
    size = min(len(case.means) for case in several)
    features, eps = several[0].features[:size], several[0].misspecification
    assume(np.any(features != 0))
    model = Model(features, eps)
    search = AlternativeSearch(model, m)
    for case in several:
        means, weights = case.means[:size], case.weights[:size]
        if not np.any(weights > 0):
            continue
        warm = search.closest(means, weights, tolerance=case.tolerance)
        cold = closest_alternative(model, means, weights, m, tolerance=case.tolerance)
        same_cost(warm.cost, cold.cost, case)
