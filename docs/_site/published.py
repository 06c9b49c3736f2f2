"""What the package publishes, and the one page that each of these names has.

A name is published by the `__all__` of a published module. These are the package, its packages that
are neither private nor programs, and the modules that are published names themselves. What several
modules publish has its page under the first of them.
"""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

# Programs, which have pages of their own, and what serves other modules.
INTERNAL = {"cli", "files"}
MEMBERS = (FunctionType, property, cached_property)


@dataclass(frozen=True, eq=False)
class Name:
    """A published function, class or constant."""

    module: str
    name: str
    value: Any
    page: str

    @property
    def full(self) -> str:
        """The name with its module."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """What it is: function, class, exception or data."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if callable(self.value) else "data"


def modules(name: str = "mislid") -> Iterator[ModuleType]:
    """Give the published modules of a package, itself first."""
    found = importlib.import_module(name)
    yield found
    for each in inside(found):
        yield from modules(f"{name}.{each}")


def inside(module: ModuleType) -> list[str]:
    """Give the modules that a module publishes."""
    named = {each for each in listed(module) if inspect.ismodule(getattr(module, each))}
    packages = {
        each.name
        for each in pkgutil.iter_modules(getattr(module, "__path__", ()))
        if each.ispkg and not each.name.startswith("_")
    }
    hidden = {each for each in packages if not publishes(f"{module.__name__}.{each}")}
    return sorted((named | packages - hidden) - INTERNAL)


def publishes(name: str) -> bool:
    """Whether a module has published names."""
    return bool(listed(importlib.import_module(name)))


def listed(module: ModuleType) -> list[str]:
    """Give the names in `__all__`, in their order."""
    return list(getattr(module, "__all__", ()))


def names(module: ModuleType) -> dict[str, Any]:
    """Give what a module publishes but for modules, by name."""
    found = {each: getattr(module, each) for each in listed(module)}
    return {each: value for each, value in found.items() if not inspect.ismodule(value)}


def catalogue(package: str = "mislid") -> dict[str, Name]:
    """Give every published name, with its module, and what has its page."""
    found: dict[str, Name] = {}
    homes: dict[int, Name] = {}
    pages: set[str] = set()
    for module in modules(package):
        for each, value in names(module).items():
            known = homes.get(id(value))
            if known is None or known.name != each:
                known = Name(module.__name__, each, value, new_page(module, each, pages))
                homes[id(value)] = known
            found[f"{module.__name__}.{each}"] = known
    return found


def new_page(module: ModuleType, name: str, taken: set[str]) -> str:
    """Give a file name that differs from others by more than capitals, which some systems ignore."""
    page = f"{module.__name__}/{name}"
    while page.casefold() in taken:
        page += "-"
    taken.add(page.casefold())
    return page


def members(owner: type) -> list[str]:
    """Give the public methods and properties that a class has from the package, as written."""
    package = owner.__module__.partition(".")[0]
    bases = [base for base in owner.__mro__ if base.__module__.partition(".")[0] == package]
    found = [
        each
        for base in bases
        for each, value in vars(base).items()
        if not each.startswith("_") and isinstance(getattr(value, "__func__", value), MEMBERS)
    ]
    return list(dict.fromkeys(found))


def home(name: Name) -> str:
    """Give the module that a published name is written in.

    Constants do not know it; what imports them does.
    """
    if name.kind != "data":
        return str(name.value.__module__)
    module = importlib.import_module(name.module)
    for statement in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            if name.name in {alias.name for alias in statement.names}:
                return statement.module
    return name.module
