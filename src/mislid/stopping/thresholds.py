"""Thresholds of the stopping rules.

Evidence is 1/2 sum_k N_k (x_k - y_k)^2 / sigma_k^2 between means x and y, with N_k measurements of
arm k and known noise sigma_k. It has no unit, and neither has a threshold.

Noise that differs between arms. Divide arm k's rewards, its feature and its deviation by sigma_k.
Measurements then have noise 1, features phi_k / sigma_k and deviations up to eps / sigma_k, and the
paper's arguments apply word for word, with three changes. V = sum_k N_k phi_k phi_k' / sigma_k^2 is
compared with L = max_k |phi_k| / sigma_k. Its trace is at most t L^2, so that after V >= 2 L^2 I
the logarithm ln(1 + t ln(1/delta) / (2d)) stays as it is, with t the number of samples. And the
deviations' share, |eta|_N^2 <= t eps^2 with noise 1, becomes sum_k N_k (eps / sigma_k)^2 =
eps^2 `information`, information = sum_k N_k / sigma_k^2.

Confidence comes in as log_inverse = ln(1/delta); `information` is sum_k N_k / sigma_k^2.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._jit import inner


@inner
def wbar(x: float) -> float:
    """-W_{-1}(-exp(-x)): the solution w >= 1 of w - ln w = x, for x >= 1 (1 below)."""
    u = max(x - 1.0, 0.0)
    # An upper bound; w - ln w is convex, so Newton's method comes down to the root from it.
    w = 1.0 + math.sqrt(2.0 * u) + u
    for _ in range(60):
        if w <= 1.0:
            break
        step = (w - math.log(w) - 1.0 - u) / (1.0 - 1.0 / w)
        w -= step
        if step <= 1e-15 * w:
            break
    return max(w, 1.0)


@inner
def heuristic(t: float, log_inverse: float) -> float:
    """ln((1 + ln(t + 1)) / delta)."""
    return log_inverse + math.log(1.0 + math.log(t + 1.0))


@inner
def logarithmic(t: float, log_inverse: float, factor: float) -> float:
    """ln(1 / delta) + factor ln(t + 1)."""
    return log_inverse + factor * math.log(t + 1.0)


@inner
def of_ratios(t: float, log_inverse: float, iterated: bool) -> float:
    """ln((t + 1) / delta), or with an iterated logarithm that of `heuristic`."""
    return heuristic(t, log_inverse) if iterated else logarithmic(t, log_inverse, 1.0)


@inner
def unstructured(t: float, K: int, log_inverse: float) -> float:
    """The paper's beta_uns; infinite for t <= 1, where it is not defined."""
    if t <= 1.0:
        return np.inf
    x = (math.log(2.0) + 1.0 + log_inverse) / (2.0 * K)
    return 2.0 * K * wbar(x + 0.5 * math.log(8.0 * math.e * K * math.log(t)))


@inner
def linear_part(t: float, d: int, log_inverse: float) -> float:
    """The paper's bound b0 on the error of the linear part."""
    spread = 0.5 * d * math.log(1.0 + t * log_inverse / (2.0 * d))
    return 1.0 + log_inverse + (1.0 + 1.0 / log_inverse) * spread


@inner
def linear(t: float, d: int, eps: float, information: float, log_inverse: float) -> float:
    """beta_lin with the confidence and the sum of squares that its proof supports."""
    deviation = 2.0 * information * eps * eps if eps > 0.0 else 0.0
    return linear_part(t, d, log_inverse + math.log(2.0)) + deviation


@inner
def printed_linear(t: float, d: int, eps: float, information: float, log_inverse: float) -> float:
    """beta_lin as the paper prints it."""
    deviation = 4.0 * eps * math.sqrt(information) if eps > 0.0 else 0.0
    return 0.5 * (deviation + math.sqrt(2.0 * linear_part(t, d, log_inverse))) ** 2
