"""Compilation by numba: options, the cache folder, and a message during compilation.

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
# numba's cache folder is a setting of the whole process.
_lock = threading.RLock()


def njit_of(function: Callable[..., Any], **options: Any) -> Any:
    """numba's dispatcher of a function."""
    common = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    return njit(**{**common, **options})(function)


def dispatcher_of_call(function: Callable[..., Any], symbol: str | None = None) -> Any:
    """A dispatcher that calls a compiled kernel with the signature of a function.

    The call is by symbol or, without one, by the address in the first argument.
    """
    call = call_of(function, symbol)

    def caller(*arguments: Any) -> Any:
        return call(*arguments)

    return njit_of(caller, no_cpython_wrapper=True)


def compile_kernel(kernel: Kernel) -> tuple[Callable[..., Any], int]:
    """Compile or load a kernel; the function for calls from Python, and the address.

    Other kernels call it by its symbol.
    """
    wanted, (kinds, _) = signature_of(kernel.function), parameters_of(kernel.function)
    # Without reference counting, each call would leak a reference to its generator.
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
    """A dispatcher with a cache folder that is named by a digest of the sources of all kernels.

    numba's own cache checks the function's file only, and would run outdated inner functions.
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
    """A folder below NUMBA_CACHE_DIR, else in the user's cache; created if missing."""
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
    """Print once on stderr that kernels are being compiled."""
    if sys.stderr is not None:
        sys.stderr.write(f"\r{MESSAGE}\n")  # \r overwrites a progress bar
        sys.stderr.flush()
