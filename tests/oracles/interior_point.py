"""A slow interior point for pair problems and projections, whose answers are brackets.

Trust does not rest on the iteration but on `Reduced.lower` and `Reduced.upper`: the first turns any
multipliers into a bound that holds, the second any parameter into a model that is feasible, and
both are a few lines in 76-digit decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic import (
    DECIMAL,
    LONG_DOUBLE,
    Arithmetic,
    Array,
    floats,
    in_row_space,
    independent_columns,
    ldl_factor,
    ldl_solve,
)

Floats = NDArray[np.float64]


class Bracketing(NamedTuple):
    """lower <= optimal cost <= upper in decimals; a feasible model (n,) that costs `upper`."""

    lower: Any
    upper: Any
    model: Array

    def narrowed(self, other: Bracketing) -> Bracketing:
        best = self if self.upper <= other.upper else other
        return Bracketing(max(self.lower, other.lower), best.upper, best.model)


@dataclass(frozen=True)
class Reduced:
    """A pair problem (or a projection) on the arms that matter, in coordinates that are unique.

    minimise 1/2 sum_k w_k (lambda_k - mu_k)^2 over theta (r,), lambda (n,) with
    |lambda_k - phi_k'theta| <= eps and, if there is a pair, lambda_i >= lambda_j + tol, eps < inf.
    Arms without weight are gone (lambda_k follows theta) unless they are in the pair. The features
    of the arms with weight have rank r, and every other kept row is in their row space.
    """

    arms: NDArray[np.intp]
    features: Array
    eps: Any
    means: Array
    weights: Array
    pair: tuple[int, int] | None
    tolerance: Any

    @property
    def u(self) -> Array:
        u = self.means * 0
        if self.pair is not None:
            challenger, incumbent = self.pair
            u[challenger] = u[challenger] - 1
            u[incumbent] = u[incumbent] + 1
        return u

    @property
    def negligible(self) -> Any:
        """A cost that is zero for every purpose, so that a zero optimum is reached too."""
        return (self.weights * self.means**2).sum() / 10**40

    def factor(self) -> tuple[Array, Array]:
        """Factor of V = A' diag(w) A, positive definite by construction."""
        return ldl_factor(self.features.T @ (self.weights[:, None] * self.features))

    def lower(self, z: Array, alpha: Any, factor: tuple[Array, Array] | None = None) -> Any:
        """Weak duality with z moved, in the norm of the bound, to where A'z = 0.

        (v'mu + alpha tol - eps |z|_1)_+^2 / (2 sum_k v_k^2 / w_k) with v = z + alpha u.
        """
        factor = self.factor() if factor is None else factor
        weightless = self.weights == 0

        def price(*vectors: Array) -> Any:
            kept = self.weights[~weightless]
            return sum((x[~weightless] ** 2 / kept).sum() for x in vectors)

        before = price(z, alpha * self.u)
        z = np.where(weightless, -alpha * self.u, z)
        z = z - self.weights * (self.features @ ldl_solve(factor, self.features.T @ z))
        v = z + alpha * self.u
        gain = v @ self.means + alpha * self.tolerance - self.eps * abs(z).sum()
        # The bound does not see the scale of v, so a v that is nothing but rounding proves nothing.
        if gain <= 0 or price(v) * 10**80 <= before:
            return self.eps * 0
        return gain * gain / (2 * price(v))

    def upper(self, theta: Array, factor: tuple[Array, Array] | None = None) -> tuple[Any, Array]:
        """The cheapest model whose linear part is theta, moved as little as the half-space asks."""
        if self.pair is not None:
            factor = self.factor() if factor is None else factor
            theta = self._reach_half_space(theta, factor)
        fitted = self.features @ theta
        model = np.minimum(np.maximum(self.means, fitted - self.eps), fitted + self.eps)
        if self.pair is not None:
            model = self._separate_pair(model, fitted)
        return (self.weights * (model - self.means) ** 2).sum() / 2, model

    def _reach_half_space(self, theta: Array, factor: tuple[Array, Array]) -> Array:
        direction = self.features.T @ self.u
        excess = direction @ theta + self.tolerance - 2 * self.eps
        if not excess > 0:
            return theta
        step = ldl_solve(factor, direction)
        return theta - excess / (direction @ step) * step

    def _separate_pair(self, model: Array, fitted: Array) -> Array:
        assert self.pair is not None
        i, j = self.pair
        if model[i] - model[j] >= self.tolerance:
            return model
        # lambda_j = t and lambda_i = t + tol: one number in an interval, a parabola to minimise.
        low = max(fitted[j], fitted[i] - self.tolerance) - self.eps
        high = min(fitted[j], fitted[i] - self.tolerance) + self.eps
        total = self.weights[i] + self.weights[j]
        best = low
        if total > 0:
            pull = self.weights[i] * (self.means[i] - self.tolerance)
            best = (pull + self.weights[j] * self.means[j]) / total
        t = min(max(best, low), high)
        model = model.copy()
        model[i], model[j] = t + self.tolerance, t
        return model

    def round_to(self, arithmetic: Arithmetic) -> Reduced:
        """The same problem in another arithmetic."""
        return Reduced(
            self.arms,
            arithmetic.array(floats(self.features)),
            arithmetic.number(float(self.eps)),
            arithmetic.array(floats(self.means)),
            arithmetic.array(floats(self.weights)),
            self.pair,
            arithmetic.number(float(self.tolerance)),
        )


