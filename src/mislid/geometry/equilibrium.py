"""The game behind the characteristic time: an allocation against a mixture of alternatives.

H = max over w in the simplex of the least  sum_k w_k g_k  over the gain vectors g of alternatives.
Every alternative found is a cut H(w) <= g'w, so a linear program over the cuts bounds H from above
and its multipliers mix alternatives; the closest alternative at any w bounds H from below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector
from mislid.errors import CertificateError
from mislid.geometry.alternatives import PairSolution, PairSolver
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import (
    PairProblem,
    Pairs,
    Proofs,
    all_pairs,
    closed_form_bounds,
    linear_fit,
    no_proofs,
    proved_bounds,
    top_arms,
    unstructured_bounds,
)
from mislid.model import Model

# A query returns every pair whose cost is within this factor of the least; such cuts are likely to
# be needed.
RATIO = 1.5
MOST_CALLS = 1000
# Most steps of the simplex method, which may cycle, per row and column.
MOST_PIVOTS = 5
# A gap that has not shrunk in this many calls is due to the search and will not close.
MOST_IDLE = 40
# Share of the gap that queries may lose by giving weight to all arms: alternatives at zero weights
# make shallow cuts.
EVERYWHERE = 0.1
# A cut or an arm is part of a mixture if its weight is at least this share of the average.
PART = 0.1
# Extra cuts that are kept, and returned by a query, beyond multiples of those in the mixture.
SPARE = 200
# Cuts are dropped again once the gap is at most this share of the gap at the last time.
SHRUNK = 0.8
# Most numbers in kept multipliers, and in those processed at a time.
MOST_KEPT, MOST_NUMBERS = 1 << 22, 1 << 17


class Near(NamedTuple):
    """Alternatives of least cost, cheapest first: n of them, one per pair.

    Shapes: costs and bounds (n,), pairs (n, 2), means (n, K), thetas (n, d). `bounds` are proved,
    and no pair that is left out costs less than the least of them.
    """

    costs: Vector
    bounds: Vector
    pairs: Pairs
    means: Matrix
    thetas: Matrix


class Cuts(NamedTuple):
    """Alternatives that take part in the game: means (n, K), thetas (n, d), pairs (n, 2)."""

    means: Matrix
    thetas: Matrix
    pairs: Pairs

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Cuts:
        """The cuts at some indices."""
        return Cuts(self.means[chosen], self.thetas[chosen], self.pairs[chosen])

    def and_also(self, near: Near | Cuts) -> Cuts:
        """These cuts followed by others."""
        return Cuts(
            np.concatenate([self.means, near.means]),
            np.concatenate([self.thetas, near.thetas]),
            np.concatenate([self.pairs, near.pairs]),
        )


def no_cuts(K: int, d: int) -> Cuts:
    """An empty set of cuts."""
    return Cuts(np.empty((0, K)), np.empty((0, d)), np.empty((0, 2), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """Both sides of H, proved by the `allocation` (K,) and by the `mixture` (n,) of `cuts`."""

    lower: float
    upper: float
    allocation: Vector
    mixture: Vector
    cuts: Cuts
    calls: int


def gains(means: Vector, alternatives: Matrix, noise: Vector) -> Matrix:
    """(mu_k - lambda_k)^2 / (2 sigma_k^2) for each alternative, (n, K)."""
    values: Matrix = 0.5 * ((alternatives - means) / noise) ** 2
    return values


def worst_gain(mixture: Vector, table: Matrix) -> float:
    """max_k E_q g_k for a mixture q (n,) of the rows g of `table` (n, K): an upper bound on H."""
    return float(np.max(mixture @ table))


def solve_game(
    search: PairSearch | UnstructuredSearch,
    means: Vector,
    noise: Vector,
    rtol: float,
    pool: Cuts,
) -> Equilibrium:
    """Close the gap between both sides of H to `rtol`, by cutting planes between two points.

    Each query lies half way between the best allocation so far and the best for the cuts, which is
    solved to an accuracy that fits the gap. Without any alternative H is infinite.
    """
    game = _Game(means, noise, pool, noise / noise.sum())
    query, idle = game.best, 0
    for calls in range(1, MOST_CALLS + 1):
        near = search.near(query / noise**2, RATIO, SPARE + 2 * game.parts)
        if near.costs.size == 0:
            game.lower = np.inf
            return game.equilibrium(calls)
        gap = game.upper - game.lower
        game.answer(query, near)
        ahead = game.improve(rtol)
        if game.upper <= game.lower * (1.0 + rtol):
            return game.equilibrium(calls)
        idle = idle + 1 if game.upper - game.lower > 0.99 * gap else 0
        if idle == MOST_IDLE:
            break
        query = 0.5 * (game.best + ahead)
    raise CertificateError(
        f"the characteristic time lies in [{game.times()}] after {calls} calls, "
        f"wider than rtol={rtol!r} allows"
    )


class _Game:
    """The current bounds on H and the alternatives found so far."""

    def __init__(self, means: Vector, noise: Vector, pool: Cuts, best: Vector) -> None:
        self._means, self._noise = means, noise
        self._pool, self._table = pool, gains(means, pool.means, noise)
        self._mixture, self._support = np.empty(0), pool.only(np.arange(0))
        self._cuts = np.ones(len(pool.means), dtype=bool)
        self.best = self._start = best
        self.lower, self.upper = 0.0, np.inf
        self._gap_then = np.inf  # when cuts were forgotten last
        self.parts = 0  # number of cuts that take part in the last mixture

    def answer(self, query: Vector, near: Near) -> None:
        """Take the closest alternatives at a query, and its lower side if better."""
        self._pool = self._pool.and_also(near)
        self._table = np.concatenate([self._table, gains(self._means, near.means, self._noise)])
        self._cuts = np.append(self._cuts, np.ones(len(near.means), dtype=bool))
        proved = float(np.min(near.bounds))
        if proved > self.lower:
            self.lower, self.best = proved, query

    def improve(self, rtol: float) -> Vector:
        """Solve the game over the cuts, take its upper side if better; return its allocation."""
        gap = self.upper / self.lower - 1.0 if self.lower > 0.0 else np.inf
        gap = min(max(gap, rtol), 1.0)
        ahead, mixture = solve_master(self._table, self._unit())
        upper = worst_gain(mixture, self._table)
        if upper < self.upper:
            used = mixture > 0.0
            self.upper, self._mixture, self._support = upper, mixture[used], self._pool.only(used)
        self._cuts = _takes_part(mixture)
        self._forget(ahead)
        return (1.0 - EVERYWHERE * gap) * ahead + EVERYWHERE * gap * self._start

    def _unit(self) -> float:
        """A gain that some allocation reaches against all cuts."""
        start = np.stack([self.best, np.full(self.best.size, 1.0 / self.best.size)])
        unit = float(np.max(np.min(self._table @ start.T, axis=0)))
        return unit if unit > 0.0 else 1.0

    def equilibrium(self, calls: int) -> Equilibrium:
        """Both sides of H with their proofs."""
        return Equilibrium(self.lower, self.upper, self.best, self._mixture, self._support, calls)

    def times(self) -> str:
        """Both sides of T = 1 / H as text, for messages."""
        longest = 1.0 / self.lower if self.lower > 0.0 else np.inf
        return f"{1.0 / self.upper!r}, {longest!r}"

    def _forget(self, ahead: Vector) -> None:
        """Keep the cuts of the mixture and those lowest at the game's allocation.

        Few are kept only if the gap has shrunk since the last time; otherwise the same cuts would
        be dropped and found again.
        """
        # A vertex mixes at most as many cuts as there are arms.
        self.parts = min(int(np.sum(self._cuts)), ahead.size)
        gap = self.upper - self.lower
        most = SPARE + (4 if gap <= SHRUNK * self._gap_then else 12) * self.parts
        if self._cuts.size > most:
            rank = np.where(self._cuts, -1.0, self._table @ ahead)
            kept = np.sort(np.argsort(rank, kind="stable")[: SPARE // 2 + most // 2])
            self._pool, self._table = self._pool.only(kept), self._table[kept]
            self._cuts, self._gap_then = self._cuts[kept], gap


def _takes_part(mixture: Vector) -> NDArray[np.bool_]:
    """Which entries (n,) are not tiny, compared with the others that are not zero."""
    chosen: NDArray[np.bool_] = mixture >= PART / np.count_nonzero(mixture)
    return chosen


def solve_master(table: Matrix, unit: float) -> tuple[Vector, Vector]:
    """max t such that t <= g'w for each row g of `table`, w in the simplex: w and the mixture q.

    Gains are measured in `unit`, so that the program's optimum is of order one.
    """
    from scipy.optimize import linprog

    n, K = table.shape
    if not np.isfinite(table / unit).all():
        raise CertificateError(
            "the characteristic time could not be certified: means, noise and misspecification are "
            "too far apart for double precision"
        )
    pivots = MOST_PIVOTS * (n + K)
    for method, accuracy, most in (
        ("highs-ds", 1e-10, pivots),
        ("highs-ds", 1e-7, pivots),
        ("highs-ipm", 1e-7, pivots + 200),
    ):
        answer = linprog(
            np.append(np.zeros(K), -1.0),
            A_ub=np.hstack([-table / unit, np.ones((n, 1))]),
            b_ub=np.zeros(n),
            A_eq=np.append(np.ones(K), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, None)] * K + [(None, None)],
            method=method,
            options={
                "maxiter": most,
                "primal_feasibility_tolerance": accuracy,
                "dual_feasibility_tolerance": accuracy,
            },
        )
        if answer.x is not None and np.any(answer.ineqlin.marginals < 0.0):
            vertex = np.maximum(answer.x[:K], 0.0)
            mixture = np.maximum(-answer.ineqlin.marginals, 0.0)
            return vertex / vertex.sum(), mixture / mixture.sum()
    raise CertificateError(
        f"the linear program of the characteristic time failed: {answer.message}"
    )


class UnstructuredSearch:
    """Closed-form alternatives without structure: only the two arms of a pair move.

    cost(i, j) = (mu_j - mu_i + tolerance)^2 / (2 (1/w_i + 1/w_j)), and both arms move to
    meet at the weighted mean.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        self._model, self._means, self._tolerance = model, means, tolerance
        self._pairs = all_pairs(means.size, top_arms(means, m))
        self.solved = 0

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        problem = PairProblem(self._model, self._means, weights, self._tolerance)
        costs = unstructured_bounds(problem, self._pairs)
        order = np.argsort(costs, kind="stable")[:limit]
        order = order[costs[order] <= ratio * costs[order[0]]]
        pairs, costs, rows = self._pairs[order], costs[order], np.arange(order.size)
        i, j = pairs.T
        means = np.tile(self._means, (order.size, 1))
        target = means[rows, j] + self._tolerance
        share = weights[j] / (weights[i] + weights[j])
        means[rows, i] += share * (target - means[rows, i])
        means[rows, j] = means[rows, i] - self._tolerance
        return Near(costs, costs, pairs, means, np.zeros((order.size, self._model.d)))

    def prove(self, weights: Vector, target: float) -> Proofs:
        """No proofs: the costs without structure are closed forms."""
        return no_proofs(weights.size)


