"""Lower bounds on costs by weak duality, and checks of answers, in plain NumPy.

For any z with A'z = 0 and any alpha >= 0, with v = z + alpha (e_j - e_i), every model lambda with
lambda_i >= lambda_j + tol costs at least

    ( v'mu + alpha tol - eps |z|_1 )_+^2 / ( 2 sum_k v_k^2 / w_k ).

Whether (z, alpha) is feasible depends on neither the means nor the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Matrix, Vector, as_number
from mislid.geometry.coordinates import coordinates
from mislid.model import Model

# Tolerated rounding. SLACK: in A'z = 0 relative to |z|_1 max |A|, in costs, and in an arm's mean
# relative to its size. LARGEST_SLACK: in an arm's mean relative to the largest mean.
SLACK = 1e-9
LARGEST_SLACK = 1e-13
# The multipliers of the HEAVY heaviest arms are summed exactly. The Cauchy-Schwarz inequality
# bounds the others; it loses a fifth of their sum if all are alike.
HEAVY = 128
# Factor of closed-form bounds; pairs that cost hardly more than the cheapest are then proved by
# multipliers.
TRUST = 0.99
# Largest number of array entries at a time.
MOST_NUMBERS = 1 << 16

# A pair (challenger, incumbent) in each row.
Pairs = NDArray[np.int64]
Arms = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of checking a certificate; true if everything holds.

    Attributes
    ----------
    failures
        One sentence for each statement that does not hold.

    Examples
    --------
    >>> print(Check(()))
    holds
    >>> bool(Check(("the multipliers do not sum to zero: 0.3",)))
    False
    """

    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every statement of the certificate holds."""
        return not self.failures

    def __bool__(self) -> bool:
        """Whether every statement of the certificate holds."""
        return self.ok

    def __str__(self) -> str:
        """Say "holds" or what fails."""
        return "holds" if self.ok else "; ".join(self.failures)


class Certified:
    """Base class of answers with a proof: a model, its cost, and a lower bound on all costs."""

    __slots__ = ()

    def check(self, rtol: float = 1e-6) -> Check:
        """Verify with plain NumPy that the answer is a valid model and that none is nearer.

        Parameters
        ----------
        rtol
            Largest relative distance between the cost and what is proved, at least 0.

        Returns
        -------
        Check
            True if every statement holds; otherwise it lists those that fail.

        Raises
        ------
        ProblemError
            If `rtol` is negative or no number. A proof that fails raises nothing.

        Examples
        --------
        A wrong cost is detected:

        >>> from dataclasses import replace
        >>> from mislid import project
        >>> found = project(Model([[1.0], [1.0], [1.0]], 1.0), [-2.0, -2.0, 4.0], [1.0, 1.0, 1.0])
        >>> print(found.check())
        holds
        >>> print(replace(found, cost=5.0).check())
        cost must be 1/2 sum w (means - given)^2 = 5.333...; got 5.0; bound must not...
        """
        width = as_number(rtol, "rtol", low=0.0, high=math.inf, allow_inf=True)
        return Check(tuple(self._failures(width)))

    def _failures(self, rtol: float) -> list[str]:
        raise NotImplementedError


def top_arms(means: Vector, m: int) -> NDArray[np.int64]:
    """The m best arms in increasing order; the lower index wins a tie.

    Examples
    --------
    >>> top_arms(np.array([0.5, 0.1, 0.5, 0.9]), 2).tolist()
    [0, 3]
    """
    return np.sort(np.argsort(-means, kind="stable")[:m]).astype(np.int64)


def all_pairs(K: int, incumbents: NDArray[np.int64]) -> Pairs:
    """Every pair (challenger, incumbent) of K arms, sorted, (m (K - m), 2).

    Examples
    --------
    >>> all_pairs(4, np.array([0, 3])).tolist()
    [[1, 0], [1, 3], [2, 0], [2, 3]]
    """
    challengers = np.setdiff1d(np.arange(K), incumbents)
    grid = np.meshgrid(challengers, incumbents, indexing="ij")
    return np.stack([arms.ravel() for arms in grid], axis=1).astype(np.int64)


class PairProblem(NamedTuple):
    """The problems of all pairs: a model set, means (K,), weights (K,) and a tolerance."""

    model: Model
    means: Vector
    weights: Vector
    tolerance: float = 0.0


class Proofs(NamedTuple):
    """Multipliers that prove a lower bound on the cost of some pairs, whatever the weights.

    Attributes
    ----------
    pairs
        The (challenger, incumbent) of each proof, (n, 2).
    multipliers
        Rows z (n, K), each with A'z = 0.
    alphas
        Numbers (n,), at least 0.
    """

    pairs: Pairs
    multipliers: Matrix
    alphas: Vector


def no_proofs(K: int) -> Proofs:
    """No multipliers at all, for K arms."""
    return Proofs(np.empty((0, 2), dtype=np.int64), np.empty((0, K)), np.empty(0))


def _one_proof(multipliers: Vector, alpha: float, pair: tuple[int, int] | None) -> Proofs:
    """A single proof; without a pair (for the projection), alpha is 0."""
    return Proofs(np.array([pair or (0, 0)]), multipliers[None, :], np.array([float(alpha)]))


def linear_fit(model: Model, means: Vector) -> Vector:
    """A theta (d,) by least squares for means (K,), whatever the columns' units."""
    scale = np.max(np.abs(model.features), axis=0)
    theta: Vector = np.linalg.lstsq(model.features / scale, means, rcond=None)[0] / scale
    return theta


