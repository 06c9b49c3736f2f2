"""Tests of what was declared of the noise and the misspecification.

With p uniform on [0, 1], E of a supermartingale p^(n/2) exp((1 - p) Q / 2) of n values whose
squared distances from their means, over the squared noise, add up to Q is

    W = integral of p^(n/2) exp((1 - p) Q / 2) dp
      = sum over k >= 0 of x^k / (a (a + 1) ... (a + k)),

a = n/2 + 1, x = Q/2: a part of e^x x^-a Gamma(a). The evidence against the noise is half that of
all values together, and half an average over arms: q_k = 0.9 / K for the first day's,
0.1 / (n (n + 1)) for the n-th later one. Bounds from above are enough: evidence that may reach the
threshold refutes.
"""

from __future__ import annotations

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.families import Proofs
from mislid.verification.intervals import Interval, exactly
from mislid.verification.question import Kind
from mislid.verification.reading import Vector

# Of the level 0.005.
THRESHOLD = float((-iv.log(0.005)).low)
HALF_LOG_TWO_PI = (iv.log(exactly(np.pi) + Interval(np.asarray(-1e-15), np.asarray(1e-15)))
                   + iv.log(2.0)) * 0.5  # fmt: skip


def refuted(proofs: Proofs) -> str | None:
    """What the data of one time refute of what was declared."""
    question, moment = proofs.question, proofs.moment
    if question.kind == Kind.KNOWN:
        scaled = iv.of_fractions(moment.scatter) / exactly(question.noise).square
        if not against_noise(question.K, moment.counts, scaled) < THRESHOLD:
            return "noise"
    if question.features is not None and proofs.against_tube(THRESHOLD):
        return "misspecification"
    return None


def against_noise(K: int, counts: Vector, squares: Interval) -> float:
    """Evidence that values scatter more than declared, at most."""
    together = log_scatter(np.array([counts.sum()]), squares.sum()[None])
    n = np.arange(1.0, counts.size - K + 1.0)
    shares = iv.joined([exactly(np.full(K, 0.9)) / float(K), exactly(0.1) / (n * (n + 1.0))])
    apart = log_scatter(counts, squares) + iv.log(shares)
    parts = iv.joined([together, iv.log_sum(apart[None, :])])
    return float((iv.log_sum(parts) - iv.log(2.0)).high)


def log_scatter(counts: Vector, squares: Interval) -> Interval:
    """ln W, at most, of counts and scaled squares (n,)."""
    a, x = exactly(0.5 * counts) + 1.0, squares * 0.5
    series = a * (exactly(1.0) - x / (a + 1.0))  # a geometric series is larger
    near = -iv.log(series.where(series.low > 0.0, np.nan))
    far = x - a - iv.log1p((x - a) / a) * a - iv.log(a) * 0.5 + HALF_LOG_TWO_PI
    far = far + iv.log_gamma_beyond(a)
    high = np.fmin(near.high, far.high)
    return Interval(high, high)
