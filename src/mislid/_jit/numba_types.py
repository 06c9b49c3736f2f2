"""Numba types of structs and their arrays, by numba's documented extension interface.

Imported when the first kernel is compiled. A new release of numba would most likely break the names
of the base classes (`numba.core.typing.templates`), which `tests/unit/jit` would show.

`StructType` is a pointer to 8-byte words (`mislid._jit`). Reading an attribute loads a word,
assigning it stores one. `ArrayType` is an address and a shape: entries in C order, indices from 0,
whole rows, no slices. numba's own arrays also have strides, an owner and negative indices, all
compiled at every access and passed in every call.
"""

from __future__ import annotations

import hashlib
import operator
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global

from mislid._jit import ArrayKind, Kernel, Linked, Struct, kind_of, layout_of, parameters_of

_WORD = ir.IntType(64)
_SCALARS: dict[Any, Any] = {
    int: types.int64,
    float: types.float64,
    bool: types.boolean,
    np.float64: types.float64,
    np.int64: types.int64,
    np.uint64: types.uint64,
    np.random.Generator: types.npy_rng,
    type(None): types.none,
}


class ArrayType(types.Type):
    """An array of float64 or int64 with one or two dimensions."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"array{ndim}.{dtype}")


class StructType(types.Type):
    """A pointer to the words of a struct of one class; for `Struct`, to any struct."""

    def __init__(self, kind: type[Struct]) -> None:
        self.places = {
            name: (numba_type(field), at) for name, (field, at) in layout_of(kind)[0].items()
        }
        # The name is a key of stored code, and short because compiled code repeats it often.
        layout = hashlib.sha256(str(self.places).encode()).hexdigest()[:8]
        super().__init__(f"{kind.__name__}.{layout}")

    def can_convert_to(self, typing_context: Any, other: Any) -> Any:
        """Convert to any struct type whose fields are the first fields of this one."""
        if not isinstance(other, StructType):
            return None
        first = list(self.places.items())[: len(other.places)]
        return types.Conversion.safe if first == list(other.places.items()) else None


def numba_type(annotation: Any) -> Any:
    """The numba type of an annotation of a kernel or of a field."""
    kind = kind_of(annotation)
    if isinstance(kind, ArrayKind):
        return ArrayType(_SCALARS[kind.dtype], kind.ndim)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if typing.get_origin(kind) is tuple:
        return types.Tuple([numba_type(part) for part in typing.get_args(kind)])
    if isinstance(kind, type) and issubclass(kind, Struct):
        return StructType(kind)
    raise TypeError(f"a kernel cannot take or return {annotation!r}")


def signature_of(function: Callable[..., Any]) -> Any:
    """numba's signature of an annotated function."""
    given, returned = parameters_of(function)
    return signature(numba_type(returned), *(numba_type(kind) for _, kind in given))


@extending.typeof_impl.register(Linked)
@extending.typeof_impl.register(Kernel)
def _dispatcher_of(value: Linked | Kernel, context: Any) -> Any:
    return types.Dispatcher(value.dispatcher)


def call_of(function: Callable[..., Any], symbol: str | None) -> Any:
    """An intrinsic that calls compiled code with the signature of a function.

    The call is by symbol or, without one, by the address in the first argument.
    """

    @extending.intrinsic
    def call(typing_context: Any, *arguments: Any) -> Any:
        wanted = signature_of(function)
        given = (types.int64, *wanted.args) if symbol is None else wanted.args

        def build(context: Any, builder: Any, sig: Any, packed: Any) -> Any:
            shape = context.call_conv.get_function_type(wanted.return_type, wanted.args)
            values = cgutils.unpack_tuple(builder, packed[0])
            if symbol is None:
                code = builder.inttoptr(values.pop(0), shape.as_pointer())
            else:
                code = cgutils.get_or_insert_function(builder.module, shape, symbol)
            # numba's convention: pointers to the result and the exception, then the arguments.
            result = cgutils.alloca_once(builder, shape.args[0].pointee)
            problem = cgutils.alloca_once(builder, shape.args[1].pointee)
            values = context.get_arg_packer(wanted.args).as_arguments(builder, values)
            builder.call(code, [result, problem, *values])
            return context.get_returned_value(builder, wanted.return_type, builder.load(result))

        return signature(wanted.return_type, types.Tuple(given)), build

    return call


@extending.register_model(StructType)
class _Pointer(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: StructType) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@extending.unbox(StructType)
def _unbox_struct(kind: StructType, value: Any, c: Any) -> extending.NativeValue:
    address = c.pyapi.object_getattr_string(value, "_address")
    pointer = c.builder.bitcast(c.pyapi.long_as_voidptr(address), _WORD.as_pointer())
    c.pyapi.decref(address)
    return extending.NativeValue(pointer)


@extending.lower_cast(StructType, StructType)
def _cast_struct(context: Any, builder: Any, given: Any, wanted: Any, pointer: Any) -> Any:
    return pointer


