"""Compilation by numba: its options, the folder of stored code, and a message while it works.

Imported when the first kernel is compiled.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite.binding import add_symbol
from numba import config, njit

from mislid._jit import DIGEST, MESSAGE, Kernel, parameters_of
from mislid._jit.numba_types import call_of, signature_of

_PATIENCE = 1.0  # seconds before the message
# The folder of stored code is a setting of the whole process.
_lock = threading.RLock()


def njit_of(function: Callable[..., Any], **options: Any) -> Any:
    """numba's dispatcher of a function."""
    common = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    return njit(**{**common, **options})(function)


def dispatcher_of_call(function: Callable[..., Any], symbol: str | None = None) -> Any:
    """A dispatcher that calls a kernel with the signature of a function, compiled elsewhere.

    By its symbol or, without one, through its address, which is the first argument then.
    """
    call = call_of(function, symbol)

    def caller(*arguments: Any) -> Any:
        return call(*arguments)

    return njit_of(caller, no_cpython_wrapper=True)


def compile_kernel(kernel: Kernel) -> tuple[Callable[..., Any], int]:
    """Compile or load a kernel: what Python calls, and its address.

    Other kernels call it by its symbol.
    """
    wanted, (kinds, _) = signature_of(kernel.function), parameters_of(kernel.function)
    # Without reference counts a call would leave one to a generator behind.
    counted = any(kind is np.random.Generator for _, kind in kinds)
    timer = threading.Timer(_PATIENCE, _say_once)
    timer.daemon = True
    with _lock:
        timer.start()
        try:
            for called in kernel.called:
                called.address  # noqa: B018 - its symbol must be known before this is loaded
            dispatcher = _stored(kernel.function, _nrt=counted, **kernel.options)
            dispatcher.compile(wanted)
        finally:
            timer.cancel()
    result = dispatcher.overloads[wanted.args]
    address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    add_symbol(kernel.symbol, address)
    return result.entry_point, address


def _stored(function: Callable[..., Any], **options: Any) -> Any:
    """A dispatcher that keeps its code in a folder named by the sources of all kernels.

    numba looks at the file of the function alone, and would run stale inner functions.
    """
    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(_cache_folder(before))
        return njit_of(function, cache=True, **options)
    except (RuntimeError, OSError) as problem:
        _warn_once(str(problem))
        return njit_of(function, **options)
    finally:
        config.CACHE_DIR = before


def _cache_folder(given: str) -> Path:
    """Below NUMBA_CACHE_DIR, else in the user's cache; made if it is missing."""
    usual = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    folder = Path(given or usual).expanduser() / "mislid" / DIGEST
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{str(folder)!r} cannot be written to")
    return folder


@cache
def _warn_once(problem: str) -> None:
    warnings.warn(
        f"compiled kernels cannot be kept, so every new process compiles them again: {problem}. "
        "Set NUMBA_CACHE_DIR to a folder that can be written to",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _say_once() -> None:
    """Say on stderr that kernels are compiled."""
    if sys.stderr is not None:
        sys.stderr.write(f"\r{MESSAGE}\n")  # a progress bar may stand in this line
        sys.stderr.flush()
