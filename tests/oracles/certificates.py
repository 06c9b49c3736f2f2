"""What the data of a certificate prove, by definition: floats, brute force, general solvers.

Written from the specification of the file. Bounds on infima over scales are sums of infima, each
found by a general solver; integrals and infima without a closed form are evaluated on grids.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.linalg import null_space
from scipy.optimize import lsq_linear, minimize_scalar
from scipy.special import gammaln
from scipy.stats import t as student

Floats = NDArray[np.float64]
SCALES = {
    "two arms": [2.0**k for k in range(-9, 3)],
    "linear": [0.004 * 2.5**k for k in range(8)],
    "diagonal": [0.015 * 3.0**k for k in range(6)],
}
CENTRES = {"two arms": 0.035, "linear": 0.15, "diagonal": 0.15}
RHOS = [0.005 * 3.0**k for k in range(7)]
ODDS = [2.0 ** (1.5 * k - 11.0) for k in range(11)]
TILTS = [0.005 * 2.0**k for k in range(11)]
# By how much the checker's bounds may be below brute force, in nats.
LOSSES = {"known": 1e-6, "range": 1e-6, "bernoulli": 1e-6, "unknown-equal": 1.0, "unknown": 4.0}


def fading(sizes: list[float], centre: float, tail: float) -> Floats:
    """Logarithms of weights that add up to 1."""
    logs = np.array([-abs(math.log(size / centre)) / tail for size in sizes])
    return logs - np.logaddexp.reduce(logs)


class Study:
    """The question of a certificate, with what it says of all candidates that ever took part."""

    def __init__(self, plain: dict[str, Any]) -> None:
        asked = plain["question"]
        self.labels = list(asked["labels"])
        self.K, self.m, self.delta = len(self.labels), asked["m"], asked["delta"]
        self.sign = -1.0 if asked["direction"] == "minimize" else 1.0
        self.tol, self.kind = asked["tolerance"], asked["noise"]["kind"]
        self.eps = asked["misspecification"]
        features = None if asked["features"] is None else list(asked["features"])
        self.low, self.high, sd = 0.0, 1.0, [1.0] * self.K
        if self.kind == "known":
            sd = asked["noise"]["sd"] * (self.K if len(asked["noise"]["sd"]) == 1 else 1)
        if self.kind == "range":
            self.low, self.high = asked["noise"]["low"], asked["noise"]["high"]
        if self.kind in ("range", "bernoulli"):
            sd = [(self.high - self.low) / 2.0] * self.K
        if self.sign < 0.0:
            self.low, self.high = -self.high, -self.low
        sd, self.gone = list(sd), set[Any]()
        for change in plain["changes"]:
            if change["kind"] == "add":
                self.labels += change["labels"]
                sd += change["sd"] or sd[:1] * len(change["labels"])
                if features is not None:
                    features += change["features"]
            if change["kind"] == "leave":
                self.gone.add(self.labels.index(change["label"]))
        self.R, self.sd = len(self.labels), np.array(sd)
        self.X = None if features is None else np.array(features)
        self.structured = self.X is not None and self.kind != "unknown"
        self.linear = self.structured and self.eps is not None
        self.unit = math.exp(float(np.mean(np.log(self.sd[: self.K]))))

    def share(self, family: str, i: int, j: int) -> float:
        """The weight of a family's process in M."""
        shares = {"two arms": 0.78 if self.structured else 1.0, "linear": 0.19, "diagonal": 0.03}
        K, n = self.K, max(i, j) - self.K + 1
        if family != "two arms":
            return 0.8 * shares[family]
        if n > 0:
            return 0.05 * 0.9 / (2 * n * (n + 1) * (K + n - 1))
        share = 0.1 / (K * (K - 1) / 2)
        if self.R == K and not self.gone:
            share += 0.8 * shares[family] / (self.m * (K - self.m))
        return share

    def present(self) -> list[int]:
        return [k for k in range(self.R) if k not in self.gone]


