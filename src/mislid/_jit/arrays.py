"""Arrays as kernels see them: an address and a shape, entries in C order, indices from 0.

numba's own arrays carry strides, an owner and a rule for negative indices, all of which has to be
compiled at every access. Kernels own nothing, count from 0 and use whole rows: without the rest
they compile faster, and calls pass two or three numbers for an array instead of seven.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import (
    NativeValue,
    lower_builtin,
    make_attribute_wrapper,
    models,
    register_model,
    unbox,
)

_WORD = ir.IntType(64)


class FlatType(types.Type):
    """An array of numbers (float64) or of positions (int64) with one or two dimensions."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"flat{ndim}.{dtype}")


@register_model(FlatType)
class _FlatModel(models.StructModel):
    def __init__(self, data_model_manager: Any, kind: FlatType) -> None:
        members = [
            ("data", types.CPointer(kind.dtype)),
            ("shape", types.UniTuple(types.int64, kind.ndim)),
        ]
        super().__init__(data_model_manager, kind, members)


make_attribute_wrapper(FlatType, "shape", "shape")


def flat(context: Any, builder: Any, kind: FlatType, data: Any, shape: list[Any]) -> Any:
    """The value of an array in compiled code."""
    array = cgutils.create_struct_proxy(kind)(context, builder)
    array.data, array.shape = data, cgutils.pack_array(builder, shape)
    return array._getvalue()


@unbox(FlatType)
def _unbox(kind: FlatType, value: Any, c: Any) -> NativeValue:
    whole = types.Array(kind.dtype, kind.ndim, "C")
    native = c.unbox(whole, value)
    array = c.context.make_array(whole)(c.context, c.builder, native.value)
    shape = cgutils.unpack_tuple(c.builder, array.shape)
    found = flat(c.context, c.builder, kind, array.data, shape)
    return NativeValue(found, is_error=native.is_error, cleanup=native.cleanup)


def _entry(kind: FlatType, index: Any) -> tuple[Any, Any] | None:
    """What an index gives, and the type that it is used as."""
    if isinstance(index, types.Integer):
        return (kind.dtype if kind.ndim == 1 else FlatType(kind.dtype, 1)), types.int64
    if isinstance(index, types.BaseTuple) and len(index) == kind.ndim == 2:
        return kind.dtype, types.UniTuple(types.int64, 2)
    if index == types.slice2_type and kind.ndim == 1:
        return kind, index
    return None


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        kind, index = args
        found = _entry(kind, index) if isinstance(kind, FlatType) else None
        return None if found is None else signature(found[0], kind, found[1])


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        kind, index, _ = args
        found = _entry(kind, index) if isinstance(kind, FlatType) else None
        if found is None or found[0] != kind.dtype:
            return None
        return signature(types.none, kind, found[1], kind.dtype)


def _place(context: Any, builder: Any, kind: FlatType, value: Any, index: list[Any]) -> Any:
    """The address of an entry, or of the first one of a row."""
    array = cgutils.create_struct_proxy(kind)(context, builder, value)
    offset = index[0]
    if kind.ndim == 2:
        width = builder.extract_value(array.shape, 1)
        offset = builder.mul(offset, width, flags=["nsw"])
        if len(index) == 2:
            offset = builder.add(offset, index[1], flags=["nsw"])
    return builder.gep(array.data, [offset], inbounds=True)


@lower_builtin(operator.getitem, FlatType, types.Integer)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, (value, index) = sig.args[0], args
    place = _place(context, builder, kind, value, [index])
    if kind.ndim == 1:
        return builder.load(place)
    array = cgutils.create_struct_proxy(kind)(context, builder, value)
    width = builder.extract_value(array.shape, 1)
    return flat(context, builder, sig.return_type, place, [width])


@lower_builtin(operator.getitem, FlatType, types.BaseTuple)
def _get_entry(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    index = cgutils.unpack_tuple(builder, args[1])
    return builder.load(_place(context, builder, sig.args[0], args[0], index))


@lower_builtin(operator.getitem, FlatType, types.SliceType)
def _get_part(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.args[0]
    array = cgutils.create_struct_proxy(kind)(context, builder, args[0])
    part = context.make_helper(builder, sig.args[1], args[1])
    length = builder.extract_value(array.shape, 0)
    within = builder.icmp_signed("<", part.stop, length)
    stop = builder.select(within, part.stop, length)
    data = builder.gep(array.data, [part.start], inbounds=True)
    return flat(context, builder, kind, data, [builder.sub(stop, part.start)])


@lower_builtin(operator.setitem, FlatType, types.Integer, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    value, index, entry = args
    builder.store(entry, _place(context, builder, sig.args[0], value, [index]))
    return context.get_dummy_value()


@lower_builtin(operator.setitem, FlatType, types.BaseTuple, types.Any)
def _set_entry(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    index = cgutils.unpack_tuple(builder, args[1])
    builder.store(args[2], _place(context, builder, sig.args[0], args[0], index))
    return context.get_dummy_value()
