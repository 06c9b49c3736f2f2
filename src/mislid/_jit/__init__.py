"""Structs and kernels: records of numbers and arrays, and functions that numba compiles.

A struct is a block of 8-byte words, shared by Python and compiled code, which receives its address.
A number takes one word; an array takes its address and its shape; a nested struct takes its
address. numba would pass a tuple of arrays as seven numbers for each array on every call, which is
slow to compile and to run.

A `kernel` has one signature, given by its annotations, and is compiled once. Other kernels call it
by its name, or by its address where the target varies (`linked`). An `inner` function is compiled
into each kernel that uses it. numba optimises it again in every caller, so large functions are
kernels. Kernels refer to functions by plain names, not as `module.name`. Python can call both
kinds. numba is imported at the first call.
"""

from __future__ import annotations

import copy
import dis
import hashlib
import inspect
import os
import typing
from collections.abc import Callable
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

# Arrays in C order of numbers or indices, with the number of dimensions.
Vector = Annotated[npt.NDArray[np.float64], 1]
Matrix = Annotated[npt.NDArray[np.float64], 2]
Indices = Annotated[npt.NDArray[np.int64], 1]
IndexTable = Annotated[npt.NDArray[np.int64], 2]
# The same with a shape, for `Struct.zeros`.
PerArm = Annotated[npt.NDArray[np.float64], 1, ("K",)]
PerFeature = Annotated[npt.NDArray[np.float64], 1, ("d",)]
Square = Annotated[npt.NDArray[np.float64], 2, ("d", "d")]
ArmOrder = Annotated[npt.NDArray[np.int64], 1, ("K",)]

# Kinds of numbers, and their NumPy types in a word.
NUMBERS = {int: np.int64, float: np.float64, bool: np.int64, np.uint64: np.uint64}


class ArrayKind(NamedTuple):
    """The type of an array field: NumPy's entry type, dimensions, names of their sizes."""

    dtype: type
    ndim: int
    shape: tuple[str, ...] | None


def kind_of(annotation: Any) -> Any:
    """The `ArrayKind` of an annotated array; any other annotation unchanged."""
    if typing.get_origin(annotation) is not Annotated:
        return annotation
    array, ndim, *shape = typing.get_args(annotation)
    dtype = np.int64 if array == npt.NDArray[np.int64] else np.float64
    return ArrayKind(dtype, ndim, shape[0] if shape else None)


def parameters_of(function: Callable[..., Any]) -> tuple[list[tuple[str, Any]], Any]:
    """Name and kind of each parameter of an annotated function, and the kind of its result."""
    hints = typing.get_type_hints(function, include_extras=True)
    kinds = [(name, kind_of(hints[name])) for name in inspect.signature(function).parameters]
    return kinds, kind_of(hints["return"])


class _Number:
    """A number in the words of a struct."""

    def __init__(self, at: int, kind: type) -> None:
        self.at, self.kind = at, kind

    def __get__(self, struct: Struct | None, owner: type) -> Any:
        return self if struct is None else self.kind(struct._numbers[self.kind][self.at])

    def __set__(self, struct: Struct, value: Any) -> None:
        struct._numbers[self.kind][self.at] = value


