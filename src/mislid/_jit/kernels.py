"""Kernels: functions compiled by numba, cached on disk, without the interpreter lock.

A `kernel` has one signature, that of its annotations, and is compiled once: Python calls it, other
kernels call it by its name, or through an address where the target varies (`linked`). An `inner`
function is compiled into each kernel that uses it: numba would optimise a large one again in every
caller, so large functions are kernels. numba is imported when the first kernel is called.
"""

from __future__ import annotations

import dis
import gc
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from mislid._jit.structs import check_argument, parameters_of

F = TypeVar("F", bound=Callable[..., Any])


def _digest_of_sources() -> str:
    """A digest of all files with kernels, as they are when they are imported."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        content = source.read_bytes()
        if b"mislid._jit" in content:
            digest.update(source.name.encode() + content)
    return digest.hexdigest()[:16]


_DIGEST = _digest_of_sources()
_PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# Without the compiler, the functions behind addresses.
_functions: list[Callable[..., Any]] = [lambda: None]
# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "nsz"}
MESSAGE = "mislid: compiling, once, about 20 s; later calls start at once"
_PATIENCE = 1.0  # seconds before the message
# The garbage collector and the folder of stored code are settings of the whole process.
_lock = threading.RLock()


class Inner:
    """A function that only kernels call; numba sees its dispatcher."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.py_func, self.options = function, options
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.__name__} runs inside kernels: use for_python({self.__name__})")

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The kernels that it calls."""
        return list(dict.fromkeys(_kernels_called(self.py_func)))

    @cached_property
    def dispatcher(self) -> Any:
        """numba's compiler of the function."""
        return _njit(no_cpython_wrapper=True, **self.options)(self.py_func)


def inner(function: F) -> F:
    """Compile a function that only kernels call."""
    return function if _PLAIN else cast(F, Inner(function))


def inner_loop(function: F) -> F:
    """Compile a function that only kernels call, with loops that vectorise."""
    return function if _PLAIN else cast(F, Inner(function, fastmath=_FAST))


class Kernel:
    """A compiled function with one signature; compiled, or loaded, when it is first needed."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function, self.options = function, options
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._run: Callable[..., Any] | None = None
        self._kinds: list[tuple[str, Any]] = []
        self._address = 0
        self.symbol = f"{function.__module__}.{function.__qualname__}"

    def __call__(self, *arguments: Any) -> Any:
        run = self._run or self._compile()
        # Compiled code does not look at what it is given.
        if len(arguments) != len(self._kinds):
            raise TypeError(f"{self.__name__} takes {len(self._kinds)} values: {arguments!r}")
        for value, (name, kind) in zip(arguments, self._kinds, strict=True):
            check_argument(name, kind, value)
        return run(*arguments)

    @property
    def address(self) -> int:
        """The address of its code in this process, for structs that name it to other kernels."""
        if self._run is None:
            self._compile()
        return self._address

    def _compile(self) -> Callable[..., Any]:
        self._kinds, _ = parameters_of(self.function)
        if _PLAIN:
            self._run, self._address = self.function, len(_functions)
            _functions.append(self.function)
            return self.function
        from llvmlite.binding import add_symbol

        from mislid._jit.numba_types import signature_of

        wanted = signature_of(self.function)
        # Without reference counts a call would leave one to a generator behind.
        counted = any(kind is np.random.Generator for _, kind in self._kinds)
        with _compiling():
            for called in _kernels_called(self.function):
                called.address  # noqa: B018 - its symbol must be known before this is loaded
            dispatcher = _cached(self.function, _nrt=counted, **self.options)
            dispatcher.compile(wanted)
        result = dispatcher.overloads[wanted.args]
        self._address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
        add_symbol(self.symbol, self._address)
        self._run = found = result.entry_point
        return found

    @cached_property
    def dispatcher(self) -> Any:
        """numba's compiler of a call from another kernel."""
        from mislid._jit.numba_types import call_by_symbol

        call = call_by_symbol(self.function, self.symbol)

        def through(*arguments: Any) -> Any:
            return call(*arguments)

        return _njit(no_cpython_wrapper=True)(through)


def _kernels_called(function: Callable[..., Any]) -> Iterator[Kernel]:
    """Kernels that a function calls, itself or in its inner functions."""
    steps = list(dis.get_instructions(function))
    for step, following in pairwise(steps):
        if step.opname != "LOAD_GLOBAL":
            continue
        found = function.__globals__.get(step.argval)
        if isinstance(found, ModuleType):
            found = getattr(found, str(following.argval), None)
        if isinstance(found, Kernel):
            yield found
        elif isinstance(found, Inner):
            yield from found.kernels


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel."""
    return Kernel(function)


def kernel_loop(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel with loops that vectorise."""
    return Kernel(function, fastmath=_FAST)


def for_python(function: Callable[..., Any]) -> Kernel:
    """A kernel that does what an inner function does."""
    return Kernel(getattr(function, "py_func", function))


class Linked(Inner):
    """A call, through an address, of a kernel with the signature of `like`."""

    def __call__(self, address: int, *arguments: Any) -> Any:
        return _functions[address](*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """numba's compiler of the call."""
        from mislid._jit.numba_types import call_by_address

        call = call_by_address(self.py_func)

        def through(address: int, *arguments: Any) -> Any:
            return call(address, *arguments)

        return _njit(no_cpython_wrapper=True)(through)


def linked(like: Kernel | Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels: call a kernel with the signature of `like` through its address.

    The first argument is the address; structs hold it, because stored code must not.
    """
    return Linked(like.function if isinstance(like, Kernel) else like)


def _njit(**options: Any) -> Callable[..., Any]:
    from numba import njit

    common = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    found: Callable[..., Any] = njit(**{**common, **options})
    return found


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    """A dispatcher that keeps its code in a folder named by the sources of all kernels.

    numba looks at the file of the function alone, and would run stale inner functions.
    """
    from numba import config

    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(_cache_folder(before))
        return _njit(cache=True, **options)(function)
    except (RuntimeError, OSError) as problem:
        _warn_once(str(problem))
        return _njit(**options)(function)
    finally:
        config.CACHE_DIR = before


def _cache_folder(given: str) -> Path:
    """Below NUMBA_CACHE_DIR, else in the user's cache; made if it is missing."""
    usual = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    folder = Path(given or usual).expanduser() / "mislid" / _DIGEST
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


@contextmanager
def _compiling() -> Iterator[None]:
    """Say on stderr that kernels are compiled, if that takes a while, and collect no garbage.

    Looking for garbage takes a sixth of the compiler's time, and it makes little.
    """
    timer = threading.Timer(_PATIENCE, _say_once)
    timer.daemon = True
    with _lock:
        enabled = gc.isenabled()
        gc.disable()
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            if enabled:
                gc.enable()


@cache
def _say_once() -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"\r{MESSAGE}\n")  # a progress bar may stand in this line
        sys.stderr.flush()
