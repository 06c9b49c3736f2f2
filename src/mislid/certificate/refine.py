"""Bring a closest model to the last digits, so that both sides of its certificate meet.

Solvers stop once a cost is certified. Where an alternative touches the tube is then known, and
what is left are linear equations: Newton's method, which ends after a step or two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mislid._validation import Matrix, Vector

_STEPS, _HALVINGS = 30, 12


class Problem(NamedTuple):
    """The models X b + eta, |eta| <= eps, around given means with weights (K,).

    For a pair (challenger i, incumbent j), those with lambda_i >= lambda_j + tol.
    """

    X: Matrix
    eps: float
    given: Vector
    weights: Vector
    pair: tuple[int, int] | None = None
    tol: float = 0.0

    def nearest(self, values: Vector, alpha: float = 0.0) -> Vector:
        """Minimises cost - alpha (lambda_i - lambda_j) over means (K,) around linear values."""
        linear = self.X @ values
        pushed = self.given.copy()
        for arm, push in zip(self.pair or (), (alpha, -alpha), strict=False):
            if push != 0.0:
                weight = float(self.weights[arm])
                pushed[arm] += push / weight if weight > 0.0 else math.copysign(math.inf, push)
        found: Vector = linear + np.clip(pushed - linear, -self.eps, self.eps)
        return found

    def multipliers(self, values: Vector, alpha: float = 0.0) -> Vector:
        """Of the tube's walls (K,); orthogonal to X at the closest model."""
        z = self.weights * (self.given - self.nearest(values, alpha))
        if self.pair is not None:
            z[self.pair[0]] += alpha
            z[self.pair[1]] -= alpha
        return z


def polished(problem: Problem, values: Vector, alpha: float = 0.0) -> tuple[Vector, float]:
    """Values (d,) and alpha of the closest model, from ones that are nearly so."""
    unit = float(np.max(problem.weights))
    scaled = problem._replace(weights=problem.weights / unit)
    if alpha == 0.0:
        scaled = scaled._replace(pair=None)
    point = np.append(values, alpha / unit)
    residual = _residual(scaled, point)
    for _ in range(_STEPS):
        step = np.linalg.lstsq(_slopes(scaled, point), residual, rcond=None)[0]
        for halving in range(_HALVINGS):
            trial = point + 0.5**halving * step
            left = _residual(scaled, trial)
            if trial[-1] >= 0.0 and np.linalg.norm(left) < np.linalg.norm(residual):
                point, residual = trial, left
                break
        else:
            break
    return point[:-1], float(point[-1]) * unit


def _residual(problem: Problem, point: Vector) -> Vector:
    """X'z and tol - (lambda_i - lambda_j): what should vanish, (d + 1,)."""
    values, alpha = point[:-1], float(point[-1])
    short = 0.0
    if problem.pair is not None:
        means = problem.nearest(values, alpha)
        short = problem.tol - float(means[problem.pair[0]] - means[problem.pair[1]])
    return np.append(problem.X.T @ problem.multipliers(values, alpha), short)


def _slopes(problem: Problem, point: Vector) -> Matrix:
    """Minus the derivative of the residual, (d + 1, d + 1), while the same arms touch the tube."""
    X, w, values = problem.X, problem.weights, point[:-1]
    means = problem.nearest(values, float(point[-1]))
    touching = np.abs(means - X @ values) >= problem.eps * (1.0 - 1e-12)
    d = X.shape[1]
    slopes = np.zeros((d + 1, d + 1))
    slopes[:d, :d] = X.T @ (np.where(touching, w, 0.0)[:, None] * X)
    for arm, sign in zip(problem.pair or (), (1.0, -1.0), strict=False):
        if touching[arm]:
            slopes[:d, d] -= sign * X[arm]
            slopes[d, :d] += sign * X[arm]
        else:
            slopes[d, d] += 1.0 / w[arm]
    return slopes
