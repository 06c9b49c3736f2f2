"""RAGE (Fiez, Jain, Jamieson and Ratliff, 2019): phases that halve what is resolved.

Phase l has the XY-design of the open arms and
    max(2 4^l (1 + 1/10) rho ln(2 K^2 l^2 / delta), 20 |support|)
measurements, in units of the noise, after which every difference is known to 2^-l with probability
1 - delta / l^2: what is further apart is separated.
"""

from __future__ import annotations

import math

from mislid._jit import kernel
from mislid._kernels.designs import support_of
from mislid._kernels.phases import FINEST, Phases, avoid_bias, design_linear, noise_unit
from mislid.stopping.state import Setting, State

# What whole numbers may cost: so much more variance, if every arm of the design has enough.
ROUNDING, ENOUGH = 1.1, 20.0


@kernel
def prepare_rage(setting: Setting, phase: Phases, state: State) -> float:
    """Choose shares and level of the phase of this number; how many measurements it has."""
    K, unit = setting.X.shape[0], noise_unit(setting)
    number = float(min(phase.number, FINEST))
    level = math.log(2.0 * K * K * number * number) + phase.log_inverse
    phase.level = 2.0**phase.repeats * level
    resolution = 0.5**number * math.sqrt(unit)
    design_linear(setting, phase)
    avoid_bias(setting, phase, resolution)
    samples = 2.0 / resolution**2 * ROUNDING * phase.rho * phase.level
    return max(samples, ENOUGH * support_of(phase.share))
