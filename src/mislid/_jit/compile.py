"""How kernels are compiled: each once, kept on disk, without the interpreter lock.

Two kinds of functions. A `kernel` has one signature, that of its annotations. Python calls it, and
other kernels call it through its address (`linked`): it is compiled, optimised and stored by
itself. An `inner` function is a part of kernels: it is translated once and only optimised
where a kernel uses it. numba would optimise it, and all that it calls, on every level of calls
above it, which takes three times as long.

An integer constant as an argument of an inner function, f(ROOT), translates a version of f for that
constant. Where one version should do, write f(int(ROOT)).
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import config, njit, types
from numba.core import cgutils, typing
from numba.extending import intrinsic

from mislid._jit.cache import KernelCache
from mislid._jit.folders import are_kept
from mislid._jit.notice import compiling
from mislid._jit.structs import refuse_others, signature_of
from mislid._jit.translate import KernelCompiler, PartCompiler

F = TypeVar("F", bound=Callable[..., Any])

_COMMON: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "nsz"}
_PLAIN = bool(config.DISABLE_JIT)
# Without the compiler, the functions behind addresses.
_functions: list[Callable[..., Any]] = []


def inner(function: F) -> F:
    """Compile a function that only kernels call."""
    return _part(function)


def inner_loop(function: F) -> F:
    """Compile a function that only kernels call, with loops that vectorise."""
    return _part(function, fastmath=_FAST)


def _part(function: F, **options: Any) -> F:
    if _PLAIN:
        return function
    compiled = njit(**_COMMON, **options, no_cpython_wrapper=True, pipeline_class=PartCompiler)(
        function
    )

    def translate(args: tuple[Any, ...]) -> None:
        """Kernels find it, Python does not: there is no code that Python could call."""
        if args not in compiled.overloads:
            compiled.overloads[args] = compiled._compiler.compile(args, None)

    def refuse(*arguments: Any, **named: Any) -> None:
        raise TypeError(f"only kernels call {function.__name__}: make one of it by for_python")

    compiled.compile, compiled._compile_for_args = translate, refuse
    found: F = compiled
    return found


class Kernel:
    """A compiled function with one signature; compiled, or loaded, when it is first needed."""

    def __init__(self, function: Callable[..., Any], counted: bool) -> None:
        self.function = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._counted = counted
        self._compiled: Callable[..., Any] | None = None
        self._kinds: list[tuple[str, Any]] = []
        self._address = 0

    def __call__(self, *arguments: Any) -> Any:
        run = self._compiled or self._compile()
        # Compiled code takes what it is given for what it expects.
        if len(arguments) != len(self._kinds):
            raise TypeError(f"{self.__name__} takes {len(self._kinds)} values: {arguments!r}")
        for value, (name, kind) in zip(arguments, self._kinds, strict=True):
            refuse_others(name, kind, value)
        return run(*arguments)

    @property
    def address(self) -> int:
        """Where its code is in this process, for structs that name it to other kernels."""
        if self._compiled is None:
            self._compile()
        return self._address

    def _compile(self) -> Callable[..., Any]:
        signature = signature_of(self.function)
        names = inspect.signature(self.function).parameters
        self._kinds = list(zip(names, signature.args, strict=True))
        if _PLAIN:
            self._compiled, self._address = self.function, len(_functions)
            _functions.append(self.function)
            return self.function
        options = {**_COMMON, "_nrt": self._counted, "pipeline_class": KernelCompiler}
        dispatcher = njit(**options)(self.function)
        with compiling(are_kept) as begin, _uncollected():
            dispatcher._cache = KernelCache(self.function, begin)
            dispatcher.compile(signature)
        self._result = dispatcher.overloads[signature.args]
        library, name = self._result.library, self._result.fndesc.llvm_func_name
        self._address = library.get_pointer_to_function(name)
        self._compiled = found = self._result.entry_point
        return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Do not look for garbage: the compiler makes little, and looking takes a sixth of its time.

    Nor at all of it at once afterwards: what there is counts as old.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # others may have frozen something for good
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel."""
    return Kernel(function, counted=False)


def for_python(function: Callable[..., Any]) -> Kernel:
    """A kernel that does what an inner function does."""
    return kernel(getattr(function, "py_func", function))


def random_kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel that is given a random generator.

    It counts references: without that, each call would leave one to the generator behind.
    """
    return Kernel(function, counted=True)


def linked(like: Kernel | Callable[..., Any]) -> Callable[..., Any]:
    """A function for kernels: call, through an address, a kernel with the signature of this one.

    The first argument is the address; structs hold it, because stored code must not.
    """
    function = like.function if isinstance(like, Kernel) else like
    if _PLAIN:
        return lambda address, *arguments: _functions[address](*arguments)

    @intrinsic
    def call(typing_context: Any, address: Any, *arguments: Any) -> Any:
        wanted = signature_of(function)
        given = typing.signature(wanted.return_type, types.int64, types.Tuple(wanted.args))

        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _call_address(context, builder, wanted, *values)

        return given, build

    return call


def _call_address(context: Any, builder: Any, signature: Any, address: Any, values: Any) -> Any:
    """numba's own convention: where to put the result, where an exception, then the arguments."""
    convention = context.call_conv
    shape = convention.get_function_type(signature.return_type, signature.args)
    function = builder.inttoptr(address, shape.as_pointer())
    result = cgutils.alloca_once(builder, shape.args[0].pointee)
    problem = cgutils.alloca_once(builder, shape.args[1].pointee)
    arguments = cgutils.unpack_tuple(builder, values)
    packed = context.get_arg_packer(signature.args).as_arguments(builder, arguments)
    builder.call(function, [result, problem, *packed])
    return context.get_returned_value(builder, signature.return_type, builder.load(result))