def reduce(
    features: Floats,
    eps: float,
    means: Floats,
    weights: Floats,
    pair: tuple[int, int] | None,
    tolerance: float,
) -> Reduced:
    """Drop what has no influence on the cost: see `Reduced`. Inputs are floats, taken as exact."""
    a, mu, w = (DECIMAL.array(x) for x in (features, means, weights))
    positive = np.flatnonzero(weights > 0)
    columns, basis = independent_columns(a[positive], DECIMAL)
    if pair is not None and not _half_space_binds(a, weights, pair, columns, basis):
        pair = None
    extra = [] if pair is None else [k for k in pair if weights[k] == 0]
    arms = np.concatenate([positive, np.array(extra, dtype=np.intp)])
    rows = a[arms]
    if pair is not None and len(extra) == 2:
        # Neither has weight: only phi_j - phi_i matters, and it can be in the row space alone.
        i, j = pair
        rows[-2], rows[-1] = a[i] - a[j], a[j] * 0
    where = {int(arm): n for n, arm in enumerate(arms)}
    local = None if pair is None else (where[pair[0]], where[pair[1]])
    return Reduced(
        arms,
        rows[:, columns],
        DECIMAL.number(eps),
        mu[arms],
        w[arms],
        local,
        DECIMAL.number(tolerance),
    )


def _half_space_binds(
    a: Array, weights: Floats, pair: tuple[int, int], columns: list[int], basis: Array
) -> bool:
    """False when theta can move phi_i'theta - phi_j'theta at no cost to the arms with weight."""
    i, j = pair
    direction = a[j] - a[i]
    if weights[i] > 0 and weights[j] > 0:
        return True
    return not np.any(direction != 0) or in_row_space(direction, columns, basis, DECIMAL)


class _Point(NamedTuple):
    theta: Array
    model: Array
    slack_up: Array
    slack_down: Array
    z_up: Array
    z_down: Array
    slack_pair: Any
    alpha: Any

    def moved(self, direction: _Point, step: Any) -> _Point:
        return _Point(*(x + step * dx for x, dx in zip(self, direction, strict=True)))

    def products(self) -> Any:
        tube = self.slack_up @ self.z_up + self.slack_down @ self.z_down
        return tube + self.slack_pair * self.alpha

    def longest_step(self, direction: _Point) -> Any:
        """The largest step up to 1 that keeps slacks and multipliers non-negative."""
        longest = self.products() * 0 + 1
        for x, dx in zip(self[2:], direction[2:], strict=True):
            x, dx = np.atleast_1d(x), np.atleast_1d(dx)
            falling = dx < 0
            if falling.any():
                longest = min(longest, np.min(-x[falling] / dx[falling]))
        return longest


def _start(problem: Reduced, factor: tuple[Array, Array]) -> _Point:
    """The middle of the tube around weighted least squares; all complementarity products equal."""
    a, w, mu, eps = problem.features, problem.weights, problem.means, problem.eps
    theta = ldl_solve(factor, a.T @ (w * mu))
    model = a @ theta
    apart = abs(problem.u @ model + problem.tolerance) if problem.pair is not None else eps * 0
    slack_pair = apart + eps
    typical = (w * ((model - mu) ** 2 + slack_pair**2)).sum() / (2 * w.shape[0] + 1)
    slack = model * 0 + eps
    alpha = typical / slack_pair if problem.pair is not None else typical * 0
    return _Point(theta, model, slack, slack, typical / slack, typical / slack, slack_pair, alpha)


