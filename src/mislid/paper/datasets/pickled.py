"""What a pickle of plain values and arrays says, read without unpickling it.

A pickle is a program, and `pickle` runs it: even one that may only make arrays can bring the
process down with a shape that does not fit. Here its instructions are looked at one by one, and
those that the published files consist of build lists, dicts and checked arrays; nothing is called.
"""

from __future__ import annotations

import pickletools
from typing import Any

import numpy as np
import numpy.typing as npt

from mislid.errors import FileFormatError

_FUNCTIONS = ("_reconstruct", "dtype")
_CLASSES = ("ndarray", "matrix")
# What array entries may be: floats and integers, the lowest byte first.
_ENTRIES = ("f4", "f8", "i4", "i8")

_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = (
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES"),
)
_EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def pickled_values(content: bytes) -> dict[str, Any]:
    """Give the dict in a pickle of plain values and NumPy arrays of numbers; refuses others.

    Examples
    --------
    >>> import pickle
    >>> pickled_values(pickle.dumps({"scores": [0.5, 1.0], "X": np.eye(1)}))
    {'scores': [0.5, 1.0], 'X': array([[1.]])}
    >>> pickled_values(pickle.dumps({"X": print}))
    Traceback (most recent call last):
    ...
    mislid.errors.FileFormatError: the pickled instance cannot be read: it asks for builtins.print
    """
    reader = _Reader()
    try:
        for instruction, argument, _ in pickletools.genops(content):
            reader.follow(instruction.name, argument)
        found = reader.stack.pop()
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        raise FileFormatError(f"the pickled instance cannot be read: {problem}") from None
    if not isinstance(found, dict):
        raise FileFormatError(f"the pickled instance must be a dict; got {type(found).__name__}")
    return {key: _plain(value) for key, value in found.items()}


class _Mark:
    """Where the entries of a list, dict or tuple begin on the stack."""


class _Name(str):
    """A function or class that the pickle asks for."""

    __slots__ = ()


class _Entries:
    """The type of an array's entries."""

    def __init__(self, code: Any) -> None:
        if code not in _ENTRIES:
            raise ValueError("entries of arrays must be numbers")
        self.code = f"<{code}"

    def build(self, state: Any) -> None:
        if state[1] not in ("<", "|"):
            raise ValueError("entries of arrays must have their lowest byte first")


class _Array:
    """An array, which is known when its state has come."""

    values: npt.NDArray[Any] | None = None

    def build(self, state: Any) -> None:
        _, shape, entries, by_columns, data = state
        flat = np.frombuffer(data, dtype=entries.code)
        # A size of -1 would be worked out.
        if any(size < 0 for size in shape):
            raise ValueError("arrays must have sizes of at least 0")
        self.values = flat.reshape(shape, order="F" if by_columns else "C")


class _Reader:
    """A stack and a memory, as the instructions of a pickle use them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memory: dict[int, Any] = {}

    def follow(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _VALUES:
            self.stack.append(argument)
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self.stack.append(tuple(self._taken(_TUPLES[name])))
        elif name not in ("PROTO", "FRAME", "STOP"):
            self._do(name, argument)

    def _do(self, name: str, argument: Any) -> None:
        match name:
            case "MARK":
                self.stack.append(_Mark())
            case "TUPLE":
                self.stack.append(tuple(self._marked()))
            case "APPEND":
                self._extend(self._taken(1))
            case "APPENDS":
                self._extend(self._marked())
            case "SETITEM":
                self._update(self._taken(2))
            case "SETITEMS":
                self._update(self._marked())
            case "MEMOIZE":
                self._memory[len(self._memory)] = self.stack[-1]
            case "BINPUT" | "LONG_BINPUT":
                self._memory[argument] = self.stack[-1]
            case "BINGET" | "LONG_BINGET":
                self.stack.append(self._memory[argument])
            case "GLOBAL":
                self._name(*argument.split(" "))
            case "STACK_GLOBAL":
                self._name(*self._taken(2))
            case "REDUCE":
                self._make(*self._taken(2))
            case "BUILD":
                (state,) = self._taken(1)
                self._top(_Array | _Entries).build(state)
            case _:
                raise ValueError(f"it has an instruction {name}")

    def _taken(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("it takes what is not there")
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def _marked(self) -> list[Any]:
        marks = (at for at in reversed(range(len(self.stack))) if type(self.stack[at]) is _Mark)
        at = next(marks, None)
        if at is None:
            raise ValueError("it takes what is not there")
        taken = self.stack[at + 1 :]
        del self.stack[at:]
        return taken

    def _top(self, kind: Any) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise ValueError(f"it adds to {type(self.stack[-1]).__name__}")
        return self.stack[-1]

    def _extend(self, entries: list[Any]) -> None:
        self._top(list).extend(entries)

    def _update(self, entries: list[Any]) -> None:
        # Deep tuples as keys would have no end of a stack to be hashed on.
        if not all(isinstance(key, str) for key in entries[::2]):
            raise ValueError("keys of a dict must be texts")
        self._top(dict).update(zip(entries[::2], entries[1::2], strict=True))

    def _name(self, module: str, name: str) -> None:
        if module.partition(".")[0] != "numpy" or name not in (*_FUNCTIONS, *_CLASSES):
            raise ValueError(f"it asks for {module}.{name}")
        self.stack.append(_Name(name))

    def _make(self, function: Any, arguments: Any) -> None:
        if not isinstance(function, _Name) or function not in _FUNCTIONS:
            raise ValueError("it calls what is no function")
        self.stack.append(_Array() if function == "_reconstruct" else _Entries(arguments[0]))


def _plain(value: Any) -> Any:
    if not isinstance(value, _Array):
        return value
    if value.values is None:
        raise FileFormatError("the pickled instance cannot be read: an array has no entries")
    return value.values
