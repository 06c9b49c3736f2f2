"""RAGE (Fiez, Jain, Jamieson and Ratliff, 2019): each phase halves the resolution.

Phase l has the XY-design of the open arms and
    max(2 4^l (1 + 1/10) rho ln(2 K^2 l^2 / delta), 20 |support|)
measurements, in units of the noise, after which every difference is known to 2^-l with probability
1 - delta / l^2: what is further apart is separated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mislid._jit import kernel
from mislid.algorithms._designs import support_of
from mislid.algorithms._phases import (
    FINEST,
    Phased,
    Phases,
    avoid_bias,
    compile_phases,
    design_linear,
    noise_unit,
)
from mislid.algorithms.registry import CompiledSampling, register
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State

# What whole numbers may cost: so much more variance, if every arm of the design has enough.
ROUNDING, ENOUGH = 1.1, 20.0


@dataclass(frozen=True)
class RAGE(Phased):
    """RAGE (Fiez, Jain, Jamieson and Ratliff 2019): each phase halves the resolution.

    Attributes
    ----------
    fresh
        Whether a phase is judged by its own measurements only, as its proof needs. False judges by
        all, as the runs of Tirinzoni and Degenne (2022) did.
    """

    fresh: bool = True


@kernel
def prepare_rage(setting: Setting, phase: Phases, state: State) -> float:
    """Choose shares and level of a phase; return its number of measurements."""
    K, unit = setting.X.shape[0], noise_unit(setting)
    number = float(min(phase.number, FINEST))
    level = math.log(2.0 * K * K * number * number) + phase.log_inverse
    phase.level = 2.0**phase.repeats * level
    resolution = 0.5**number * math.sqrt(unit)
    design_linear(setting, phase)
    avoid_bias(setting, phase, resolution)
    samples = 2.0 / resolution**2 * ROUNDING * phase.rho * phase.level
    return max(samples, ENOUGH * support_of(phase.share))


@register({"rage": RAGE()})
def _compile(rule: RAGE, setup: Setup) -> CompiledSampling:
    return compile_phases(prepare_rage, setup.setting, fresh=rule.fresh)
