"""How kernels are compiled: cached on disk, without the interpreter lock, dividing like NumPy.

An integer constant as an argument, f(ROOT), compiles a version of f for that constant. Where one
version should do, write f(int(ROOT)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_COMMON: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# Only other kernels call these: no code to call them from Python, which takes longest to compile.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True}
# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "nsz"}


def kernel(function: F) -> F:
    """Compile a kernel that Python calls."""
    compiled: F = njit(**_COMMON)(function)
    return compiled


def random_kernel(function: F) -> F:
    """Compile a kernel that Python calls with a random generator.

    It counts references: without that, each call would leave one to the generator behind.
    """
    compiled: F = njit(**{**_COMMON, "_nrt": True})(function)
    return compiled


def inner(function: F) -> F:
    """Compile a kernel that only kernels call."""
    compiled: F = njit(**_COMMON, **_INNER)(function)
    return compiled


def inner_loop(function: F) -> F:
    """Compile a kernel that only kernels call, with loops that vectorise."""
    compiled: F = njit(**_COMMON, **_INNER, fastmath=_FAST)(function)
    return compiled