def _of_unit_size(proofs: Proofs) -> tuple[Matrix, Vector]:
    """Multipliers and alphas, scaled: bounds do not depend on their scale, squares may overflow."""
    size = np.max(np.abs(proofs.multipliers), axis=1, initial=0.0)
    size = np.maximum(size, np.abs(proofs.alphas))
    size = np.where(size > 0.0, size, 1.0)
    return proofs.multipliers / size[:, None], proofs.alphas / size


def proved_bounds(problem: PairProblem, proofs: Proofs, theta: Vector | None = None) -> Vector:
    """The lower bound that each proof (n,) gives.

    `theta` (d,) only reduces rounding: since A'z = 0, any linear model may be subtracted from the
    means.
    A bound is infinite where v = 0 shows that no model reverses the pair.
    """
    model, means, weights, tolerance = problem
    rows = np.arange(proofs.alphas.size)
    i, j = proofs.pairs.T
    z, alphas = _of_unit_size(proofs)
    v = z.copy()
    v[rows, j] += alphas
    v[rows, i] -= alphas
    linear = np.zeros(model.K) if theta is None else model.features @ theta
    sizes = np.sum(np.abs(z), axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        walls = np.where(sizes > 0.0, model.misspecification * sizes, 0.0)
        apart = alphas * (tolerance + (linear[j] - linear[i]))
        value = np.maximum(v @ (means - linear) + apart - walls, 0.0)
        square = np.sum(np.where(v == 0.0, 0.0, v**2 / weights), axis=1)
        bounds: Vector = np.where(value > 0.0, value**2 / (2.0 * square), 0.0)
    # v = 0 balances up to rounding where features differ by that; only equal ones leave no model.
    bounds[np.isinf(bounds) & np.any(model.features[i] != model.features[j], axis=1)] = 0.0
    return bounds


def proved_bound(
    problem: PairProblem,
    multipliers: Vector,
    alpha: float = 0.0,
    pair: tuple[int, int] | None = None,
    theta: Vector | None = None,
) -> float:
    """`proved_bounds` of one proof; without a pair it bounds the projection's cost.

    Examples
    --------
    >>> import numpy as np
    >>> model = Model([[1.0], [1.0]], misspecification=0.1)
    >>> problem = PairProblem(model, np.array([1.0, 0.0]), np.ones(2))
    >>> proved_bound(problem, np.zeros(2), 1.0, (1, 0))
    0.25
    """
    return float(proved_bounds(problem, _one_proof(multipliers, alpha, pair), theta)[0])


def unstructured_bounds(problem: PairProblem, pairs: Pairs) -> Vector:
    """The bound (n,) of z = 0 for each pair: its cost without structure."""
    (_, means, weights, tolerance), (i, j) = problem, pairs.T
    gap = np.maximum(means[j] - means[i] + tolerance, 0.0)
    heavy = (weights[i] > 0.0) & (weights[j] > 0.0)
    with np.errstate(divide="ignore"):
        spread = 1.0 / weights[i] + 1.0 / weights[j]
    bounds: Vector = np.where(heavy, gap**2 / (2.0 * spread), 0.0)
    return bounds


def is_unstructured(model: Model, means: Vector, tolerance: float) -> bool:
    """Whether the tube around zero holds every alternative that moves two arms only."""
    return model.misspecification >= float(np.max(np.abs(means))) + tolerance


def pair_bounds(problem: PairProblem, pairs: Pairs, proofs: Proofs) -> Vector:
    """A lower bound (n,) on the cost of each pair, without structure or by a feasible proof.

    It is infinite where no model reverses the pair: its arms have the same features, and the tube
    is narrower than half the tolerance.
    """
    bounds, model = unstructured_bounds(problem, pairs), problem.model
    if problem.tolerance > 2.0 * model.misspecification:
        features, (i, j) = model.features, pairs.T
        bounds[np.all(features[i] == features[j], axis=1)] = math.inf
    place = {(i, j): n for n, (i, j) in enumerate(pairs.tolist())}
    proved = proved_bounds(problem, proofs, linear_fit(model, problem.means))
    proved[~feasible(model, proofs)] = 0.0
    for (i, j), bound in zip(proofs.pairs.tolist(), proved, strict=True):
        if (i, j) in place:
            n = place[i, j]
            bounds[n] = max(bounds[n], bound)
    return bounds


def _balance(model: Model, proofs: Proofs) -> tuple[Matrix, Matrix]:
    """|A'z| and its tolerance, both (n, d)."""
    # Against all multipliers: those of a column's own arms may be rounding altogether.
    sizes = np.sum(np.abs(proofs.multipliers), axis=1) + 2.0 * np.abs(proofs.alphas)
    allowed: Matrix = SLACK * sizes[:, None] * np.max(np.abs(model.features), axis=0)
    return np.abs(proofs.multipliers @ model.features), allowed


def feasible(model: Model, proofs: Proofs) -> NDArray[np.bool_]:
    """Which proofs (n,) have A'z = 0 and alpha >= 0, up to rounding of relative size `SLACK`."""
    if math.isinf(model.misspecification):
        balances = proofs.multipliers == 0.0
    else:
        residual, allowed = _balance(model, proofs)
        balances = residual <= allowed
    holds: NDArray[np.bool_] = (proofs.alphas >= 0.0) & np.all(balances, axis=1)
    return holds


def balanced(X: Matrix, weights: Vector, multipliers: Vector, alpha: float = 0.0) -> Vector:
    """The multipliers (K,), moved onto X'z = 0 where rounding has left them too far from it.

    The columns of X (K, d) span those of the features, with entries of at most one. The move is the
    least in sum_k dz_k^2 / w_k, which limits its effect on the bound.
    """
    imbalance = multipliers @ X
    size = float(np.sum(np.abs(multipliers))) + 2.0 * alpha
    if X.shape[1] * float(np.max(np.abs(imbalance))) <= 0.1 * SLACK * size:
        return multipliers
    root = np.sqrt(weights)
    move = np.linalg.lstsq((root[:, None] * X).T, imbalance, rcond=None)[0]
    moved: Vector = multipliers - root * move
    return moved


def multiplier_failures(
    model: Model, multipliers: Vector, alpha: float = 0.0, pair: tuple[int, int] | None = None
) -> list[str]:
    """Why (multipliers, alpha) are not feasible for a pair, or for the projection."""
    proof = _one_proof(multipliers, alpha, pair)
    if feasible(model, proof)[0]:
        return []
    failures = []
    if not alpha >= 0.0:
        failures.append(f"alpha must not be negative; got {alpha:g}")
    if math.isinf(model.misspecification):
        if np.any(multipliers != 0.0):
            failures.append("multipliers must vanish where the model has no structure")
        return failures
    residual, allowed = (sides[0] for sides in _balance(model, proof))
    worst = int(np.argmax(residual - allowed))
    if not residual[worst] <= allowed[worst]:
        failures.append(
            f"features.T @ multipliers must vanish; column {worst} gives {residual[worst]:g}, "
            f"more than the {allowed[worst]:g} of rounding"
        )
    return failures


def membership_failures(model: Model, given: Vector, means: Vector, theta: Vector) -> list[str]:
    """Why means, found near the given ones, are not in the tube around A theta.

    The tolerance for rounding depends on the size of the given means.
    """
    sizes = np.abs(model.features) @ np.abs(theta) + np.abs(means)
    slack = SLACK * sizes + LARGEST_SLACK * np.max(sizes + np.abs(given))
    excess = np.abs(means - model.features @ theta) - model.misspecification
    worst = int(np.argmax(excess - slack))
    if excess[worst] <= slack[worst]:
        return []
    allowed = f"{model.misspecification:g}; arm {worst} exceeds that by {excess[worst]:g}"
    return [f"means must deviate from features @ theta by at most {allowed}"]


def order_failures(
    given: Vector, means: Vector, pair: tuple[int, int], tolerance: float
) -> list[str]:
    """Why means, found near the given ones, do not reverse a pair."""
    i, j = pair
    short = float(means[j] + tolerance - means[i])
    if short <= LARGEST_SLACK * (float(np.max(np.abs(means) + np.abs(given))) + tolerance):
        return []
    above = f"{tolerance:g} above arm {j}; it falls short of that by {short:g}"
    return [f"means must put arm {i} at least {above}"]


def negligible_cost(given: Vector, weights: Vector, tolerance: float = 0.0) -> float:
    """A cost that counts as zero: that of moving the heaviest arm by a millionth of the spread.

    Or, if it is larger, that of the rounding of a mean. The spread is twice the median distance
    from the median, so that one outlying arm does not matter.
    """
    apart = 2.0 * float(np.median(np.abs(given - np.median(given))))
    millionth = float(np.max(weights)) * (1e-6 * (apart + tolerance)) ** 2
    rounding = float(np.max(weights * (LARGEST_SLACK * np.abs(given)) ** 2))
    return max(millionth, rounding)


def cost_failures(
    problem: PairProblem, means: Vector, cost: float, bound: float, proved: float, rtol: float
) -> list[str]:
    """What is wrong with the cost of means (K,) and its bound, given the bound that is proved."""
    failures, (_, given, weights, tolerance) = [], problem
    negligible = negligible_cost(given, weights, tolerance)
    actual = 0.5 * float(np.sum(weights * (means - given) ** 2))
    slack = rtol * cost + negligible
    if not abs(actual - cost) <= SLACK * cost + negligible:
        failures.append(f"cost must be 1/2 sum w (means - given)^2 = {actual!r}; got {cost!r}")
    if not bound <= cost:
        failures.append(f"bound must not exceed the cost {cost!r}; got {bound!r}")
    if not bound <= proved + slack:
        failures.append(f"bound must be what the multipliers prove, {proved!r}; got {bound!r}")
    if not cost - bound <= slack:
        failures.append(f"cost {cost!r} and bound {bound!r} must agree to {rtol:g}")
    return failures


def rival_failures(
    problem: PairProblem,
    incumbents: tuple[int, ...],
    target: float,
    floor: Vector | None,
    proofs: Proofs | None,
) -> list[str]:
    """Messages for pairs of the incumbents that are not proved to cost at least `target`.

    Proofs are without structure, by stored multipliers, or by closed forms on top of the floor,
    the projection's multipliers (K,).
    """
    model = problem.model
    pairs = all_pairs(model.K, np.array(incumbents))
    on_file = no_proofs(model.K) if proofs is None else proofs
    if floor is not None and (wrong := multiplier_failures(model, floor)):
        return [f"floor: {failure}" for failure in wrong]
    least, nearest = projected(problem, floor)
    bounds = np.maximum(
        pair_bounds(problem, pairs, on_file), least + unstructured_bounds(nearest, pairs)
    )
    short = np.flatnonzero(~(bounds >= target))
    closed = closed_form_bounds(problem, pairs[short], floor, exactly=True)
    bounds[short] = np.maximum(bounds[short], closed)
    return [
        f"pair ({i}, {j}) must cost at least {target!r}; only {bound!r} is proved"
        for (i, j), bound in zip(pairs[short].tolist(), bounds[short].tolist(), strict=True)
        if not bound >= target
    ]


def projected(problem: PairProblem, floor: Vector | None) -> tuple[float, PairProblem]:
    """The bound of the floor's multipliers z (K,) on all models, and the problem at mu - z / w.

    A pair's bound at that point adds to it, if z has the scale with the largest bound.
    """
    if floor is None:
        return 0.0, problem
    model, given, weights, _ = problem
    theta = linear_fit(model, given)
    least = proved_bound(problem, floor, theta=theta)
    if not 0.0 < least < math.inf:
        return 0.0, problem
    value = float(floor @ (given - model.features @ theta))
    value -= model.misspecification * float(np.sum(np.abs(floor)))
    reached = np.divide(floor, weights, out=np.zeros(model.K), where=weights > 0.0)
    return least, problem._replace(means=given - 2.0 * least / value * reached)


def closed_form_bounds(
    problem: PairProblem, pairs: Pairs, floor: Vector | None, *, exactly: bool = False
) -> Vector:
    """Lower bounds (n,) on the costs of pairs by multipliers in closed form.

    A pair's multipliers z_lin = (D A V^-1 A' - I) u, u = e_j - e_i, V = A'DA, are optimal where the
    model is linear, z = 0 where it has no structure; s z_lin has the best scale s. The pair's bound
    is added to that of all models by the projection's multipliers `floor` (K,). With `exactly`, the
    sums have no shortcuts, and bounds are not reduced by TRUST.
    """
    bounds, model = unstructured_bounds(problem, pairs), problem.model
    if math.isinf(model.misspecification):
        return bounds
    least, nearest = projected(problem, floor)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        heavy = model.K if exactly else HEAVY
        linear = _LinearBounds(nearest, heavy)
        trust = 1.0 if exactly else TRUST
        step = max(1, MOST_NUMBERS // max(heavy, model.d))
        for start in range(0, len(pairs), step):
            some = slice(start, start + step)
            bounds[some] = np.maximum(bounds[some], least + trust * linear.of(pairs[some]))
    return bounds


class _LinearBounds:
    """Bounds of multipliers s z_lin, for the best s in [0, 1].

    With the weighted features' triangular factor R and C = A R^-1, a pair has
    v = u + z_lin = D C c for c = C_j - C_i, and sum_k v_k^2 / w_k = |c|^2.
    """

    def __init__(self, problem: PairProblem, heavy: int) -> None:
        model, means, weights, tolerance = problem
        self._features = coordinates(model).matrix  # well conditioned, with the same span
        self._misspecification, self._tolerance = model.misspecification, tolerance
        self._linear = model.features @ linear_fit(model, means)
        self._rest = means - self._linear
        self._level = float(np.max(np.abs(means))) + tolerance
        self._weights = weights
        self._C = _in_units_of_weight(self._features, weights)
        self._moments = self._C.T @ (weights * self._rest)
        self._back = self._features.T @ (weights[:, None] * self._C)
        self._is_heavy = np.zeros(model.K, dtype=bool)
        self._is_heavy[np.argsort(-weights, kind="stable")[:heavy]] = True
        self._pull = (weights[:, None] * self._C)[self._is_heavy]
        light, little = self._C[~self._is_heavy], weights[~self._is_heavy]
        self._light_metric = np.sum(little) * (light.T * little) @ light

    def of(self, pairs: Pairs) -> Vector:
        """The bound (n,) of each pair; 0 where rounding leaves nothing feasible."""
        i, j = pairs.T
        c = self._C[j] - self._C[i]
        gap = self._rest[j] - self._rest[i]
        value = c @ self._moments - gap - self._misspecification * self._sizes(c, i, j)
        gap = gap + (self._linear[j] - self._linear[i]) + self._tolerance
        # What may be rounding of the means proves nothing.
        value -= LARGEST_SLACK * self._level
        alone = 1.0 / self._weights[i] + 1.0 / self._weights[j]
        bounds = _scaled_bounds(gap, value, alone, np.sum(c * c, axis=1))
        residual = np.abs(c @ self._back.T - (self._features[j] - self._features[i]))
        feasible = np.max(residual, axis=1) <= 0.1 * SLACK
        return np.where(feasible & (bounds > 0.0), bounds, 0.0)

    def _sizes(self, c: Matrix, i: Arms, j: Arms) -> Vector:
        """An upper bound (n,) on |z_lin|_1; exact but for the light arms."""
        if self._misspecification == 0.0:
            return np.zeros(len(c))
        sizes = np.sum(np.abs(c @ self._pull.T), axis=1)
        sizes += np.sqrt(np.maximum(np.sum((c @ self._light_metric) * c, axis=1), 0.0))
        for arm, sign in ((i, 1.0), (j, -1.0)):
            pulled = self._weights[arm] * np.sum(self._C[arm] * c, axis=1)
            sizes += np.abs(pulled + sign) - np.where(self._is_heavy[arm], np.abs(pulled), 0.0)
        return sizes


def _in_units_of_weight(features: Matrix, weights: Vector) -> Matrix:
    """A R^-1 (K, d) for the triangular factor R of D^1/2 A; zeros where it is singular."""
    from scipy.linalg import solve_triangular

    factor = np.linalg.qr(np.sqrt(weights)[:, None] * features, mode="r")
    if not np.all(np.abs(np.diag(factor)) > 0.0):
        return np.zeros_like(features)
    solved: Matrix = solve_triangular(factor, features.T, trans="T").T
    return solved


def _scaled_bounds(gap: Vector, value: Vector, alone: Vector, together: Vector) -> Vector:
    """max over s in [0, 1] of (gap + s value)_+^2 / (2 (q1 + (1 - s)^2 (q0 - q1))).

    q0 = `alone` is the spread of the pair's arms, infinite where one of them has no weight, and
    q1 = `together` that of v = e_j - e_i + z_lin, to which z_lin is orthogonal.
    """
    gain = alone - together
    rest = np.clip(-value * together / (gain * (gap + value)), 0.0, 1.0)
    rest = np.where(gain <= 0.0, 0.0, rest)
    rest = np.where(value * alone + gap * gain <= 0.0, 1.0, rest)
    rest = np.where(np.isinf(alone), 0.0, rest)
    spread = together + np.where(rest > 0.0, rest**2 * gain, 0.0)
    reached = np.maximum(gap + (1.0 - rest) * value, 0.0)
    bounds: Vector = np.where(reached > 0.0, reached**2 / (2.0 * spread), 0.0)
    return bounds
