"""What a compiled function is made of: all that it refers to, in whatever files that is.

A digest of the code of every function below it, of the values of their global constants, and of
the files where these functions are. Code and values are those of this process, which are compiled,
even if a file was edited since it was imported; files say what else there is, such as decorators.

Not followed: the standard library, numba and numpy, and the kernels of the package, which all have
one stamp. What numba is told elsewhere of a type or of a function, by `overload`, cannot be seen.
"""

from __future__ import annotations

import dis
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = __name__.partition(".")[0]
_COMPILERS = {"llvmlite", "numba", "numpy"}
_LIBRARY = str(Path(os.__file__).parent)
# Where kernels, parts of kernels and intrinsics have their functions.
_HOLDERS = ("function", "py_func", "_defn")
_NONE = object()
_BY_NAME = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_WORD = re.compile(r"[^\W\d]\w*")


def digest_of(function: Callable[..., Any]) -> str:
    """A digest of a function and of all that it refers to, however far below."""
    walk = _Walk()
    walk.add(function)
    return walk.digest.hexdigest()


def _is_known(module: object, file: str | None = None) -> bool:
    name = str(module)
    first = name.partition(".")[0]
    if first in sys.stdlib_module_names:
        # A file of the user's may have the name of one of Python's.
        file = file or getattr(sys.modules.get(first), "__file__", None)
        return file is None or file.startswith(_LIBRARY)
    return first in _COMPILERS or name == _PACKAGE or name.startswith(f"{_PACKAGE}.")


def _held(value: Any) -> FunctionType | None:
    """The function of an object that stands for one."""
    content = getattr(value, "__dict__", {})
    found = [content.get(name) for name in _HOLDERS]
    found.append(getattr(value, "_dispatcher", None))  # of `vectorize`, which has no __dict__
    if isinstance(value, staticmethod):
        found.append(value.__func__)
    for one in found:
        function = one if one is None or isinstance(one, FunctionType) else _held(one)
        if function is not None:
            return function
    return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """It and those of the functions inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals_of(code: CodeType) -> list[str]:
    """The global names that are looked up; `co_names` has attributes as well."""
    steps = (step for part in _codes(code) for step in dis.get_instructions(part))
    return list(dict.fromkeys(step.argval for step in steps if step.opname in _BY_NAME))


def _attribute(owner: Any, name: str) -> Any:
    """That of a module or class, if it has one; a module may make some when they are asked for."""
    if name in vars(owner) or "__getattr__" not in vars(owner) or isinstance(owner, type):
        return vars(owner).get(name, _NONE)
    try:
        return getattr(owner, name)
    except Exception:  # noqa: BLE001 - it is the name of something else
        return _NONE


class _Walk:
    """All that was found so far; what is met again is only named, so that circles end."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        # With the objects themselves, lest another get the number of one that is gone.
        self._met: dict[Any, tuple[int, Any]] = {}

    def _note(self, *words: object) -> None:
        self.digest.update(f"{words!r}\n".encode(errors="backslashreplace"))

    def _is_new(self, value: Any, *names: str) -> bool:
        known = self._met.get((id(value), names))
        if known is not None:
            self._note("again", known[0])
            return False
        self._met[id(value), names] = len(self._met), value
        return True

    def add(self, value: Any, names: tuple[str, ...] = ()) -> None:
        """Note a value; `names` are the attributes of it that may be asked for."""
        if isinstance(value, ModuleType):
            self._add_module(value, names)
        elif isinstance(value, type):
            self._add_class(value, names)
        elif isinstance(value, CodeType):
            self._add_code(value)
        elif isinstance(value, np.ndarray | np.generic):
            self._note(value.dtype, value.shape, value.tobytes())
        elif isinstance(value, tuple | list | dict | set | frozenset):
            self._add_container(value)
        else:
            self._add_object(value)

    def _add_container(self, value: Any) -> None:
        # Python may share equal tuples or not; only the others can hold themselves.
        if not isinstance(value, tuple | frozenset) and not self._is_new(value):
            return
        self._note(type(value).__name__, len(value))
        if hasattr(value, "_fields"):  # positions have names
            self._note(type(value)._fields)
            self._add_class(type(value), ())
        parts = value.items() if isinstance(value, dict) else value
        for part in sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts:
            self.add(part)

    def _add_object(self, value: Any) -> None:
        """A function, or what stands for one; else what its class and its description tell."""
        function = value if isinstance(value, FunctionType) else _held(value)
        if function is not None:
            self._add_function(function)
            self.add(getattr(value, "targetoptions", None))
            return
        self._note(_ADDRESS.sub("", repr(value)))
        self._add_class(type(value), ())

    def _add_file(self, file: str) -> None:
        try:
            content = Path(file).read_bytes()
        except OSError:  # typed in by hand, or in an archive: there is the code itself
            return
        self._note(hashlib.sha256(content).hexdigest())

    def _add_module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        self._note("module", module.__name__)
        if not _is_known(module.__name__) and self._is_new(module, *names):
            self._add_file(getattr(module, "__file__", None) or "")
            self._add_attributes(module, names)

    def _add_class(self, kind: type, names: tuple[str, ...]) -> None:
        self._note("class", kind.__module__, kind.__qualname__)
        if _is_known(kind.__module__) or not self._is_new(kind, *names):
            return
        scope = getattr(sys.modules.get(kind.__module__), "__dict__", {})
        self._add_file(scope.get("__file__") or "")
        self._add_annotations(kind, scope)
        self._add_attributes(kind, names)
        for base in kind.__bases__:
            self.add(base, names)

    def _add_attributes(self, owner: Any, names: tuple[str, ...]) -> None:
        """Of `owner.part.value` the names are at hand, not their order: any may follow any."""
        for name in names:
            found = _attribute(owner, name)
            if found is not _NONE:
                self._note("attribute", name)
                self.add(found, names)

    def _add_annotations(self, owner: Any, scope: dict[str, Any]) -> None:
        """Types of arguments and fields: where they are texts, whatever these name."""
        for name, annotation in getattr(owner, "__annotations__", {}).items():
            self._note("annotation", name)
            self.add(annotation)
            words = tuple(_WORD.findall(annotation)) if isinstance(annotation, str) else ()
            for word in words:
                if word in scope:
                    self.add(scope[word], words)

    def _add_function(self, function: FunctionType) -> None:
        if not self._is_new(function):
            return
        # Not `__module__`, which a decorator may have copied from another function.
        module = function.__globals__.get("__name__")
        self._note("function", module, function.__qualname__)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        names = tuple(name for code in _codes(function.__code__) for name in code.co_names)
        for cell in function.__closure__ or ():
            self._add_cell(cell, names)
        if _is_known(module, function.__globals__.get("__file__")):
            return
        self.add(function.__code__)
        self._add_file(function.__code__.co_filename)
        self._add_annotations(function, function.__globals__)
        for name in _globals_of(function.__code__):
            if name in function.__globals__:
                self._note("global", name)
                self.add(function.__globals__[name], names)

    def _add_cell(self, cell: CellType, names: tuple[str, ...]) -> None:
        try:
            content = cell.cell_contents
        except ValueError:  # of what is defined later
            return
        self.add(content, names)

    def _add_code(self, code: CodeType) -> None:
        variables = (code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount)
        self._note(code.co_code, code.co_exceptiontable, code.co_flags, code.co_names, variables)
        self.add(code.co_consts)
