"""Records of arrays and numbers that kernels get as one pointer.

numba passes a tuple of arrays as seven numbers for every array of it, on every call, which takes
long to compile and to run. A `Struct` is a block of words of 8 bytes: a number is one word, an
array its address and its shape, another struct its address. In Python it is an object with the
same attributes; its numbers can be assigned to on both sides, its arrays only be filled.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import typing
from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, ClassVar, NoReturn, Self, dataclass_transform

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core.typing import signature
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from mislid._jit.arrays import FlatType, flat

# Arrays in C order, of numbers and of positions, with the number of their dimensions.
Vector = Annotated[npt.NDArray[np.float64], 1]
Matrix = Annotated[npt.NDArray[np.float64], 2]
Indices = Annotated[npt.NDArray[np.int64], 1]
IndexTable = Annotated[npt.NDArray[np.int64], 2]
# The same with their shapes, by the names of their sizes: `Struct.zeros` makes these.
PerArm = Annotated[npt.NDArray[np.float64], 1, ("K",)]
PerFeature = Annotated[npt.NDArray[np.float64], 1, ("d",)]
Square = Annotated[npt.NDArray[np.float64], 2, ("d", "d")]
ArmOrder = Annotated[npt.NDArray[np.int64], 1, ("K",)]

_WORD = ir.IntType(64)
_SCALARS: dict[Any, Any] = {
    int: types.int64,
    float: types.float64,
    bool: types.boolean,
    np.uint64: types.uint64,
    np.random.Generator: types.npy_rng,
}


class StructType(types.Type):
    """What numba knows of a struct: its name, and names and types of its fields.

    Without fields it is any struct, of which only the address matters.
    """

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        self.places: dict[str, tuple[Any, int]] = {}
        self.words = 0
        for field, kind in fields:
            self.places[field] = kind, self.words
            self.words += 1 + kind.ndim if isinstance(kind, FlatType) else 1
        # Compiled code repeats the name of a type many times: a short one for what it is made of.
        text = ", ".join(f"{field}: {kind}" for field, kind in fields)
        super().__init__(f"{name}.{hashlib.sha256(text.encode()).hexdigest()[:8]}")

    @property
    def key(self) -> Any:
        """What makes two of them equal."""
        return self.name

    def can_convert_to(self, typing_context: Any, other: Any) -> Any:
        """Every struct is any struct."""
        return types.Conversion.safe if other == ANY else None


def numba_type(annotation: Any) -> Any:
    """The numba type that an annotation of a kernel or of a field stands for."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation.numba_type()
    if typing.get_origin(annotation) is Annotated:
        array, ndim = typing.get_args(annotation)[:2]
        kind = types.int64 if array == npt.NDArray[np.int64] else types.float64
        return FlatType(kind, ndim)
    if typing.get_origin(annotation) is tuple:
        return types.Tuple([numba_type(part) for part in typing.get_args(annotation)])
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        parts = typing.get_type_hints(annotation, include_extras=True).values()
        return types.NamedTuple([numba_type(part) for part in parts], annotation)
    if annotation is type(None):
        return types.none
    raise TypeError(f"kernels cannot be given {annotation!r}")


def signature_of(function: Callable[..., Any]) -> Any:
    """numba's signature of an annotated function."""
    hints = typing.get_type_hints(function, include_extras=True)
    names = inspect.signature(function).parameters
    return signature(numba_type(hints["return"]), *(numba_type(hints[name]) for name in names))


class _Number:
    """An attribute that lives in the words of a struct."""

    def __init__(self, at: int, kind: type) -> None:
        self.at, self.kind = at, kind

    def __get__(self, struct: Struct | None, owner: type) -> Any:
        if struct is None:
            return self
        words = struct._reals if self.kind is float else struct._words
        found = words[self.at]
        return self.kind(found.view(np.uint64) if self.kind is np.uint64 else found)

    def __set__(self, struct: Struct, value: Any) -> None:
        words = struct._reals if self.kind is float else struct._words
        words[self.at] = np.uint64(value).view(np.int64) if self.kind is np.uint64 else value