class Data:
    """All values up to a time."""

    def __init__(self, study: Study, data: dict[str, Any], after: int) -> None:
        self.study, R = study, study.R
        arm = np.array(data["arm"][:after], dtype=int)
        value = study.sign * np.array(data["value"][:after], dtype=float)
        count = np.ones(after) if data["count"] is None else np.array(data["count"][:after], float)
        told = (
            np.zeros(after) if data["squares"] is None else np.array(data["squares"][:after], float)
        )
        self.counts, self.means, self.scatter = np.zeros(R), np.zeros(R), np.zeros(R)
        self.least, self.most = np.full(R, np.inf), np.full(R, -np.inf)
        for k in range(R):
            of = arm == k
            if not of.any():
                continue
            n = self.counts[k] = math.fsum(count[of])
            # From the first value on, so that no digits are lost.
            origin = value[of][0]
            rest = value[of] - origin
            mean = math.fsum(count[of] * rest) / n
            self.means[k] = origin + mean
            self.scatter[k] = math.fsum(count[of] * (rest - mean) ** 2 + told[of])
            reach = np.sqrt(told[of] * (1.0 - 1.0 / count[of]))
            self.least[k] = np.min(value[of] - reach)
            self.most[k] = np.max(value[of] + reach)
        self.weights = self.counts / study.sd**2

    # Displacements against the closest means of the null, scale by scale.

    def evidence(self, family: str, i: int, j: int) -> float:
        """ln of what a family proves, without its share."""
        study = self.study
        if family == "two arms" and not (self.counts[i] and self.counts[j]):
            return -math.inf
        if family == "two arms" and study.kind in ("range", "bernoulli"):
            return self.by_bets(i, j)
        if family == "two arms" and study.kind == "unknown":
            return self.by_student(i, j)
        costs, prices = zip(*(self.cost(family, s, i, j) for s in self.scales(family)), strict=True)
        return self.summed(family, np.array(costs), np.array(prices))

    def scales(self, family: str) -> list[float]:
        return [self.study.unit * scale for scale in SCALES[family]]

    def summed(self, family: str, costs: Floats, prices: Floats) -> float:
        """The sum over scales; the least over a grid of noises where one is not known.

        Costs of two arms are rows (a, b, c): a (b g + c)^2 with g the root of the precision.
        """
        study, logs = self.study, fading(SCALES[family], CENTRES[family], 2.0)
        if costs.ndim == 1:
            costs = np.column_stack([costs, np.ones(len(costs)), np.zeros(len(costs))])
        if study.kind != "unknown-equal":
            at = costs[:, 0] * np.maximum(costs[:, 1] + costs[:, 2], 0.0) ** 2
            return float(np.logaddexp.reduce(logs + at - prices))
        N, SS = float(self.counts.sum()), float(self.scatter.sum())
        if N * (1e-14 * float(np.max(np.abs(self.means)))) ** 2 >= SS:
            at = costs[:, 0] * np.maximum(costs[:, 2], 0.0) ** 2
            return float(np.logaddexp.reduce(logs + at - prices)) + math.log(0.2)
        D = study.X.shape[1] if family == "linear" else study.K
        root = np.sqrt(np.geomspace(1e-3, 1e2, 800) * N / SS)[:, None]
        total = logs + costs[:, 0] * np.maximum(costs[:, 1] * root + costs[:, 2], 0.0) ** 2 - prices
        parts = []
        for tilt, share in zip((0.0, 1.0, 4.0, 16.0), (0.2, 0.3, 0.3, 0.2), strict=True):
            h = tilt * np.array(SCALES[family]) ** 2 / D
            volume = sum(
                np.sum(
                    np.log1p(h[None, :] * (1.0 - 1.0 / np.arange(1.0, n + 1.0))[:, None]), axis=0
                )
                for n in self.counts
                if n
            )
            parts.append(math.log(share) + 0.5 * volume - 0.5 * h * SS * root**2)
        total = total + np.logaddexp.reduce(parts, axis=0)
        return float(np.min(np.logaddexp.reduce(total, axis=1)))

    def cost(self, family: str, s: float, i: int, j: int) -> tuple[Any, float]:
        """1/2 of the least square over the null at a scale, and the price of the scale."""
        study, w = self.study, self.weights
        if family == "two arms":
            gap, t2 = self.means[j] - self.means[i] + study.tol, (0.45 * s) ** 2
            v, u = 1 / w[i] + 1 / w[j], 1 / w[i] ** 2 + 1 / w[j] ** 2
            if study.kind == "unknown-equal" and gap <= 0.0:
                return (0.0, 0.0, 0.0), math.inf
            price = s**2 / t2 + 0.5 * math.log((1 + w[i] * t2) * (1 + w[j] * t2))
            return (1.0 / (2 * (v + u / t2)), gap, s / t2 * v), price
        if family == "linear":
            X, K, d = study.X, study.K, study.X.shape[1]
            V, G = (X.T * w) @ X, d / K * X[:K].T @ X[:K]
            H = V + G / s**2
            root = np.linalg.solve(np.linalg.cholesky(H), X.T * w)
            price = 0.5 * (np.linalg.slogdet(H)[1] - np.linalg.slogdet(G / s**2)[1])
        else:
            root = np.diag(w * s / np.sqrt(1 + w * s**2))
            price = 0.5 * float(np.sum(np.log1p(w * s**2)))
        return self.distance(root, i, j), price

    def distance(self, root: Floats, i: int | None, j: int = 0) -> float:
        """1/2 |root (means - lambda)|^2 at the closest lambda of the tube where i beats j.

        b is split into a part along the pair's features and the rest, so that the lead of i is a
        variable with a bound; the deviations are others.
        """
        X, eps, R = self.study.X, self.study.eps, self.study.R
        d, centre = X.shape[1], self.means - X @ np.linalg.lstsq(X, self.means, rcond=None)[0]
        shift = X @ np.linalg.lstsq(X, self.means, rcond=None)[0]
        if i is None:
            maps, low = np.hstack([X, np.eye(R)]), [-np.inf] * d + [-eps] * R
            high = [np.inf] * d + [eps] * R
        else:
            g = X[i] - X[j]
            lead = X @ g / (g @ g)
            eye = np.eye(R)
            apart = np.outer(lead, eye[i] - eye[j])
            maps = np.hstack([lead[:, None], X @ null_space(g[None]), eye - apart])
            low = [self.study.tol - (shift[i] - shift[j])] + [-np.inf] * (d - 1) + [-eps] * R
            high = [np.inf] * d + [eps] * R
        if eps == 0.0:
            maps, low, high = maps[:, :d], low[:d], high[:d]
        size = np.maximum(np.linalg.norm(root @ maps, axis=0), 1e-300)
        found = lsq_linear(
            root @ maps / size,
            root @ centre,
            (np.array(low) * size, np.array(high) * size),
            method="bvls",
            tol=1e-15,
            max_iter=1000,
        )
        return float(found.cost)

    # Values within a range.

    def by_bets(self, i: int, j: int) -> float:
        width = self.study.high - self.study.low
        up = self.atoms(j, self.study.low, 1.0)
        down = self.atoms(i, self.study.high, -1.0)
        room = 1.0 - self.study.tol / width
        tilted = self.study.kind == "bernoulli"

        def at(x: Any) -> Any:
            x = np.atleast_1d(x)
            return wealth(up, x, tilted) + wealth(down, room - x, tilted)

        grid = np.linspace(0.0, room, 401)[1:-1]
        best = int(np.argmin(at(grid)))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        ends = (1e-12 if best == 0 else ends[0], room - 1e-12 if best == len(grid) - 1 else ends[1])
        found = minimize_scalar(
            lambda x: float(at(x)[0]), bounds=ends, method="bounded", options={"xatol": 1e-13}
        )
        return min(float(found.fun), *at(np.array(ends)).tolist())

    def atoms(self, k: int, end: float, sign: float) -> tuple[Floats, Floats]:
        """Two atoms with the number, mean and variance of the values, scaled to [0, 1]."""
        width, n = self.study.high - self.study.low, self.counts[k]
        mean = sign * (self.means[k] - end) / width
        bound = sign * ((self.least if sign > 0 else self.most)[k] - end) / width
        v, c = self.scatter[k] / n / width**2, max(bound - 1e-9, 0.0)
        if self.study.kind == "bernoulli" or mean <= 0.0:
            mean = max(mean, 0.0)
            return np.array([0.0, 1.0]), n * np.array([1.0 - mean, mean])
        share = (mean - c) ** 2 / (v + (mean - c) ** 2)
        return np.array([c, mean + v / (mean - c)]), n * np.array([1.0 - share, share])

    # Gaussian values of unknown variance.

    def by_student(self, i: int, j: int) -> float:
        gap = self.means[j] - self.means[i] + self.study.tol
        if gap <= 0.0:
            return -math.inf
        at = np.linspace(-0.5, 1.5, 61) * gap
        up = np.array([self.over_noises(j, gap - x) for x in at])
        down = np.array([self.over_noises(i, x) for x in at])
        null = at[None, :] >= at[:, None]
        return float(np.min(np.where(null, up[:, None] + down[None, :], np.inf)))

    def over_noises(self, k: int, r: float) -> float:
        """ln E at a null r away, the least over a grid of standard deviations."""
        n, SS, logs = self.counts[k], self.scatter[k], []
        theta = np.geomspace(1e-3, 1e3, 201) * n / (SS + n * r * r + 1e-200)
        for rho, share in zip(RHOS, fading(RHOS, 0.1, 1.5), strict=True):
            alpha = max(6.0 / rho**2, 0.5)
            a, q = alpha + n / 2, 1 + n * rho**2
            S, less = SS + n * r * r, SS + n * r * r / q
            tau = theta * less / 2
            log = gammaln(a) - gammaln(alpha) - n / 2 * math.log(alpha) - 0.5 * math.log(q)
            log = log - a * np.log1p(tau / alpha) + theta * S / 2
            t = math.copysign(1.0, r) * np.sqrt(a * theta * (S - less) / (alpha + tau))
            logs.append(share + log + np.log(0.1 + 0.9 * 2 * student.cdf(t, 2 * a)))
        return float(np.min(np.logaddexp.reduce(logs, axis=0)))

    # Tests of what was declared.

    def against_noise(self) -> float:
        K, R = self.study.K, self.study.R
        squares = self.scatter / self.study.sd**2
        shares = [0.9 / K] * K + [0.1 / (n * (n + 1)) for n in range(1, R - K + 1)]
        each = [log_scatter(n, q) for n, q in zip(self.counts, squares, strict=True)]
        together = log_scatter(float(self.counts.sum()), float(squares.sum()))
        apart = np.logaddexp.reduce(np.log(shares) + each)
        return float(np.logaddexp(together, apart)) - math.log(2.0)

    def against_tube(self) -> float:
        w, costs, prices = self.weights, [], []
        for s in self.scales("diagonal"):
            costs.append(self.distance(np.diag(w * s / np.sqrt(1 + w * s**2)), None))
            prices.append(0.5 * float(np.sum(np.log1p(w * s**2))))
        return self.summed("diagonal", np.array(costs), np.array(prices))

    def refuted(self) -> str | None:
        if self.study.kind == "known" and self.against_noise() >= -math.log(0.005):
            return "noise"
        if self.study.linear and self.against_tube() >= -math.log(0.005):
            return "misspecification"
        return None


