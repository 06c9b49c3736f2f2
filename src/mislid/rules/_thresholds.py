"""Thresholds of the stopping rules."""

from __future__ import annotations

import math

from mislid.geometry._compile import inner


@inner
def lambert(x: float) -> float:
    """Wbar(x) = -W_{-1}(-exp(-x)) for x >= 1: the y >= 1 with y - ln y = x."""
    y = x + math.log(x) if x > 1.5 else 1.0 + math.sqrt(2.0 * (x - 1.0)) + (x - 1.0)
    for _ in range(8):
        if y <= 1.0:
            return 1.0
        y -= (y - math.log(y) - x) / (1.0 - 1.0 / y)
    return y


@inner
def unstructured_beta(t: float, K: int, delta: float) -> float:
    """beta_uns = 2K Wbar(ln(2e/delta) / (2K) + ln(8 e K ln t) / 2)."""
    log_time = math.log(8.0 * math.e * K * math.log(max(t, math.e)))
    return 2.0 * K * lambert((1.0 + math.log(2.0 / delta)) / (2.0 * K) + 0.5 * log_time)


@inner
def heuristic(t: float, delta: float) -> float:
    """ln((1 + ln(t + 1)) / delta): what the published runs used; no proof."""
    return math.log((1.0 + math.log(t + 1.0)) / delta)
