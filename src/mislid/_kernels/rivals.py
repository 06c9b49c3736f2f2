"""Sampling rules that do not look for alternatives, with their own widths and stopping tests.

A rule's own test is by its index from before the last measurement, as in the published runs, while
the answer is with that measurement.
"""

from __future__ import annotations

from mislid._kernels.compile import inner
from mislid._kernels.state import State
from mislid._kernels.structs import Struct
from mislid._kernels.thresholds import heuristic


class Rival(Struct):
    """What LUCB, LinGapE and LinGIFA share."""

    log_inverse: float  # ln(1/delta), of their widths
    index: float  # of the last choice
    limit: float  # what the index must not exceed to stop


@inner
def beta_of(rule: Rival, state: State) -> float:
    """The threshold behind the widths: their own, or that of a stricter rule that is to stop them.

    With widths narrower than the stopping rule asks for they would leave arms alone too early, and
    hardly ever stop.
    """
    return max(heuristic(float(state.samples), rule.log_inverse), state.threshold)