@dataclass_transform(kw_only_default=True)
class Struct:
    """A record of numbers, arrays and structs, shared by Python and kernels.

    A subclass annotates its fields; all of them are given by name when one is made.

    >>> class Walk(Struct):
    ...     steps: int
    ...     places: Vector  # (n,)
    >>> walk = Walk(steps=2, places=np.zeros(3))
    >>> walk.steps += 1
    >>> walk.steps, walk.places.tolist()
    (3, [0.0, 0.0, 0.0])
    """

    _layout: ClassVar[StructType | None] = None
    _blanks: ClassVar[dict[str, Any] | None] = None
    _words: npt.NDArray[np.int64]
    _reals: npt.NDArray[np.float64]
    _address: int

    def __init__(self, **values: Any) -> None:
        layout = self.numba_type()
        if values.keys() != layout.places.keys():
            odd = sorted(values.keys() ^ layout.places.keys())
            raise TypeError(f"{type(self).__name__} has other fields: see {', '.join(odd)}")
        words = np.zeros(max(layout.words, 1), np.int64)
        # Not through `__setattr__`, which keeps arrays from being replaced.
        self.__dict__.update(
            _words=words, _reals=words.view(np.float64), _address=words.ctypes.data
        )
        for name, value in values.items():
            kind, at = layout.places[name]
            if isinstance(kind, FlatType):
                _refuse_other_arrays(name, kind, value)
                words[at] = value.__array_interface__["data"][0]
                for axis, length in enumerate(value.shape, start=at + 1):
                    words[axis] = length
                self.__dict__[name] = value
            elif isinstance(kind, StructType):
                _refuse_other_structs(name, kind, value)
                words[at] = value._address
                self.__dict__[name] = value
            else:
                setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(getattr(type(self), name, None), _Number):
            raise AttributeError(f"{name} of {type(self).__name__} can only be filled")
        object.__setattr__(self, name, value)

    @classmethod
    def numba_type(cls) -> StructType:
        """Its type in kernels."""
        if cls is Struct:
            return ANY
        known: StructType | None = cls.__dict__.get("_layout")
        if known is None:
            hints = typing.get_type_hints(cls, include_extras=True)
            own = {name: hints[name] for name in _fields(cls)}
            known = StructType(
                cls.__name__,
                tuple((name, numba_type(hint)) for name, hint in own.items()),
            )
            cls._layout = known
            for name, (_, at) in known.places.items():
                if own[name] in (int, float, bool, np.uint64):
                    setattr(cls, name, _Number(at, own[name]))
        return known

    @classmethod
    def zeros(cls, sizes: dict[str, int], **given: Any) -> Self:
        """One with zeros for all fields that are not given; `sizes` are those of their shapes.

        >>> class Point(Struct):
        ...     steps: int
        ...     at: PerFeature
        >>> Point.zeros({"d": 2}).at.tolist()
        [0.0, 0.0]
        """
        blanks = {name: blank for name, blank in cls._zero().items() if name not in given}
        made = {
            name: np.zeros([sizes[size] for size in blank[1]], blank[0])
            if isinstance(blank, tuple)
            else blank
            for name, blank in blanks.items()
        }
        return cls(**given, **made)

    @classmethod
    def _zero(cls) -> dict[str, Any]:
        """What zero is for the fields: a number, or an array's type and the names of its sizes."""
        known: dict[str, Any] | None = cls.__dict__.get("_blanks")
        if known is None:
            known = {}
            hints = typing.get_type_hints(cls, include_extras=True)
            for name in cls.numba_type().places:
                parts = typing.get_args(hints[name])
                if hints[name] in (int, float, bool):
                    known[name] = hints[name](0)
                elif len(parts) == 3:
                    whole = parts[0] == npt.NDArray[np.int64]
                    known[name] = (np.int64 if whole else np.float64, parts[2])
            cls._blanks = known
        return known

    def fields(self) -> dict[str, Any]:
        """The fields by name, arrays and structs themselves."""
        return {name: getattr(self, name) for name in self.numba_type().places}

    def replace(self, **changes: Any) -> Self:
        """Another one with other values for some fields; arrays that do not change are shared."""
        return type(self)(**{**self.fields(), **changes})

    def is_like(self, other: Self) -> bool:
        """Whether another one of this class has the same shapes, so that `fill` takes it."""
        mine, its = self.fields(), other.fields()
        return all(
            value.is_like(its[name])
            if isinstance(value, Struct)
            else np.shape(value) == np.shape(its[name])
            for name, value in mine.items()
        )

    def fill(self, other: Self) -> None:
        """Take over all numbers and the contents of all arrays of another one."""
        for name, value in other.fields().items():
            if isinstance(value, Struct):
                getattr(self, name).fill(value)
            elif isinstance(value, np.ndarray):
                getattr(self, name)[...] = value
            else:
                setattr(self, name, value)

    def copy(self) -> Self:
        """Another one with arrays and structs of its own."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(**copy.deepcopy(self.fields(), memo))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds addresses of this process: make it anew")


def _fields(cls: type) -> list[str]:
    """Names of the fields, those of a base class first."""
    bases = [base for base in reversed(cls.__mro__) if issubclass(base, Struct)]
    own = [name for base in bases if base is not Struct for name in base.__annotations__]
    return list(dict.fromkeys(own))


def refuse_others(name: str, kind: Any, value: Any) -> None:
    """Refuse what a kernel would misread."""
    if isinstance(kind, FlatType):
        _refuse_other_arrays(name, kind, value)
    elif isinstance(kind, StructType):
        _refuse_other_structs(name, kind, value)
    elif isinstance(kind, types.Number | types.Boolean) and not isinstance(value, Real | np.bool_):
        raise TypeError(f"{name} must be a number; got {value!r}")


def _refuse_other_arrays(name: str, kind: FlatType, value: Any) -> None:
    dtype = np.int64 if kind.dtype == types.int64 else np.float64
    fits = isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == kind.ndim
    if not (fits and value.flags.c_contiguous and value.flags.writeable):
        raise TypeError(
            f"{name} must be a writable array of {kind.ndim} dimension(s) of {kind.dtype} in C "
            f"order; got {value!r}"
        )


def _refuse_other_structs(name: str, kind: StructType, value: Any) -> None:
    if not isinstance(value, Struct) or kind not in (ANY, value.numba_type()):
        wanted = kind.name.partition(".")[0]
        raise TypeError(f"{name} must be a {wanted}; got {value!r}")


ANY = StructType("struct", ())


@register_model(StructType)
class _Pointer(models.PrimitiveModel):
    def __init__(self, data_model_manager: Any, kind: Any) -> None:
        super().__init__(data_model_manager, kind, _WORD.as_pointer())


@typeof_impl.register(Struct)
def _type_of(value: Struct, context: Any) -> StructType:
    return value.numba_type()


@unbox(StructType)
def _unbox(kind: Any, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "_address")
    pointer = c.builder.bitcast(c.pyapi.long_as_voidptr(address), _WORD.as_pointer())
    c.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = StructType

    def generic_resolve(self, kind: StructType, name: str) -> Any:
        return kind.places[name][0] if name in kind.places else None


def _load(context: Any, builder: Any, pointer: Any, at: int, fixed: bool) -> Any:
    place = builder.gep(pointer, [ir.Constant(_WORD, at)], inbounds=True)
    word = builder.load(place)
    if fixed:
        # Loops may keep it in a register whatever they write to.
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _load_array(context: Any, builder: Any, kind: FlatType, pointer: Any, at: int) -> Any:
    address = _load(context, builder, pointer, at, True)
    shape = [_load(context, builder, pointer, at + 1 + axis, True) for axis in range(kind.ndim)]
    entry = context.get_data_type(kind.dtype).as_pointer()
    return flat(context, builder, kind, builder.inttoptr(address, entry), shape)


@lower_getattr_generic(StructType)
def _get(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    wanted, at = kind.places[name]
    if isinstance(wanted, FlatType):
        return _load_array(context, builder, wanted, pointer, at)
    if isinstance(wanted, StructType):
        return builder.inttoptr(_load(context, builder, pointer, at, True), _WORD.as_pointer())
    word = _load(context, builder, pointer, at, False)
    if wanted == types.boolean:
        return builder.icmp_unsigned("!=", word, ir.Constant(_WORD, 0))
    if wanted == types.float64:
        return builder.bitcast(word, ir.DoubleType())
    return word


@lower_setattr_generic(StructType)
def _set(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    pointer, value = args
    wanted, at = sig.args[0].places[name]
    given = context.cast(builder, value, sig.args[1], wanted)
    if wanted == types.float64:
        given = builder.bitcast(given, _WORD)
    elif wanted == types.boolean:
        given = builder.zext(given, _WORD)
    builder.store(given, builder.gep(pointer, [ir.Constant(_WORD, at)], inbounds=True))