class PairSearch:
    """Search for all pairs within a ratio of the cheapest one, which solves few others.

    Pairs are visited in the order of their bounds: by closed forms, which exclude most pairs, and
    by the multipliers of earlier solves.
    """

    def __init__(self, model: Model, means: Vector, m: int, tolerance: float) -> None:
        self._model = model
        self._means = means
        self._tolerance = tolerance
        self._theta = linear_fit(model, means)
        self._pairs = all_pairs(model.K, top_arms(means, m))
        self._solver = PairSolver(model, means, np.ones(model.K))
        self._kept: dict[int, tuple[Vector, float]] = {}
        self.solved = 0

    def near(self, weights: Vector, ratio: float, limit: int) -> Near:
        """The alternatives whose cost is within `ratio` of the least, at most `limit`."""
        bounds = self._aim(weights)
        first = int(np.argmin(bounds))
        found = {first: self._solve(first)}
        best = found[first].cost
        rivals = np.flatnonzero(bounds <= ratio * best)
        rivals = rivals[rivals != first]
        bounds = np.maximum(bounds[rivals], self._kept_bounds(rivals, weights))
        for n in np.argsort(bounds, kind="stable").tolist():
            if bounds[n] > (ratio * best if len(found) < limit else best):
                break
            p = int(rivals[n])
            solution = self._solve(p)
            best = min(best, solution.cost)
            if solution.cost <= ratio * best:
                found[p] = solution
            if len(found) >= 2 * limit:
                found = _cheapest(found, ratio * best, limit)
        return self._near(weights, _cheapest(found, ratio * best, limit))

    def prove(self, weights: Vector, target: float) -> Proofs:
        """Proofs for every pair whose closed-form bound is below `target`."""
        needed = np.flatnonzero(self._aim(weights) < target)
        if needed.size == 0:
            return no_proofs(self._model.K)
        found = [self._solve(p) for p in needed.tolist()]
        return self._proofs([(one.multipliers, one.alpha) for one in found], needed)

    def _aim(self, weights: Vector) -> Vector:
        """Prepare to solve pairs at these weights; returns closed-form bounds (P,)."""
        self._solver.weigh(weights)
        return closed_form_bounds(self._problem(weights), self._pairs, self._solver.floor())

    def _problem(self, weights: Vector) -> PairProblem:
        return PairProblem(self._model, self._means, weights, self._tolerance)

    def _kept_bounds(self, chosen: NDArray[np.int64], weights: Vector) -> Vector:
        """Bounds of some pairs (n,) by kept multipliers; 0 where there are none."""
        bounds = np.zeros(chosen.size)
        known = [n for n, p in enumerate(chosen.tolist()) if p in self._kept]
        step = max(1, MOST_NUMBERS // self._model.K)
        for start in range(0, len(known), step):
            some = known[start : start + step]
            proofs = self._proofs([self._kept[p] for p in chosen[some].tolist()], chosen[some])
            bounds[some] = proved_bounds(self._problem(weights), proofs, self._theta)
        return bounds

    def _proofs(self, kept: list[tuple[Vector, float]], chosen: NDArray[np.int64]) -> Proofs:
        return Proofs(
            self._pairs[chosen],
            np.array([multipliers for multipliers, _ in kept]),
            np.array([alpha for _, alpha in kept]),
        )

    def _solve(self, p: int) -> PairSolution:
        i, j = self._pairs[p].tolist()
        solution = self._solver.solve((i, j), self._tolerance)
        self.solved += 1
        self._kept.pop(p, None)
        self._kept[p] = solution.multipliers, solution.alpha
        if len(self._kept) > max(1, MOST_KEPT // self._model.K):
            del self._kept[next(iter(self._kept))]  # the oldest
        return solution

    def _near(self, weights: Vector, found: dict[int, PairSolution]) -> Near:
        K, d = self._model.K, self._model.d
        means = np.array([solution.means for solution in found.values()]).reshape(-1, K)
        values = np.array([solution.values for solution in found.values()]).reshape(-1, d)
        # The costs of the rounded means, so that they can be recomputed exactly.
        costs = 0.5 * (means - self._means) ** 2 @ weights
        bounds = np.minimum([solution.bound for solution in found.values()], costs)
        thetas = coordinates(self._model).theta(self._model, values.T).T
        return Near(costs, bounds, self._pairs[list(found)], means, thetas)


def _cheapest(found: dict[int, PairSolution], most: float, limit: int) -> dict[int, PairSolution]:
    """At most `limit` of the solutions that cost at most `most`, cheapest first."""
    possible = [p for p in found if math.isfinite(found[p].cost) and found[p].cost <= most]
    order = sorted(possible, key=lambda p: found[p].cost)[:limit]
    return {p: found[p] for p in order}
