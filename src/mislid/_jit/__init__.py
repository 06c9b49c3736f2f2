"""Compiled functions and the structs they work on."""

from mislid._jit.kernels import (
    Kernel,
    for_python,
    inner,
    inner_loop,
    kernel,
    kernel_loop,
    linked,
)
from mislid._jit.structs import (
    ArmOrder,
    IndexTable,
    Indices,
    Matrix,
    PerArm,
    PerFeature,
    Square,
    Struct,
    Vector,
)

__all__ = [
    "ArmOrder",
    "IndexTable",
    "Indices",
    "Kernel",
    "Matrix",
    "PerArm",
    "PerFeature",
    "Square",
    "Struct",
    "Vector",
    "for_python",
    "inner",
    "inner_loop",
    "kernel",
    "kernel_loop",
    "linked",
]
