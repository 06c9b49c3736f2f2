"""Where the published runs differ from the paper's text; an algorithm with `authors` uses all."""

from __future__ import annotations

import math

from mislid._jit import inner
from mislid.stopping.state import Setting, State
from mislid.stopping.thresholds import unstructured

# Measurements that arms are pretended to have had, and an addition to the tube (at noise 1).
PHANTOM, WIDENING = 1e-10, 1e-5


def patience(first: int, d: int, gamma: float) -> int:
    """How many samples to take before the first test, of which `first` are the design."""
    return max(5 * d, 10) if gamma > 1.0 else first


@inner
def bonus(setting: Setting, state: State, k: int, leverage: float) -> float:
    """The bonus of optimistic gains: min{2 U / N_k, 4 M^2, 8 eps^2 + 2 ln(t) |phi_k|^2}."""
    K = setting.X.shape[0]
    t = float(state.samples)
    found = 8.0 * setting.eps * setting.eps + 2.0 * math.log(t) * leverage
    if state.weights[k] > 0.0:
        found = min(found, 2.0 * unstructured(t, K, math.log(2.5 * t**3)) / state.weights[k])
    return min(found, 4.0 * setting.mean_bound * setting.mean_bound)


@inner
def aggressive_factor(published: bool) -> float:
    """They forget to halve aggressive gains, which matters where gains are clipped."""
    return 1.0 if published else 0.5


@inner
def largest_gain(clipped: bool, state: State) -> float:
    """They clip gains at ln t, as LinGame does."""
    return math.log(float(state.samples)) if clipped else math.inf


@inner
def lucb_width(beta: float, variance: float, count: float) -> float:
    """LUCB's intervals were sigma beta^2 / (2 sqrt(N)), several times wider."""
    return beta * beta / 2.0 * math.sqrt(variance / count)
