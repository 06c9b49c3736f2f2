import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.instances import Problem
from mislid.errors import CertificateError, ProblemError
from mislid.geometry.alternatives import Alternative, closest_alternative, pair_alternative
from mislid.model import Instance, Model, load_instance
from oracles.agreement import disagreements, survey
from oracles.pair_qp import closest_brute, pair_cost_exact

INF = math.inf
THREE = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
MEANS, WEIGHTS = [0.4, 0.5, 0.8], [1.0, 2.0, 3.0]
# The judge is slow.
SURVEYS = [(0, 50), *(pytest.param(seed, 250, marks=pytest.mark.slow) for seed in range(5))]


def pair_of(problem: Problem, pair: tuple[int, int]) -> Alternative:
    model = Model(problem.features, problem.misspecification)
    return pair_alternative(
        model, problem.means, problem.weights, *pair, tolerance=problem.tolerance
    )


def closest_of(problem: Problem) -> Alternative:
    model = Model(problem.features, problem.misspecification)
    return closest_alternative(
        model, problem.means, problem.weights, problem.m, tolerance=problem.tolerance
    )


def judged(problem: Problem, found: Alternative) -> list[str]:
    """What the judge finds wrong with an alternative to its own pair."""
    truth = pair_cost_exact(
        problem.features, problem.misspecification, problem.means, problem.weights,
        *found.pair, problem.tolerance,
    )  # fmt: skip
    return disagreements(problem, found, truth.lower, truth.upper)


def brute(problem: Problem, found: Alternative) -> list[str]:
    """What brute force over all pairs finds wrong with a closest alternative."""
    truth = closest_brute(
        problem.features, problem.misspecification, problem.means, problem.weights,
        problem.m, problem.tolerance,
    )  # fmt: skip
    return disagreements(problem, found, truth.lower, truth.upper)


@pytest.mark.parametrize("hard", [False, True])
class TestAgainstTheJudge:
    @pytest.mark.parametrize(("seed", "count"), SURVEYS)
    def test_pairs(self, seed: int, count: int, hard: bool) -> None:
        def judge(problem: Problem, rng: np.random.Generator) -> list[str]:
            return judged(problem, pair_of(problem, problem.random_pair(rng)))

        assert survey(seed, count, judge, hard=hard) == []

    @pytest.mark.parametrize("seed", range(3))
    def test_closest(self, seed: int, hard: bool) -> None:
        found = survey(100 + seed, 100, lambda p, _: brute(p, closest_of(p)), largest=14, hard=hard)
        assert found == []

    @pytest.mark.parametrize(("seed", "count"), SURVEYS)
    def test_certificates_hold(self, seed: int, count: int, hard: bool) -> None:
        """Up to 900 pairs each: no brute force, but every answer proves itself in plain NumPy."""
        failures = survey(
            200 + seed,
            count,
            lambda p, _: list(closest_of(p).check().failures),
            lambda p, rng: list(pair_of(p, p.random_pair(rng)).check().failures),
            hard=hard,
        )
        assert failures == []


@pytest.fixture(params=["A_eps0", "A_eps5", "B", "D", "E"])
def published(request: pytest.FixtureRequest, shared_data) -> Instance:
    file = shared_data / "instances" / f"{request.param}.npz"
    with np.load(file) as arrays:
        declared = float(arrays["misspecification"]) if "misspecification" in arrays else None
    wide = load_instance(file, misspecification=INF)
    return load_instance(file, misspecification=wide.deviation if declared is None else declared)


class TestPublishedInstances:
    @pytest.mark.parametrize("factor", [0.0, 0.1, 1.0, 10.0])
    def test_every_pair_agrees_with_the_oracle(self, published: Instance, factor: float) -> None:
        model = Model(published.model.features, factor * published.deviation)
        rng = np.random.default_rng(5)
        weights = rng.dirichlet(np.ones(model.K))
        best = published.top(3)
        others = [k for k in range(model.K) if k not in best]
        for i in rng.permutation(others)[:6].tolist():
            j = int(rng.choice(best))
            found = pair_alternative(model, published.means, weights, i, j)
            truth = pair_cost_exact(
                model.features, model.misspecification, published.means, weights, i, j
            )
            assert_allclose(found.cost, truth.upper, rtol=1e-9)
            assert_allclose(found.bound, truth.lower, rtol=1e-9)
            assert found.check(rtol=1e-9)


class TestDegenerate:
    def test_ties_go_to_the_first_arms(self) -> None:
        found = closest_alternative(Model(np.eye(4), 0.1), np.zeros(4), np.ones(4), 2)
        assert found.incumbents == (0, 1)
        assert found.cost == 0.0


class TestAnswers:
    def test_what_cannot_be_certified_raises(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from mislid.geometry import newton, search

        class Stalled:
            address = 0  # no other kernel calls it here

            def __call__(self, *_: object) -> tuple[float, ...]:
                return newton.STALLED, 2.0, 1.0, 1, 2, 0.0, 1

        stalled = newton.STALLED, 2.0, 1.0, 0.0, 9
        monkeypatch.setattr(newton, "solve", lambda *_: stalled)
        monkeypatch.setattr(search, "search_pairs", Stalled())
        message = r"challenger 1 .*incumbent 2 .*cost 2.*bound 1"
        with pytest.raises(CertificateError, match=message):
            pair_alternative(THREE, MEANS, WEIGHTS, 1, 2)
        with pytest.raises(CertificateError, match=message):
            closest_alternative(THREE, MEANS, WEIGHTS, 1)


BAD = [
    ({"means": [1.0, 2.0]}, "means must have 3 entries.*got 2"),
    ({"means": [1.0, math.nan, 2.0]}, "means must be finite; got nan at index 1"),
    ({"weights": [1.0, -1.0, 1.0]}, "weights must be at least 0; got -1.0 at index 1"),
    ({"weights": [0.0, 0.0, 0.0]}, "weights must have at least one positive entry; got 3 zeros"),
    ({"tolerance": -0.1}, "tolerance must be a finite number at least 0; got -0.1"),
]
BAD_PAIR = [
    ({"challenger": 3}, "challenger must be an arm index from 0 to 2 with K=3 arms; got 3"),
    ({"challenger": 2}, "challenger and incumbent must be different arms; got 2 for both"),
]
BAD_SEARCH = [
    ({"m": 0}, "m must be an integer from 1 to 2 with K=3 arms; got m=0"),
    ({"incumbents": [1, 2]}, r"incumbents must be 1 different arms; got \[1, 2\]"),
    ({"incumbents": [7]}, "incumbents must be an arm index from 0 to 2 with K=3 arms; got 7"),
]


class TestBadInput:
    @pytest.mark.parametrize(("change", "message"), BAD + BAD_PAIR)
    def test_pair(self, change: dict[str, object], message: str) -> None:
        good = {
            "means": MEANS,
            "weights": WEIGHTS,
            "challenger": 1,
            "incumbent": 2,
            "tolerance": 0.0,
        }
        with pytest.raises(ProblemError, match=message):
            pair_alternative(THREE, **{**good, **change})

    @pytest.mark.parametrize(("change", "message"), BAD + BAD_SEARCH)
    def test_closest(self, change: dict[str, object], message: str) -> None:
        good = {"means": MEANS, "weights": WEIGHTS, "m": 1, "tolerance": 0.0}
        with pytest.raises(ProblemError, match=message):
            closest_alternative(THREE, **{**good, **change})