def wealth(atoms: tuple[Floats, Floats], x: Floats, tilted: bool) -> Floats:
    """ln E+ at x (n,) of values with multiplicities."""
    places, numbers = atoms
    logs = []
    if tilted:
        for b, share in zip(TILTS, fading(TILTS, 0.1, 2.0), strict=True):
            logs.append(share + b * (numbers @ places) - numbers.sum() * np.log1p(x * np.expm1(b)))
    else:
        for odds, share in zip(ODDS, fading(ODDS, 0.25, 4.0), strict=True):
            b = odds / (1 + odds)
            logs.append(share + numbers @ np.log(1 - b + b * places[:, None] / x))
    return np.logaddexp.reduce(logs)


def log_scatter(n: float, square: float) -> float:
    """ln of the integral of p^(n/2) exp((1 - p) q / 2), numerically."""

    def log(p: float) -> float:
        return 0.5 * n * math.log(p) + 0.5 * (1.0 - p) * square

    peak = min(max(n / square if square > 0 else 1.0, 1e-12), 1.0)
    width = math.sqrt(max(n, 1.0)) / max(square, 1.0)
    cuts = sorted({min(max(peak + c * width, 1e-300), 1.0) for c in (-30, -8, -2, 0, 2, 8, 30)})
    edges = [1e-300, *cuts, 1.0]
    top = log(peak)
    parts = (
        quad(lambda p: math.exp(log(p) - top), a, b, limit=200)[0]
        for a, b in pairwise(edges)
        if b > a
    )
    return top + math.log(sum(parts))


