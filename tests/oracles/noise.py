"""Processes of unknown noise from their definitions: values, integrals, and searches over nulls."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import t as student

from helpers.measured import Floats
from mislid.stopping.bounded_noise import Tilted, Tilts
from mislid.stopping.unknown_noise import TWO_SIDED, Sample, Shifts


def scatter_about_guesses(values: Floats) -> float:
    """V of values in [0, 1], one by one."""
    total, scatter = 0.0, 0.0
    for n, value in enumerate(values.tolist()):
        scatter += (value - (0.5 + total) / (n + 1)) ** 2
        total += value
    return scatter


def tilted_by_values(tilts: Tilts, sign: float, values: Floats, x: float) -> float:
    """ln of the average over tilts of products, value by value."""
    logs = np.zeros(len(tilts.sizes))
    total = 0.0
    for n, value in enumerate(values.tolist()):
        guess = (0.5 + total) / (n + 1)
        total += value
        for k, b in enumerate(tilts.sizes.tolist()):
            if k < tilts.exact:
                logs[k] += sign * b * value - math.log(1 - x + x * math.exp(sign * b))
            else:
                psi = -math.log(1 - b) - b
                logs[k] += sign * b * (value - x) - psi * (value - guess) ** 2
    return float(np.logaddexp.reduce(logs + tilts.logs))


def tilted_log(tilts: Tilts, sign: float, arm: Tilted, x: Floats) -> Floats:
    """The same from sums, at many x."""
    logs = []
    for k, b in enumerate((sign * tilts.sizes).tolist()):
        if k < tilts.exact:
            logs.append(b * arm.total - arm.n * np.log(1 - x + x * math.exp(b)))
        else:
            psi = -math.log(1 - abs(b)) - abs(b)
            logs.append(b * (arm.total - arm.n * x) - psi * arm.scatter)
    found: Floats = np.logaddexp.reduce(np.array(logs) + tilts.logs[:, None], axis=0)
    return found


def least_over_nulls(tilts: Tilts, i: Tilted, j: Tilted, tolerance: float) -> float:
    """Infimum over means of both arms at which i beats j by the tolerance, by a grid of means."""
    at = np.linspace(0, 1, 301)
    up, down = tilted_log(tilts, 1.0, j, at), tilted_log(tilts, -1.0, i, at)
    null = at[None, :] >= at[:, None] + tolerance
    coarse = float(np.min(np.where(null, up[:, None] + down[None, :], np.inf)))

    def tie(x: float) -> float:
        both = (
            tilted_log(tilts, 1.0, j, np.array([x])),
            tilted_log(tilts, -1.0, i, np.array([x + tolerance])),
        )
        return float(both[0][0] + both[1][0])

    found = minimize_scalar(
        tie, bounds=(0.0, 1.0 - tolerance), method="bounded", options={"xatol": 1e-12}
    )
    return min(coarse, float(found.fun), tie(0.0), tie(1.0 - tolerance))


def shifted_by_values(given: Shifts, values: Floats, x: float, sigma: float, sign: float) -> float:
    """ln of the average over precisions and displacements, by sums over fine grids."""
    totals = []
    for rho, alpha in zip(given.rhos.tolist(), given.alphas.tolist(), strict=True):
        # g = exp(u) and h = rho z, where the priors have their mass.
        width = 9.0 / math.sqrt(min(alpha, 1.0 + alpha))
        u = np.linspace(-width - 1.0 / alpha, min(width, 6.0), 2001)
        z = np.linspace(-9.0, 9.0, 601)
        g = np.exp(u)
        prior_u = alpha * math.log(alpha) - gammaln(alpha) + alpha * u - alpha * g
        side = np.where(sign * z > 0, 2.0, np.where(z == 0, 1.0, 0.0))
        prior_z = np.log(TWO_SIDED + (1 - TWO_SIDED) * side) - z**2 / 2 - 0.5 * math.log(2 * np.pi)
        precision = g[:, None] / sigma**2
        shift = x + rho * z[None, :] / np.sqrt(precision)
        n, y = len(values), float(values.mean())
        SS = float(np.sum((values - y) ** 2))
        ratio = 0.5 * n * u[:, None] - 0.5 * precision * (SS + n * (y - shift) ** 2)
        ratio += 0.5 * (SS + n * (y - x) ** 2) / sigma**2
        logs = ratio + prior_u[:, None] + prior_z[None, :]
        totals.append(
            np.logaddexp.reduce(logs, axis=None) + math.log((u[1] - u[0]) * (z[1] - z[0]))
        )
    return float(np.logaddexp.reduce(np.array(totals) + given.logs))


def shifted_logs(given: Shifts, arm: Sample, r: float, sigma: Floats) -> Floats:
    """ln of the terms of E at a null that is r away, at many standard deviations (S, n)."""
    n, logs = arm.n, []
    for rho, alpha in zip(given.rhos.tolist(), given.alphas.tolist(), strict=True):
        a, q, theta = alpha + n / 2, 1 + n * rho**2, 1 / sigma**2
        S, less = arm.scatter + n * r**2, arm.scatter + n * r**2 / q
        rate = alpha + theta * less / 2
        log = gammaln(a) - gammaln(alpha) + alpha * math.log(alpha) - 0.5 * math.log(q)
        log = log - a * np.log(rate) + theta * S / 2
        t = r * math.sqrt(n * (1 - 1 / q)) * np.sqrt(a * theta / rate)
        logs.append(log + np.log(TWO_SIDED + (1 - TWO_SIDED) * 2 * student.cdf(t, 2 * a)))
    return np.array(logs) + given.logs[:, None]


def shifted_log(given: Shifts, arm: Sample, r: float, sigma: Floats) -> Floats:
    """ln E at a null that is r away, for many standard deviations, in closed form."""
    found: Floats = np.logaddexp.reduce(shifted_logs(given, arm, r, sigma), axis=0)
    return found


def sigmas(arm: Sample, r: float, size: int = 4001) -> Floats:
    """Standard deviations far below and far above what the values have."""
    middle = math.sqrt((arm.scatter + arm.n * r**2) / arm.n + 1e-60)
    return middle * np.geomspace(1e-3, 1e4, size)


def least_over_sigma(given: Shifts, arm: Sample, r: float, size: int = 4001) -> float:
    """Infimum of ln E over standard deviations, by a grid."""
    return float(np.min(shifted_log(given, arm, r, sigmas(arm, r, size))))


def least_of_terms(given: Shifts, arm: Sample, r: float, size: int = 4001) -> float:
    """The same with a standard deviation of its own for every term, which is less."""
    terms = np.min(shifted_logs(given, arm, r, sigmas(arm, r, size)), axis=1)
    return float(np.logaddexp.reduce(terms))


def least_over_pairs(given: Shifts, i: Sample, j: Sample, tolerance: float) -> float:
    """Infimum over means of both arms and their standard deviations, by grids."""
    gap = j.mean - i.mean + tolerance
    at = np.linspace(i.mean - tolerance - 0.5 * gap, j.mean + 0.5 * gap, 121)
    up = np.array([least_over_sigma(given, j, j.mean - x, 401) for x in at])
    down = np.array([least_over_sigma(given, i, x + tolerance - i.mean, 401) for x in at])
    null = at[None, :] >= at[:, None]
    return float(np.min(np.where(null, up[:, None] + down[None, :], np.inf)))
