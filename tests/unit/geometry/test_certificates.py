"""A certificate holds for the answers given, and for nothing that was tampered with."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import null_space

from mislid.geometry.alternatives import Alternative, closest_alternative, pair_alternative
from mislid.geometry.duality import PairProblem, Proofs, proved_bound
from mislid.geometry.projection import Projection, project
from mislid.model import Model

INF, NAN = math.inf, math.nan
OUTSIDE, UNPROVED = "means must deviate from features @ theta", "bound must be what the multipliers"
INFEASIBLE = "features.T @ multipliers must vanish"
RNG = np.random.default_rng(8)
FEATURES = RNG.normal(size=(9, 3))
NULL = null_space(FEATURES.T)
MODEL = Model(FEATURES, 0.1)
# Outside the tube, so that the projection's multipliers (the floor) matter; gaps are larger.
MEANS = FEATURES @ np.array([2.0, -1.0, 1.0]) + 0.3 * RNG.normal(size=9)
WEIGHTS = RNG.uniform(0.5, 2.0, 9)
M, TOLERANCE = 3, 0.2


def closest() -> Alternative:
    return closest_alternative(MODEL, MEANS, WEIGHTS, M, tolerance=TOLERANCE)


def projection() -> Projection:
    return project(MODEL, MEANS, WEIGHTS)


def moved(values: Any, arm: int, by: float) -> Any:
    changed = np.array(values, dtype=np.float64)
    changed[arm] += by
    return changed


def test_good_answers_hold() -> None:
    for answer in (closest(), projection(), pair_alternative(MODEL, MEANS, WEIGHTS, 0, 1)):
        assert str(answer.check(rtol=1e-9)) == "holds"
        assert answer.check().ok
        assert answer.check().failures == ()


def test_the_scale_of_multipliers_is_not_a_claim() -> None:
    found = closest()
    for factor in (1e-200, 1e-6, 3.0, 1e200):
        scaled = replace(found, multipliers=factor * found.multipliers, alpha=factor * found.alpha)
        assert scaled.check(rtol=1e-9)
    shown = projection()
    assert replace(shown, multipliers=3.0 * shown.multipliers).check(rtol=1e-9)


def tampered_alternatives() -> dict[str, tuple[Alternative, str]]:
    good = closest()
    i, j = good.pair
    other = next(k for k in range(9) if k not in (i, j))
    other_model = Model(FEATURES, 0.05)
    dearer = 1.01 * good.cost
    return {
        "means leave the tube": (
            replace(good, means=moved(good.means, other, 5.0)),
            f"means must deviate from features @ theta by at most 0.1; arm {other} exceeds",
        ),
        "means are not reversed": (
            replace(good, means=moved(good.means, i, -0.01)),
            f"means must put arm {i} at least 0.2 above arm {j}; it falls short",
        ),
        "means are missing": (replace(good, means=np.full(9, NAN)), "cost must be"),
        "theta": (replace(good, theta=good.theta + 1.0), OUTSIDE),
        "theta is missing": (replace(good, theta=np.full(3, NAN)), "must"),
        "cost": (replace(good, cost=1.001 * good.cost), "cost must be 1/2 sum w (means - given)^2"),
        "cost is missing": (replace(good, cost=NAN), "cost"),
        "cost is infinite": (replace(good, cost=INF, bound=INF), "no model reverses the pair"),
        "bound above the cost": (replace(good, bound=dearer), "bound must not exceed the cost"),
        "bound too low": (replace(good, bound=0.9 * good.cost), "must agree to"),
        "bound is missing": (replace(good, bound=NAN), "bound"),
        "cost and bound": (replace(good, cost=dearer, bound=dearer), "cost must be"),
        "multipliers infeasible": (
            replace(good, multipliers=moved(good.multipliers, other, 0.1)),
            "features.T @ multipliers must vanish; column",
        ),
        "multipliers suboptimal": (
            replace(good, multipliers=good.multipliers + 0.3 * NULL[:, 0]),
            UNPROVED,
        ),
        "multipliers forgotten": (
            replace(good, multipliers=np.zeros(9)), UNPROVED,
        ),
        "multipliers are missing": (replace(good, multipliers=np.full(9, NAN)), "must"),
        "alpha negative": (replace(good, alpha=-good.alpha), "alpha must not be negative; got -"),
        "alpha": (replace(good, alpha=1.5 * good.alpha), UNPROVED),
        "alpha is missing": (replace(good, alpha=NAN), "alpha must not be negative; got nan"),
        "pair reversed": (replace(good, pair=(j, i)), "means must put arm"),
        "tolerance": (replace(good, tolerance=0.5), "means must put arm"),
        "weights": (replace(good, weights=moved(good.weights, i, 0.5)), "cost must be"),
        "given": (replace(good, given=moved(good.given, other, 0.5)), "cost must be"),
        "misspecification": (replace(good, model=other_model), "by at most 0.05"),
        "features": (
            replace(good, model=Model(FEATURES + 0.01, 0.1)), INFEASIBLE,
        ),
        "floor forgotten": (replace(good, floor=np.zeros(9), proofs=None), "must cost at least"),
        "floor missing": (replace(good, floor=None, proofs=None), "must cost at least"),
        "floor infeasible": (replace(good, floor=good.floor + 1.0), "floor"),
        "incumbents without the pair's": (
            replace(good, incumbents=tuple(k for k in range(9) if k not in (i, j))[:M]), "pair",
        ),
        "incumbents with the challenger": (
            replace(good, incumbents=tuple(sorted({i, *good.incumbents}))), "pair",
        ),
    }  # fmt: skip


def tampered_projections() -> dict[str, tuple[Projection, str]]:
    good = projection()
    return {
        "means leave the tube": (
            replace(good, means=moved(good.means, 2, 5.0)), OUTSIDE,
        ),
        "theta": (replace(good, theta=good.theta + 1.0), OUTSIDE),
        "deviation": (replace(good, deviation=moved(good.deviation, 1, 0.05)), "deviation"),
        "cost": (replace(good, cost=1.001 * good.cost), "cost must be 1/2 sum w (means - given)^2"),
        "bound above the cost": (replace(good, bound=2 * good.cost), "bound must not exceed"),
        "bound too low": (replace(good, bound=0.5 * good.cost), "must agree to"),
        "bound is missing": (replace(good, bound=NAN), "bound"),
        "multipliers infeasible": (
            replace(good, multipliers=moved(good.multipliers, 0, 0.1)), "features.T @ multipliers",
        ),
        "multipliers suboptimal": (
            replace(good, multipliers=good.multipliers + 0.3 * NULL[:, 1]),
            UNPROVED,
        ),
        "weights": (replace(good, weights=2 * good.weights), "cost must be"),
        "given": (replace(good, given=moved(good.given, 4, 1.0)), "cost must be"),
        "misspecification": (replace(good, model=Model(FEATURES, 0.05)), "by at most 0.05"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tampered", "name"),
    [(kind, name) for kind in (tampered_alternatives, tampered_projections) for name in kind()],
)
def test_tampering_with_a_certificate_is_caught(
    tampered: Callable[[], dict[str, Any]], name: str
) -> None:
    answer, message = tampered()[name]
    verdict = answer.check()
    assert not verdict
    assert any(message in failure for failure in verdict.failures), verdict


class TestADearerPair:
    """A true alternative to a pair that is not the closest, passed off as the closest."""

    @staticmethod
    def dearer(**claims: Any) -> Alternative:
        good = closest()
        i = next(k for k in range(9) if k not in good.incumbents and k != good.pair[0])
        found = pair_alternative(MODEL, MEANS, WEIGHTS, i, good.pair[1], tolerance=TOLERANCE)
        assert found.cost > 1.01 * good.cost
        assert found.check()
        claim = {"incumbents": good.incumbents, "floor": good.floor, "proofs": good.proofs}
        return replace(found, **{**claim, **claims})

    def refused(self, **claims: Any) -> None:
        i, j = closest().pair
        verdict = self.dearer(**claims).check()
        assert any(f"pair ({i}, {j}) must cost" in text for text in verdict.failures), verdict

    def test_is_refused(self) -> None:
        self.refused()

    @pytest.mark.parametrize("factor", [-5.0, 0.5, 2.0, 10.0, 1e6])
    def test_is_refused_with_a_scaled_floor(self, factor: float) -> None:
        """The bound of a floor alone is blind to its scale; what stands on top of it is not."""
        floor = closest().floor
        assert floor is not None
        self.refused(floor=factor * floor)

    @pytest.mark.parametrize("seed", range(20))
    def test_is_refused_with_any_floor(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.uniform(-1, 2)
        assert not self.dearer(floor=size * NULL @ rng.normal(size=6)).check()
        assert not self.dearer(floor=size * rng.normal(size=9)).check()

    @pytest.mark.parametrize("seed", range(20))
    def test_is_refused_with_any_proof(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        pair = np.array([closest().pair])
        feasible, infeasible = NULL @ rng.normal(size=6), 10 * rng.normal(size=9)
        for z, alpha in ((feasible, 1.0), (infeasible, 1.0), (feasible, -1.0), (feasible, NAN)):
            self.refused(proofs=Proofs(pair, z[None], np.array([alpha])))

    def test_is_refused_with_another_pairs_proof(self) -> None:
        found = self.dearer()
        pair = np.array([closest().pair])
        self.refused(proofs=Proofs(pair, found.multipliers[None], np.array([found.alpha])))


class TestImpossiblePairs:
    MODEL = Model([[1.0], [1.0], [2.0]], 0.5)

    def answer(self, tolerance: float) -> Alternative:
        return pair_alternative(self.MODEL, [0.3, 0.0, 1.0], np.ones(3), 1, 0, tolerance=tolerance)

    def test_the_proof_is_in_the_multipliers(self) -> None:
        found = self.answer(1.5)
        assert found.cost == found.bound == INF
        assert np.isnan(found.means).all()
        assert found.check()
        forgotten = replace(found, multipliers=np.zeros(3))
        assert "the multipliers do not prove that no model reverses" in str(forgotten.check())

    def test_a_possible_pair_is_not_impossible(self) -> None:
        found = replace(self.answer(1.5), tolerance=0.9)
        assert "the multipliers do not prove that no model reverses" in str(found.check())


def test_multipliers_that_are_almost_nothing_do_not_prove_the_impossible() -> None:
    found = closest()
    tiny = replace(found, cost=INF, bound=INF, multipliers=np.zeros(9), alpha=1e-170)
    assert "the multipliers do not prove that no model reverses" in str(tiny.check())
    problem = PairProblem(MODEL, MEANS, WEIGHTS)
    assert proved_bound(problem, np.zeros(9), 1e-170, found.pair) <= found.cost
