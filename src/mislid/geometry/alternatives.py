"""Closest alternatives: the nearest models to given means with another right answer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mislid._formatting import shown
from mislid._validation import Vector, as_arm, as_number, as_top_m
from mislid.errors import CertificateError, ProblemError
from mislid.geometry.coordinates import coordinates, newton_space, search_space
from mislid.geometry.duality import (
    Certified,
    PairProblem,
    Proofs,
    all_pairs,
    balanced,
    cost_failures,
    is_unstructured,
    linear_fit,
    membership_failures,
    multiplier_failures,
    negligible_cost,
    order_failures,
    proved_bound,
    rival_failures,
    top_arms,
    unstructured_bounds,
)
from mislid.geometry.projection import RTOL, as_given
from mislid.model import Model, as_model

if TYPE_CHECKING:
    from mislid.geometry.search import SearchSpace


@dataclass(frozen=True, slots=True, eq=False)
class Alternative(Certified):
    """A model in which the challenger of `pair` beats its incumbent, proved to be the nearest.

    Attributes
    ----------
    model, given, weights, tolerance
        The arguments: the model set, means (K,), weights (K,), and by how much the challenger must
        be better.
    pair
        (challenger, incumbent).
    means
        The alternative (K,), or nan where no model reverses the pair.
    theta
        The linear part (d,), whose tube contains the alternative: the proof that it is a model.
    cost
        1/2 sum_k weights_k (means_k - given_k)^2; infinite where no model reverses the pair.
    bound
        A lower bound on the cost of every such model.
    multipliers, alpha
        The proof of the bound: (K,) with features.T @ multipliers = 0, and a number at least 0.
    incumbents
        The arms whose pairs were searched; empty if a single pair was solved.
    floor
        The projection's multipliers (K,), which bound every pair of a search from below.
    proofs
        Certificates of pairs for which closed forms on top of the floor do not suffice.
    pairs_solved
        Number of pair problems that the search solved.
    """

    model: Model
    given: Vector
    weights: Vector
    tolerance: float
    pair: tuple[int, int]
    means: Vector
    theta: Vector
    cost: float
    bound: float
    multipliers: Vector
    alpha: float
    incumbents: tuple[int, ...] = ()
    floor: Vector | None = None
    proofs: Proofs | None = None
    pairs_solved: int = 1

    def _failures(self, rtol: float) -> list[str]:
        """Check that the alternative is the nearest model that reverses the pair.

        For a search, also that no other pair has a nearer one.
        """
        failures, problem = [], self._problem
        small = negligible_cost(self.given, self.weights, self.tolerance)
        if not self.cost <= small:
            failures += multiplier_failures(self.model, self.multipliers, self.alpha, self.pair)
        if math.isfinite(self.cost):
            failures += membership_failures(self.model, self.given, self.means, self.theta)
            failures += order_failures(self.given, self.means, self.pair, self.tolerance)
            failures += cost_failures(
                problem, self.means, self.cost, self.bound, self._proved(self.theta), rtol
            )
        elif math.isnan(self.cost):
            failures.append("cost must be a number; got nan")
        elif not math.isinf(self._proved(None)):
            failures.append("the multipliers do not prove that no model reverses the pair")
        if self.incumbents:
            failures += self._incumbent_failures()
            target = self.cost * (1.0 - rtol) - small
            failures += rival_failures(problem, self.incumbents, target, self.floor, self.proofs)
        return failures

    @property
    def _problem(self) -> PairProblem:
        return PairProblem(self.model, self.given, self.weights, self.tolerance)

    def _incumbent_failures(self) -> list[str]:
        challenger, incumbent = self.pair
        if incumbent in self.incumbents and challenger not in self.incumbents:
            return []
        return [f"pair {self.pair} must be a challenger and one of incumbents {self.incumbents}"]

    def _proved(self, theta: Vector | None) -> float:
        return proved_bound(self._problem, self.multipliers, self.alpha, self.pair, theta)


class PairSolution(NamedTuple):
    """An alternative of a pair with its proof, in new arrays.

    Shapes: means (K,), values (d,) of its linear part at the spanner's arms, multipliers (K,).
    The cost is infinite if no model reverses the pair; the means are then invalid.
    """

    cost: float
    bound: float
    means: Vector
    values: Vector
    multipliers: Vector
    alpha: float


class PairSolver:
    """Solver of pairs at fixed means (K,) and changeable weights (K,)."""

    def __init__(self, model: Model, given: Vector, weights: Vector) -> None:
        self._model = model
        at = coordinates(model)
        self._X = at.matrix
        self._given = given
        self._level = float(np.max(np.abs(given)))
        self._space = newton_space(at.matrix, at.basis)
        self.weigh(weights)

    def weigh(self, weights: Vector) -> None:
        """Change the weights."""
        from mislid.geometry.problem import set_centre, set_metric

        self._weights = weights
        self._centre = np.zeros(self._X.shape[1])
        set_metric(weights, self._space)
        set_centre(self._given, self._space, self._centre)
        self._linear = self._X @ self._centre
        self._space.mu[:] = self._given - self._linear

    def floor(self) -> Vector:
        """Multipliers (K,) that bound the cost of every model from below.

        They are zero if the bound is 0, or if the projection cannot be certified.
        """
        from mislid.geometry.newton import STALLED
        from mislid.geometry.problem import NOBODY

        nothing = np.zeros(self._given.size)
        if np.all(np.abs(self._space.mu) <= self._model.misspecification):
            return nothing
        status, cost, *_ = self._outcome((NOBODY, NOBODY), 0.0, np.zeros(self._X.shape[1]))
        if status == STALLED or cost <= negligible_cost(self._given, self._weights):
            return nothing
        floor = balanced(self._X, self._weights, self._space.multipliers.copy())
        return nothing if multiplier_failures(self._model, floor) else floor

    def solve(self, pair: tuple[int, int], tolerance: float) -> PairSolution:
        """Solve one pair."""
        from mislid.geometry.newton import STALLED, means_below

        space = self._space
        i, j = pair
        theta = np.zeros(self._X.shape[1])
        beyond = tolerance + float(self._linear[j] - self._linear[i])
        status, cost, bound, alpha = self._outcome(pair, beyond, theta)
        refuse_stalled(status == STALLED, pair, cost, bound)
        below = np.zeros(self._given.size)
        means_below(space, below)
        # Where the half-space does not bind, alpha is rounding of either sign.
        alpha = max(alpha, 0.0)
        z = balanced(self._X, self._weights, space.multipliers.copy(), alpha)
        return PairSolution(cost, bound, self._given - below, theta + self._centre, z, alpha)

    def _outcome(
        self, pair: tuple[int, int], beyond: float, theta: Vector
    ) -> tuple[int, float, float, float]:
        """Status, cost, bound and alpha of a solve that starts from theta (d,), and moves it."""
        from mislid.geometry.newton import solve

        space = self._space
        (space.i, space.j), space.tol = pair, beyond
        space.eps, space.level = self._model.misspecification, self._level
        status, cost, bound, alpha, _ = solve(theta, RTOL, space)
        return status, cost, bound, alpha


def refuse_stalled(stalled: bool, pair: tuple[int, int], cost: float, bound: float) -> None:
    """Raise an error if a solve did not certify its answer."""
    if stalled:
        raise CertificateError(
            f"the alternative of challenger {pair[0]} and incumbent {pair[1]} could not be "
            f"certified: cost {cost!r}, bound {bound!r}; the weights or features are too "
            "ill-conditioned for double precision"
        )


def pair_alternative(
    model: Model,
    means: ArrayLike,
    weights: ArrayLike,
    challenger: int,
    incumbent: int,
    *,
    tolerance: float = 0.0,
) -> Alternative:
    """The nearest model in which the challenger beats the incumbent by at least `tolerance`.

    min 1/2 sum_k w_k (lambda_k - mu_k)^2 over models lambda with lambda_i >= lambda_j + tolerance,
    for means mu (K,), weights w (K,), challenger i and incumbent j (the paper's appendix on the
    closest alternative). The means need not be a model themselves.

    Parameters
    ----------
    model
        The model set.
    means
        Means mu (K,) from which distances are measured.
    weights
        Weights w (K,), at least 0 and not all 0: samples of each arm, divided by its variance.
    challenger, incumbent
        Two different arms, from 0 to K - 1.
    tolerance
        By how much the challenger must be better, at least 0.

    Returns
    -------
    Alternative
        The nearest such model with its cost and the proof of it. The cost is infinite where no
        model reverses the pair.

    Raises
    ------
    ProblemError
        An argument has the wrong shape or a value that is not allowed.
    CertificateError
        The weights or features are too ill-conditioned for the answer to be proved.

    Examples
    --------
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> a = pair_alternative(model, [0.4, 0.5, 0.8], [1.0, 1.0, 1.0], 1, 2)
    >>> a.means.round(4).tolist(), round(a.cost, 6)
    ([0.3, 0.65, 0.65], 0.0275)
    >>> bool(a.check())
    True
    """
    given, w = as_given(model, means, weights)
    i = as_arm(challenger, "challenger", model.K)
    j = as_arm(incumbent, "incumbent", model.K)
    if i == j:
        raise ProblemError(f"challenger and incumbent must be different arms; got {i} for both")
    tol = as_number(tolerance, "tolerance", low=0, high=math.inf)
    if is_unstructured(model, given, tol):
        return _unstructured(model, given, w, i, j, tol)
    solution = PairSolver(model, given, w).solve((i, j), tol)
    return _structured(model, given, w, tol, (i, j), solution)


def _unstructured(
    model: Model, given: Vector, w: Vector, i: int, j: int, tolerance: float, **search: Any
) -> Alternative:
    """Only the two arms move, and meet at their weighted mean."""
    means = given.copy()
    gap = given[j] - given[i] + tolerance
    heavy = w[i] > 0.0 and w[j] > 0.0
    alpha = 0.0
    if gap > 0.0:
        share = w[j] / (w[i] + w[j]) if w[i] + w[j] > 0.0 else 1.0
        means[i] += share * gap
        means[j] = means[i] - tolerance
        alpha = float(gap * w[i] * w[j] / (w[i] + w[j])) if heavy else 0.0
    cost = 0.5 * alpha * float(max(gap, 0.0))
    theta = np.zeros(model.d)
    if math.isinf(model.misspecification):
        theta = linear_fit(model, means)
    return Alternative(
        model=model,
        given=given,
        weights=w,
        tolerance=tolerance,
        pair=(i, j),
        means=means,
        theta=theta,
        cost=cost,
        bound=cost,
        multipliers=np.zeros(model.K),
        alpha=alpha,
        **search,
    )


def _structured(
    model: Model,
    given: Vector,
    w: Vector,
    tolerance: float,
    pair: tuple[int, int],
    solution: PairSolution,
    **search: Any,
) -> Alternative:
    """The alternative of a pair that features matter for, from its solution."""
    means, cost = solution.means, solution.cost
    if math.isinf(cost):
        means, theta = np.full(model.K, np.nan), np.full(model.d, np.nan)
    else:
        theta = coordinates(model).theta(model, solution.values)
        # The cost of the rounded means, so that it can be recomputed exactly.
        cost = 0.5 * float(np.sum(w * (means - given) ** 2))
    return Alternative(
        model=model,
        given=given,
        weights=w,
        tolerance=tolerance,
        pair=pair,
        means=means,
        theta=theta,
        cost=cost,
        bound=min(solution.bound, cost),
        multipliers=solution.multipliers,
        alpha=solution.alpha,
        **search,
    )


class AlternativeSearch:
    """Warm-started search for closest alternatives, for sequences of similar means and weights.

    Certificates of solved pairs prune later calls, and their solutions start later solves. Answers
    are exact regardless of this memory.

    Parameters
    ----------
    model
        The model set.
    m
        Number of incumbents.

    Examples
    --------
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> search = AlternativeSearch(model, m=1)
    >>> a = search.closest([0.4, 0.5, 0.8], [1.0, 1.0, 1.0])
    >>> a.pair, a.pairs_solved, round(a.cost, 6)
    ((1, 2), 1, 0.0275)

    The alternative for other incumbents than the best arms:

    >>> search.closest([0.4, 0.5, 0.8], [1.0, 1.0, 1.0], incumbents=[1]).cost
    0.0
    """

    def __init__(self, model: Model, m: int) -> None:
        self.model = model
        as_model(model)
        self.m = as_top_m(m, model.K)
        self._space: SearchSpace | None = None

    def closest(
        self,
        means: ArrayLike,
        weights: ArrayLike,
        *,
        tolerance: float = 0.0,
        incumbents: Iterable[int] | None = None,
    ) -> Alternative:
        """The closest alternative, as `closest_alternative` defines it.

        Parameters
        ----------
        means, weights, tolerance, incumbents
            As in `closest_alternative`.

        Returns
        -------
        Alternative
            The nearest of all pairs, with its proof.

        Raises
        ------
        ProblemError
            If an argument has the wrong shape or a value that is not allowed.
        CertificateError
            If the weights or features are too ill-conditioned for the answer to be proved.
        """
        model = self.model
        given, w = as_given(model, means, weights)
        tol = as_number(tolerance, "tolerance", low=0, high=math.inf)
        chosen = _as_incumbents(incumbents, given, self.m)
        if is_unstructured(model, given, tol):
            return self._unstructured(given, w, chosen, tol)
        return self._structured(given, w, chosen, tol)

    def _unstructured(
        self, given: Vector, w: Vector, incumbents: NDArray[np.int64], tol: float
    ) -> Alternative:
        pairs = all_pairs(self.model.K, incumbents)
        costs = unstructured_bounds(PairProblem(self.model, given, w, tol), pairs)
        i, j = pairs[np.argmin(costs)].tolist()
        return _unstructured(self.model, given, w, i, j, tol, incumbents=tuple(incumbents.tolist()))

    def _structured(
        self, given: Vector, w: Vector, incumbents: NDArray[np.int64], tol: float
    ) -> Alternative:
        from mislid.geometry.newton import STALLED
        from mislid.geometry.problem import set_centre, set_metric
        from mislid.geometry.search import project_means, search_pairs

        model, at = self.model, coordinates(self.model)
        if self._space is None:
            self._space = search_space(at.matrix, at.basis, self.m)
            set_metric(w, self._space.newton)
            set_centre(given, self._space.newton, self._space.middle)
        space, eps = self._space, model.misspecification
        status, cost, bound = project_means(eps, given, w, RTOL, space)
        refuse_stalled(status == STALLED, (-1, -1), cost, bound)
        status, cost, bound, i, j, alpha, solves = search_pairs(eps, incumbents, tol, RTOL, space)
        refuse_stalled(status == STALLED, (i, j), cost, bound)
        multipliers = balanced(at.matrix, w, space.proof.copy(), alpha)
        means = given - space.below
        solution = PairSolution(cost, bound, means, space.theta, multipliers, alpha)
        return _structured(
            model,
            given,
            w,
            tol,
            (i, j),
            solution,
            incumbents=tuple(incumbents.tolist()),
            floor=balanced(at.matrix, w, space.floor.copy()),
            proofs=self._proofs(given, w, incumbents, tol, space),
            pairs_solved=solves,
        )

    def _proofs(
        self,
        given: Vector,
        w: Vector,
        incumbents: NDArray[np.int64],
        tol: float,
        space: SearchSpace,
    ) -> Proofs:
        """The certificates used by the last search.

        Pairs whose certificates the search did not keep are solved again.
        """
        from mislid.geometry.search import CRUDE, DONE

        used = space.slot[(space.quality != CRUDE) & (space.slot >= 0)]
        pairs = np.stack([space.kept_challenger[used], space.kept_incumbent[used]], axis=1)
        X, alphas = coordinates(self.model).matrix, space.kept_alpha[used]
        rows = zip(space.kept_multipliers[used], alphas.tolist(), strict=True)
        multipliers = np.array([balanced(X, w, z, alpha) for z, alpha in rows])
        kept = Proofs(pairs, multipliers.reshape(len(pairs), -1), alphas)
        lost = np.flatnonzero((space.quality == DONE) & (space.slot < 0))
        if lost.size == 0:
            return kept
        arms = space.challengers[lost // self.m], incumbents[lost % self.m]
        again = np.stack(arms, axis=1)
        solver = PairSolver(self.model, given, w)
        solved = [solver.solve((i, j), tol) for i, j in again.tolist()]
        return Proofs(
            np.concatenate([pairs, again]),
            np.concatenate([kept.multipliers, [one.multipliers for one in solved]]),
            np.concatenate([kept.alphas, [one.alpha for one in solved]]),
        )


def _as_incumbents(incumbents: Iterable[int] | None, given: Vector, m: int) -> NDArray[np.int64]:
    if incumbents is None:
        return top_arms(given, m)
    try:
        wanted = list(incumbents)
    except TypeError:
        raise ProblemError(
            f"incumbents must be {m} different arms; got {shown(incumbents)}"
        ) from None
    arms = [as_arm(arm, "incumbents", given.size) for arm in wanted]
    if len(set(arms)) != len(arms) or len(arms) != m:
        raise ProblemError(f"incumbents must be {m} different arms; got {arms!r}")
    return np.sort(np.array(arms, dtype=np.int64))


def closest_alternative(
    model: Model,
    means: ArrayLike,
    weights: ArrayLike,
    m: int,
    *,
    tolerance: float = 0.0,
    incumbents: Iterable[int] | None = None,
) -> Alternative:
    """The nearest model in which some challenger beats some incumbent by at least `tolerance`.

    The cheapest of the m(K - m) problems of `pair_alternative` (the paper's Lemma 1 and Theorem 1).
    It is exact, though most pairs are only bounded. The incumbents are the m best of the means
    unless given. Call `AlternativeSearch` for sequences of similar problems.

    Parameters
    ----------
    model, means, weights
        As in `pair_alternative`.
    m
        Number of incumbents, from 1 to K - 1.
    tolerance
        By how much the challenger must be better, at least 0. Evidence against all such models
        proves that no incumbent is worse than the m-th best arm by more than this.
    incumbents
        m different arms; None takes the m best of the means.

    Returns
    -------
    Alternative
        The nearest of all pairs, with proofs for this pair and against all others.

    Raises
    ------
    ProblemError, CertificateError
        As in `pair_alternative`.

    Examples
    --------
    >>> model = Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], misspecification=0.1)
    >>> a = closest_alternative(model, [0.4, 0.5, 0.8], [0.2, 0.4, 0.4], m=1)
    >>> a.pair, round(a.cost, 6), bool(a.check())
    ((1, 2), 0.01, True)
    """
    return AlternativeSearch(model, m).closest(
        means, weights, tolerance=tolerance, incumbents=incumbents
    )