@extending.infer_getattr
class _Attributes(AttributeTemplate):
    key = StructType

    def generic_resolve(self, kind: StructType, name: str) -> Any:
        return kind.places[name][0] if name in kind.places else None


def _load(builder: Any, pointer: Any, at: int, fixed: bool) -> Any:
    word = builder.load(builder.gep(pointer, [ir.Constant(_WORD, at)], inbounds=True))
    if fixed:  # constant addresses and shapes stay in registers
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@extending.lower_getattr_generic(StructType)
def _get_field(context: Any, builder: Any, kind: StructType, pointer: Any, name: str) -> Any:
    wanted, at = kind.places[name]
    fixed = isinstance(wanted, ArrayType | StructType)
    word = _load(builder, pointer, at, fixed)
    if isinstance(wanted, ArrayType):
        data = builder.inttoptr(word, context.get_data_type(wanted.dtype).as_pointer())
        shape = [_load(builder, pointer, at + 1 + axis, fixed) for axis in range(wanted.ndim)]
        return _array(context, builder, wanted, data, shape)
    if isinstance(wanted, StructType):
        return builder.inttoptr(word, _WORD.as_pointer())
    if wanted == types.boolean:
        return builder.icmp_unsigned("!=", word, ir.Constant(_WORD, 0))
    return builder.bitcast(word, ir.DoubleType()) if wanted == types.float64 else word


@extending.lower_setattr_generic(StructType)
def _set_field(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    wanted, at = sig.args[0].places[name]
    value = context.cast(builder, args[1], sig.args[1], wanted)
    if wanted == types.float64:
        value = builder.bitcast(value, _WORD)
    elif wanted == types.boolean:
        value = builder.zext(value, _WORD)
    builder.store(value, builder.gep(args[0], [ir.Constant(_WORD, at)], inbounds=True))


@extending.register_model(ArrayType)
class _ArrayModel(extending.models.StructModel):
    def __init__(self, manager: Any, kind: ArrayType) -> None:
        shape = types.UniTuple(types.int64, kind.ndim)
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), ("shape", shape)])


extending.make_attribute_wrapper(ArrayType, "shape", "shape")


def _array(context: Any, builder: Any, kind: ArrayType, data: Any, shape: list[Any]) -> Any:
    array = cgutils.create_struct_proxy(kind)(context, builder)
    array.data, array.shape = data, cgutils.pack_array(builder, shape)
    return array._getvalue()


@extending.unbox(ArrayType)
def _unbox_array(kind: ArrayType, value: Any, c: Any) -> extending.NativeValue:
    whole = types.Array(kind.dtype, kind.ndim, "C")
    native = c.unbox(whole, value)
    array = c.context.make_array(whole)(c.context, c.builder, native.value)
    shape = cgutils.unpack_tuple(c.builder, array.shape)
    found = _array(c.context, c.builder, kind, array.data, shape)
    return extending.NativeValue(found, is_error=native.is_error, cleanup=native.cleanup)


def _entry(kind: Any, index: Any) -> tuple[Any, Any] | None:
    """The type of an entry or a row, and the type that its index is cast to."""
    if isinstance(index, types.Integer):
        return (kind.dtype if kind.ndim == 1 else ArrayType(kind.dtype, 1)), types.int64
    if isinstance(index, types.BaseTuple) and len(index) == kind.ndim == 2:
        return kind.dtype, types.UniTuple(types.int64, 2)
    return None


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        found = _entry(*args) if isinstance(args[0], ArrayType) else None
        return None if found is None else signature(found[0], args[0], found[1])


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        kind = args[0]
        found = _entry(kind, args[1]) if isinstance(kind, ArrayType) else None
        if found is None or found[0] != kind.dtype:
            return None
        return signature(types.none, kind, found[1], kind.dtype)


def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """The address of an entry, or of the first entry of a row."""
    array = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0])
    pair = isinstance(sig.args[1], types.BaseTuple)
    index = cgutils.unpack_tuple(builder, args[1]) if pair else [args[1]]
    offset = index[0]
    if sig.args[0].ndim == 2:
        offset = builder.mul(offset, builder.extract_value(array.shape, 1), flags=["nsw"])
    if pair:
        offset = builder.add(offset, index[1], flags=["nsw"])
    return builder.gep(array.data, [offset], inbounds=True)


@extending.lower_builtin(operator.getitem, ArrayType, types.Integer)
@extending.lower_builtin(operator.getitem, ArrayType, types.BaseTuple)
def _get_entry(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    place = _place(context, builder, sig, args)
    if not isinstance(sig.return_type, ArrayType):
        return builder.load(place)
    array = cgutils.create_struct_proxy(sig.args[0])(context, builder, args[0])
    width = builder.extract_value(array.shape, 1)
    return _array(context, builder, sig.return_type, place, [width])


@extending.lower_builtin(operator.setitem, ArrayType, types.Integer, types.Any)
@extending.lower_builtin(operator.setitem, ArrayType, types.BaseTuple, types.Any)
def _set_entry(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _place(context, builder, sig, args))
    return context.get_dummy_value()