@typing.dataclass_transform(kw_only_default=True, eq_default=False)
class Struct:
    """A record of numbers, arrays and structs, shared by Python and compiled code.

    A subclass annotates its fields. Numbers can be assigned; arrays and structs can only be filled.

    >>> class Walk(Struct):
    ...     steps: int
    ...     places: Vector  # (n,)
    >>> walk = Walk(steps=2, places=np.zeros(3))
    >>> walk.steps += 1
    >>> walk.steps, walk.places.tolist()
    (3, [0.0, 0.0, 0.0])
    """

    _numbers: dict[type, npt.NDArray[Any]]  # views of the words by kind of number
    _address: int

    def __init__(self, **values: Any) -> None:
        places, size = layout_of(type(self))
        if values.keys() != places.keys():
            odd = ", ".join(sorted(values.keys() ^ places.keys()))
            raise TypeError(f"fields of {type(self).__name__} are missing or unknown: {odd}")
        words = np.zeros(max(size, 1), np.int64)
        # `__setattr__` would refuse to replace arrays.
        numbers = {kind: words.view(held) for kind, held in NUMBERS.items()}
        self.__dict__.update(_numbers=numbers, _address=words.ctypes.data)
        for name, value in values.items():
            kind, at = places[name]
            if kind in NUMBERS:
                setattr(self, name, value)
                continue
            check_argument(name, kind, value)
            self.__dict__[name] = value
            if isinstance(value, Struct):
                words[at] = value._address
            else:
                words[at] = value.__array_interface__["data"][0]
                words[at + 1 : at + 1 + value.ndim] = value.shape

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(getattr(type(self), name, None), _Number):
            raise AttributeError(f"{name} of {type(self).__name__} can be filled, not replaced")
        object.__setattr__(self, name, value)

    @classmethod
    def zeros(cls, sizes: dict[str, int], **given: Any) -> Self:
        """A struct of zeros, except for the given fields; `sizes` are the named sizes of shapes.

        Nested structs are zeros, too. Arrays without a named shape, and fields of type `Struct`,
        must be given.

        >>> class Point(Struct):
        ...     steps: int
        ...     at: PerFeature
        >>> Point.zeros({"d": 2}).at.tolist()
        [0.0, 0.0]
        """
        values = dict(given)
        for name, (kind, _) in layout_of(cls)[0].items():
            if name in given:
                continue
            if isinstance(kind, ArrayKind):
                if kind.shape is not None:
                    values[name] = np.zeros([sizes[size] for size in kind.shape], kind.dtype)
            elif kind in NUMBERS:
                values[name] = kind(0)
            elif kind is not Struct:
                values[name] = kind.zeros(sizes)
        return cls(**values)

    def fields(self) -> dict[str, Any]:
        """The fields by name; arrays and structs are not copied."""
        return {name: getattr(self, name) for name in layout_of(type(self))[0]}

    def replace(self, **changes: Any) -> Self:
        """A struct with other values in some fields, which shares the other arrays."""
        return type(self)(**{**self.fields(), **changes})

    def is_like(self, other: Self) -> bool:
        """Whether another struct of this class has the same shapes, as `fill` requires."""
        mine, theirs = self.fields(), other.fields()
        return all(
            value.is_like(theirs[name])
            if isinstance(value, Struct)
            else np.shape(value) == np.shape(theirs[name])
            for name, value in mine.items()
        )

    def fill(self, other: Self) -> None:
        """Copy all numbers and the contents of all arrays of another struct."""
        for name, value in other.fields().items():
            if isinstance(value, Struct):
                getattr(self, name).fill(value)
            elif isinstance(value, np.ndarray):
                getattr(self, name)[...] = value
            else:
                setattr(self, name, value)

    def copy(self) -> Self:
        """A struct with copies of all arrays and structs."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(**copy.deepcopy(self.fields(), memo))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds addresses and cannot be pickled")


_layouts: dict[type[Struct], tuple[dict[str, tuple[Any, int]], int]] = {}


def layout_of(struct: type[Struct]) -> tuple[dict[str, tuple[Any, int]], int]:
    """The kind and the first word of each field, and the number of words.

    Fields of base classes come first. Number fields become attributes of the class.
    """
    if struct not in _layouts:
        hints = typing.get_type_hints(struct, include_extras=True)
        bases = [base for base in reversed(struct.__mro__) if issubclass(base, Struct)]
        places, size = {}, 0
        for name in dict.fromkeys(name for base in bases[1:] for name in base.__annotations__):
            kind = kind_of(hints[name])
            places[name] = kind, size
            if kind in NUMBERS:
                setattr(struct, name, _Number(size, kind))
            size += 1 + kind.ndim if isinstance(kind, ArrayKind) else 1
        _layouts[struct] = places, size
    return _layouts[struct]


def check_argument(name: str, kind: Any, value: Any) -> None:
    """Refuse an array or a struct of another kind, which compiled code would misread."""
    if isinstance(kind, ArrayKind):
        fits = isinstance(value, np.ndarray) and value.dtype == kind.dtype
        if not (fits and value.ndim == kind.ndim and value.flags.carray):
            raise TypeError(
                f"{name} must be a writable array of {kind.ndim} dimension(s) of "
                f"{kind.dtype.__name__} in C order; got {value!r}"
            )
    elif isinstance(kind, type) and issubclass(kind, Struct):
        if kind is not type(value) and not (kind is Struct and isinstance(value, Struct)):
            raise TypeError(f"{name} must be a {kind.__name__}; got {value!r}")
    elif kind in NUMBERS and not isinstance(value, Real | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r}")


def _digest_of_sources() -> str:
    """A digest of the content of all files with kernels."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parents[1].rglob("*.py")):
        content = source.read_bytes()
        if b"mislid._jit" in content:
            digest.update(source.name.encode() + content)
    return digest.hexdigest()[:16]