def log_evidence(plain: dict[str, Any], family: str, i: int, j: int, after: int) -> float:
    """What a pair's family has in M at a time, with its share."""
    study = Study(plain)
    return math.log(study.share(family, i, j)) + Data(study, plain["data"], after).evidence(
        family, i, j
    )


def denied(plain: dict[str, Any], slack: float = 1e-5) -> str | None:
    """Why the data do not prove what a certificate claims; None if they do."""
    study, claim = Study(plain), plain["claim"]
    N = len(plain["data"]["arm"])
    answer = [study.labels.index(label) for label in claim["answer"]]
    if len(set(answer)) != study.m or set(answer) & study.gone:
        return "the answer"
    wanted = {(i, j) for i in study.present() if i not in answer for j in answer}
    if {(i, j) for i, j, *_ in claim["pairs"]} != wanted or len(claim["pairs"]) != len(wanted):
        return "the pairs"
    for i, j, family, after in claim["pairs"]:
        if family != "two arms" and not study.linear:
            return f"{family} without features"
        found = Data(study, plain["data"], after).evidence(family, i, j)
        if not found + math.log(study.share(family, i, j)) >= -math.log(study.delta) - slack:
            return f"{family} of {i} and {j} after {after}: {found}"
    refuted = Data(study, plain["data"], N).refuted()
    return None if refuted is None else f"the data refute the {refuted}"
