"""Bets on values in [0, 1] from their definition: all values, all bets, dense means."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from helpers.measured import Floats
from mislid.stopping.bets import Values

ODDS = [2.0 ** (1.5 * k - 11.0) for k in range(11)]
TILTS = [0.005 * 2.0**k for k in range(11)]


def weighted(centre: float, tail: float, sizes: list[float]) -> list[float]:
    """Weights that fall by a factor e for every factor e^tail away from the centre."""
    raw = [math.exp(-abs(math.log(size / centre)) / tail) for size in sizes]
    return [one / math.fsum(raw) for one in raw]


def log_wealth(model: str, values: list[float], x: float) -> float:
    """ln E+(x), value by value."""
    logs = []
    if model == "bernoulli":
        for b, share in zip(TILTS, weighted(0.1, 2.0, TILTS), strict=True):
            each = [b * X - math.log(1.0 - x + x * math.exp(b)) for X in values]
            logs.append(math.log(share) + math.fsum(each))
    else:
        for odds, share in zip(ODDS, weighted(0.25, 4.0, ODDS), strict=True):
            b = odds / (1.0 + odds)
            each = [math.log(1.0 - b + b * X / x) for X in values]
            logs.append(math.log(share) + math.fsum(each))
    most = max(logs)
    return most + math.log(math.fsum(math.exp(one - most) for one in logs))


def many_logs(model: str, values: Floats, x: Floats) -> Floats:
    """The same at many x."""
    if model == "bernoulli":
        b, shares = np.array(TILTS)[:, None, None], weighted(0.1, 2.0, TILTS)
        parts = b * values[None, :, None] - np.log1p(x * np.expm1(b))
    else:
        odds, shares = np.array(ODDS)[:, None, None], weighted(0.25, 4.0, ODDS)
        b = odds / (1.0 + odds)
        parts = np.log1p(b * (values[None, :, None] / x - 1.0))
    found: Floats = np.logaddexp.reduce(parts.sum(axis=1) + np.log(shares)[:, None], axis=0)
    return found


def least_over_nulls(model: str, i: Floats, j: Floats, tolerance: float) -> float:
    """Infimum over means of both arms at which i beats j by the tolerance."""
    at = np.concatenate([np.geomspace(1e-6, 0.01, 40), np.linspace(0.0125, 0.9875, 79)])
    at = np.concatenate([at, 1.0 - np.geomspace(0.01, 1e-6, 40)])
    up, down = many_logs(model, j, at), many_logs(model, 1.0 - i, 1.0 - at)
    null = at[None, :] >= at[:, None] + tolerance
    coarse = float(np.min(np.where(null, up[:, None] + down[None, :], np.inf)))
    if tolerance >= 1.0:
        return coarse

    def tie(x: float) -> float:
        own = many_logs(model, j, np.array([x]))
        other = many_logs(model, 1.0 - i, np.array([1.0 - tolerance - x]))
        return float(own[0] + other[0])

    # Convex: a golden section finds it.
    ends = 1e-12, 1.0 - tolerance - 1e-12
    found = minimize_scalar(tie, bounds=ends, method="bounded", options={"xatol": 1e-13})
    return min(coarse, float(found.fun), tie(ends[0]), tie(ends[1]))


def summed(values: Floats) -> Values:
    """What the rule knows of values."""
    apart = float(np.sum((values - values.mean()) ** 2))
    total, least, most = float(values.sum()), float(values.min()), float(values.max())
    return Values(len(values), total, apart, least, most)


def like_atoms(arm: Values, below: bool = False) -> tuple[Floats, Floats]:
    """Two atoms with the number, the mean and the variance of the values, and their numbers."""
    mean = arm.n - arm.total if below else arm.total
    mean, least = mean / arm.n, 1.0 - arm.most if below else arm.least
    variance, apart = arm.scatter / arm.n, mean - max(least - 1e-9, 0.0)
    if apart <= 1e-100:
        return np.array([0.0]), np.array([arm.n])
    share = apart**2 / (variance + apart**2)
    places = np.array([mean - apart, mean + variance / apart])
    return places, arm.n * np.array([1.0 - share, share])
