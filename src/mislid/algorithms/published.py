"""Constants of the published runs that the paper's text does not have.

`mislid._kernels.published` has the formulas that differ. An algorithm with `authors` uses all.
"""

from __future__ import annotations

# What they gave to arms that were never measured, and added to the tube (at noise 1).
PHANTOM, WIDENING = 1e-10, 1e-5


def patience(first: int, d: int, gamma: float) -> int:
    """How many samples to take before the first test, of which `first` are the design."""
    return max(5 * d, 10) if gamma > 1.0 else first
