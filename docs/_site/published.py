"""What the package publishes, and the one page that each of these names has.

A name is published by the `__all__` of a published module: the package, the packages in it whose
docstrings are checked, and the modules that they publish as names. What several modules publish has
its page under the first of them.
"""

import ast
import importlib
import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from check_docstrings import public_modules


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


def modules(package: str = "mislid") -> list[ModuleType]:
    """Give the published modules of a package, itself first."""
    return sorted(public_modules(package), key=lambda module: module.__name__)


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
    """Give a file name that is new, also where capitals make no difference."""
    page = f"{module.__name__}/{name}"
    while page.casefold() in taken:
        page += "-"
    taken.add(page.casefold())
    return page


def home(name: Name) -> str:
    """Give the module that a published name is written in.

    Constants do not know it; what imports them does.
    """
    if name.kind != "data":
        return str(name.value.__module__)
    module = importlib.import_module(name.module)
    for statement in ast.walk(ast.parse(inspect.getsource(module))):
        imports = isinstance(statement, ast.ImportFrom)
        if imports and name.name in {alias.name for alias in statement.names}:
            return str(statement.module)
    return name.module