def _direction(problem: Reduced, p: _Point, to_up: Array, to_down: Array, to_pair: Any) -> _Point:
    """Newton's direction towards the given changes of the complementarity products."""
    a, w, u = problem.features, problem.weights, problem.u
    g = p.model - a @ p.theta
    miss_up, miss_down = g - problem.eps + p.slack_up, -g - problem.eps + p.slack_down
    miss_pair = u @ p.model + problem.tolerance + p.slack_pair if problem.pair else p.alpha * 0
    z = p.z_up - p.z_down
    e = p.z_up / p.slack_up + p.z_down / p.slack_down
    q = (to_up + p.z_up * miss_up) / p.slack_up - (to_down + p.z_down * miss_down) / p.slack_down
    push = (to_pair + p.alpha * miss_pair) / p.slack_pair
    b = -(w * (p.model - problem.means) + z + p.alpha * u) - q - u * push
    inverse = 1 / (w + e)
    inverse_u = inverse * u
    coupling = p.alpha / (p.slack_pair + p.alpha * (u @ inverse_u))
    rank_one = a.T @ (e * inverse_u)
    normal = a.T @ ((w * e * inverse)[:, None] * a) + coupling * rank_one[:, None] * rank_one

    def eliminate(x: Array) -> Array:
        return inverse * x - inverse_u * (coupling * (inverse_u @ x))

    right = a.T @ (z + q + e * eliminate(b))
    d_theta = ldl_solve(ldl_factor(normal), right)
    linear = a @ d_theta
    d_model = eliminate(b + e * linear)
    d_g = d_model - linear
    d_up, d_down = -d_g - miss_up, d_g - miss_down
    d_pair = -(u @ d_model) - miss_pair
    return _Point(
        d_theta,
        d_model,
        d_up,
        d_down,
        (to_up - p.z_up * d_up) / p.slack_up,
        (to_down - p.z_down * d_down) / p.slack_down,
        d_pair,
        (to_pair - p.alpha * d_pair) / p.slack_pair,
    )


def iterate(problem: Reduced, rtol: Any, iterations: int) -> tuple[Array, Array, Any]:
    """Mehrotra's predictor and corrector until the bracket closes; the best (theta, z, alpha)."""
    factor = problem.factor()
    p = _start(problem, factor)
    size = 2 * p.model.shape[0] + (1 if problem.pair else 0)
    best_upper, best_lower = None, None
    theta, z, alpha = p.theta, p.z_up, p.alpha
    for _ in range(iterations):
        upper, _model = problem.upper(p.theta, factor)
        lower = problem.lower(p.z_up - p.z_down, p.alpha, factor)
        if best_upper is None or upper < best_upper:
            best_upper, theta = upper, p.theta
        if best_lower is None or lower > best_lower:
            best_lower, z, alpha = lower, p.z_up - p.z_down, p.alpha
        if best_upper - best_lower <= best_upper * rtol + problem.negligible:
            break
        mean = p.products() / size
        predictor = _direction(
            problem, p, -p.slack_up * p.z_up, -p.slack_down * p.z_down, -p.slack_pair * p.alpha
        )
        ahead = p.moved(predictor, p.longest_step(predictor)).products() / size
        target = mean * (ahead / mean) ** 3
        corrector = _direction(
            problem,
            p,
            target - p.slack_up * p.z_up - predictor.slack_up * predictor.z_up,
            target - p.slack_down * p.z_down - predictor.slack_down * predictor.z_down,
            (target if problem.pair else target * 0)
            - p.slack_pair * p.alpha
            - predictor.slack_pair * predictor.alpha,
        )
        step = p.longest_step(corrector)
        p = p.moved(corrector, step * 995 / 1000 if step < 1 else step)
        if not p.products() > 0:
            break
    return theta, z, alpha


def solve(problem: Reduced, rtol: float = 1e-13) -> Bracketing:
    """Bracket the optimal cost to rtol: long doubles first, decimals where those are not enough."""
    factor = problem.factor()
    if problem.eps == 0:
        return bracket(problem, linear_point(problem, factor), factor)
    rough = problem.round_to(LONG_DOUBLE)
    with np.errstate(all="ignore"):
        point = iterate(rough, LONG_DOUBLE.number(max(rtol / 4, 1e-17)), 60)
    first = bracket(problem, point, factor)
    if first.upper - first.lower <= first.upper * DECIMAL.number(rtol) + problem.negligible:
        return first
    exact = iterate(problem, DECIMAL.number(rtol / 4), 300)
    return first.narrowed(bracket(problem, exact, factor))


def linear_point(problem: Reduced, factor: tuple[Array, Array]) -> tuple[Array, Array, Any]:
    """Closed form of a linear model (eps = 0): weighted least squares, then the half-space."""
    a, w, u = problem.features, problem.weights, problem.u
    theta = ldl_solve(factor, a.T @ (w * problem.means))
    direction = a.T @ u
    step = ldl_solve(factor, direction)
    excess = direction @ theta + problem.tolerance
    alpha = problem.eps * 0
    if problem.pair is not None and np.any(direction != 0) and excess > 0:
        alpha = excess / (direction @ step)
    theta = theta - alpha * step
    return theta, w * (problem.means - a @ theta) - alpha * u, alpha


def bracket(
    problem: Reduced, point: tuple[Array, Array, Any], factor: tuple[Array, Array]
) -> Bracketing:
    """What (theta, z, alpha) from any solver proves about the optimal cost."""
    theta, z, alpha = (_finite_decimals(x) for x in point)
    upper, model = problem.upper(theta, factor)
    return Bracketing(problem.lower(z, max(alpha[()], 0 * upper), factor), upper, model)


def _finite_decimals(values: Any) -> Array:
    given = np.asarray(values)
    return DECIMAL.array(np.where(np.isfinite(floats(given)), given, 0 * given))
