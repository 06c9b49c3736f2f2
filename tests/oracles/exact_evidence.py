"""Evidence in rational numbers and decimals of 50 digits: what a checker may claim at most.

Written from `docs/certificate-proof.md` alone. Doubles are the rational numbers that they are;
means are sums over counts, features exact.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from oracles.rational import Rows, solution

DIGITS = 50
SHARES = {"two arms": "0.78", "linear": "0.19", "diagonal": "0.03"}
SCALES = {
    "two arms": [Fraction(2) ** power for power in range(-9, 3)],
    "linear": [Fraction(4, 1000) * Fraction(5, 2) ** power for power in range(8)],
    "diagonal": [Fraction(15, 1000) * 3**power for power in range(6)],
}
CENTRES = {"two arms": "0.035", "linear": "0.15", "diagonal": "0.15"}
Pair = tuple[int, int]


def decimal(value: Fraction | int | str | float) -> Decimal:
    """A number to so many digits."""
    if isinstance(value, Fraction):
        return Decimal(value.numerator) / Decimal(value.denominator)
    return Decimal(value)


def log_sum(logs: list[Decimal]) -> Decimal:
    at = max(logs)
    return at + sum(((one - at).exp() for one in logs), Decimal(0)).ln()


@lru_cache(maxsize=64)
def log_weights(family: str, m: int, K: int, structured: bool) -> tuple[Decimal, ...]:
    """Of the scales, in M; of two arms, for one pair."""
    with localcontext(prec=DIGITS):
        sizes = [decimal(scale) for scale in SCALES[family]]
        weights = [(-abs((s / decimal(CENTRES[family])).ln()) / 2).exp() for s in sizes]
        share = decimal(SHARES[family]) if structured else Decimal(1)
        if family == "two arms":
            share /= m * (K - m)
        return tuple((share * one / sum(weights)).ln() for one in weights)


class Exact:
    """Data of one noise for all arms, in a model, and the evidence of pairs."""

    def __init__(
        self,
        features: list[list[float]] | None,
        spanner: list[int],
        counts: list[int],
        sums: list[float],
        noise: float,
        eps: float,
        m: int = 1,
    ) -> None:
        self.K, self.m, self.noise = len(counts), m, Fraction(noise)
        self.w = [Fraction(n) / self.noise**2 for n in counts]
        self.y = [
            Fraction(total) / n if n else Fraction(0) for total, n in zip(sums, counts, strict=True)
        ]
        self.structured, self.eps = eps < float("inf"), eps
        if features is not None:
            self.A: Rows = [[Fraction(x) for x in row] for row in features]
            corner = [list(column) for column in zip(*(self.A[k] for k in spanner), strict=True)]
            rows = [list(column) for column in zip(*self.A, strict=True)]
            self.X = [list(row) for row in zip(*solution(corner, rows), strict=True)]

    def logs(self, family: str) -> tuple[Decimal, ...]:
        return log_weights(family, self.m, self.K, self.structured)

    def by_two_arms(self, pair: Pair, tol: float) -> Decimal:
        """The closed form, to 50 digits; unmeasured arms prove nothing."""
        (i, j), w = pair, self.w
        if not (w[i] and w[j]):
            return Decimal("-Infinity")
        gap, v = self.y[j] - self.y[i] + Fraction(tol), 1 / w[i] + 1 / w[j]
        u, found = 1 / w[i] ** 2 + 1 / w[j] ** 2, []
        with localcontext(prec=DIGITS):
            for size, log in zip(SCALES["two arms"], self.logs("two arms"), strict=True):
                s = size * self.noise
                t2 = (Fraction(45, 100) * s) ** 2
                beyond = max(gap + s / t2 * v, Fraction(0))
                value = decimal(beyond**2 / (2 * (v + u / t2)) - s**2 / t2)
                found.append(log + value - decimal((1 + w[i] * t2) * (1 + w[j] * t2)).ln() / 2)
            return log_sum(found)

    def by_features(self, pair: Pair, tol: float) -> Decimal:
        """The closed form with V^-1 as it is."""
        (i, j), X, w, d = pair, self.X, self.w, len(self.X[0])
        V = [
            [sum(w[k] * X[k][a] * X[k][b] for k in range(self.K)) for b in range(d)]
            for a in range(d)
        ]
        g = [X[j][a] - X[i][a] for a in range(d)]
        right = [
            [g[a], sum((w[k] * X[k][a] * self.y[k] for k in range(self.K)), Fraction(0))]
            for a in range(d)
        ]
        found = solution(V, right)
        a, theta = [row[0] for row in found], [row[1] for row in found]
        z = [w[k] * _dot(X[k], a) for k in range(self.K)]
        z[i] += 1
        z[j] -= 1
        B = _dot(g, theta) + Fraction(tol) - Fraction(self.eps) * sum(abs(one) for one in z)
        B, logs = max(B, Fraction(0)), []
        with localcontext(prec=DIGITS):
            for size, log in zip(SCALES["linear"], self.logs("linear"), strict=True):
                square = (size * self.noise) ** 2
                spread = _dot(g, a) + _dot(a, a) / square
                if spread == 0:  # equal features
                    return Decimal("Infinity") if tol > 2 * self.eps else log_sum(logs or [log])
                eye = [[Fraction(p == q) + square * V[p][q] for q in range(d)] for p in range(d)]
                logs.append(
                    log + decimal(B**2 / (2 * spread)) - decimal(_determinant(eye)).ln() / 2
                )
            return log_sum(logs)

    def at_null(self, scale: int, means: list[Fraction]) -> Decimal:
        """ln M of displacements of all arms, at one scale, against these means."""
        s2, total, volume = (SCALES["diagonal"][scale] * self.noise) ** 2, Fraction(0), Fraction(1)
        for w, y, mean in zip(self.w, self.y, means, strict=True):
            total += w**2 * s2 / (1 + w * s2) * (y - mean) ** 2
            volume *= 1 + w * s2
        with localcontext(prec=DIGITS):
            return self.logs("diagonal")[scale] + decimal(total) / 2 - decimal(volume).ln() / 2

    def null_near(self, theta: list[float], alpha: float, pair: Pair, tol: float, scale: int):
        """Means (K,) of the tube that reverse the pair, exactly, near the closest ones.

        Those around A theta, pushed by alpha; where they fall short of the tolerance, theta moves.
        """
        (i, j), eps = pair, Fraction(self.eps)
        s2 = (SCALES["diagonal"][scale] * self.noise) ** 2
        q = [w**2 * s2 / (1 + w * s2) for w in self.w]
        b = [Fraction(one) for one in theta]
        push = {i: Fraction(alpha), j: -Fraction(alpha)}
        eta = []
        for k in range(self.K):
            linear = _dot(self.A[k], b)
            if q[k]:
                wanted = self.y[k] + push.get(k, Fraction(0)) / q[k] - linear
            else:
                wanted = eps if push.get(k, 0) > 0 else -eps if push.get(k, 0) < 0 else Fraction(0)
            eta.append(min(max(wanted, -eps), eps))
        means = [_dot(self.A[k], b) + eta[k] for k in range(self.K)]
        short = means[j] + Fraction(tol) - means[i]
        if short > 0:
            g = [p - r for p, r in zip(self.A[i], self.A[j], strict=True)]
            size = _dot(g, g)
            if not size:
                return None
            means = [x + short / size * _dot(row, g) for x, row in zip(means, self.A, strict=True)]
        assert means[i] >= means[j] + Fraction(tol)
        return means


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _determinant(matrix: Rows) -> Fraction:
    table, found = [row.copy() for row in matrix], Fraction(1)
    for c in range(len(table)):
        found *= table[c][c]  # positive definite: no pivot is 0
        for r in range(c + 1, len(table)):
            factor = table[r][c] / table[c][c]
            table[r] = [x - factor * y for x, y in zip(table[r], table[c], strict=True)]
    return found