DIGEST = _digest_of_sources()
MESSAGE = "mislid: compiling, once, about 20 s; later calls start at once"
_PLAIN = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
# Functions by address, where the compiler is disabled.
_functions: list[Callable[..., Any]] = [lambda: None]
# Reductions may be reordered to vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "nsz"}
F = TypeVar("F", bound=Callable[..., Any])


class Kernel:
    """A compiled function with one signature, compiled or loaded at first use.

    If `inlined`, it becomes part of the kernels that call it.
    """

    def __init__(self, function: Callable[..., Any], inlined: bool, **options: Any) -> None:
        self.function, self.inlined, self.options = function, inlined, options
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.symbol = f"{function.__module__}.{function.__qualname__}"

    def __call__(self, *arguments: Any) -> Any:
        run, kinds = self._compiled[0], self._kinds
        # Compiled code does not check its arguments.
        if len(arguments) != len(kinds):
            raise TypeError(f"{self.__name__} takes {len(kinds)} values: {arguments!r}")
        for value, (name, kind) in zip(arguments, kinds, strict=True):
            check_argument(name, kind, value)
        return run(*arguments)

    @cached_property
    def _kinds(self) -> list[tuple[str, Any]]:
        return parameters_of(self.function)[0]

    @property
    def address(self) -> int:
        """The address of its code in this process, for structs that refer to it."""
        return self._compiled[1]

    @cached_property
    def _compiled(self) -> tuple[Callable[..., Any], int]:
        if _PLAIN:
            _functions.append(self.function)
            return self.function, len(_functions) - 1
        from mislid._jit.compiler import compile_kernel

        return compile_kernel(self)

    @cached_property
    def called(self) -> list[Kernel]:
        """The kernels that it calls, directly or in inlined functions."""
        found: list[Kernel] = []
        for step in dis.get_instructions(self.function):
            if step.opname == "LOAD_GLOBAL":
                one = self.function.__globals__.get(step.argval)
                if isinstance(one, Kernel):
                    found += one.called if one.inlined else [one]
        return found

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher with which numba compiles a call from another kernel."""
        from mislid._jit.compiler import dispatcher_of_call, njit_of

        if self.inlined:
            return njit_of(self.function, no_cpython_wrapper=True, **self.options)
        return dispatcher_of_call(self.function, self.symbol)


def inner(function: F) -> F:
    """Compile a function into the kernels that call it."""
    return function if _PLAIN else cast(F, Kernel(function, True))


def inner_loop(function: F) -> F:
    """As `inner`, with vectorised loops."""
    return function if _PLAIN else cast(F, Kernel(function, True, fastmath=_FAST))


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel."""
    return Kernel(function, False)


def kernel_loop(function: Callable[..., Any]) -> Kernel:
    """Compile a kernel with vectorised loops."""
    return Kernel(function, False, fastmath=_FAST)


class Linked:
    """A call by address of a kernel with the signature of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, address: int, *arguments: Any) -> Any:
        return _functions[address](*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher with which numba compiles the call."""
        from mislid._jit.compiler import dispatcher_of_call

        return dispatcher_of_call(self.function)


def linked(like: Kernel | Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls, by address, a kernel with the signature of `like`.

    The first argument is the address, from a struct: stored code must not contain addresses.
    """
    return Linked(like.function if isinstance(like, Kernel) else like)
