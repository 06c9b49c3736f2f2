"""Check the docstrings of all public names: complete, and true to the signatures.

A module is public where no part of its name begins with an underscore; so are its functions and
classes, and their methods and properties. numpydoc judges the sections; what is required beyond:
fields of records are documented, functions of the package itself say what they raise and show an
example.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

# A docstring, a known order of sections, a summary, parameters with a description that match the
# signature, what is returned or yielded with a description. Types are in the annotations.
REQUIRED = {
    *("GL06", "GL07", "GL08", "SS01"),
    *("PR01", "PR02", "PR03", "PR07"),
    *("RT01", "RT03", "YD01"),
}
MEMBERS = (FunctionType, property, cached_property)
# Not part of the library: programs, which have --help and pages, and what serves other modules.
INTERNAL = {"cli", "demo", "experiments", "files"}


def public_modules(package: str) -> Iterator[ModuleType]:
    """Give a package and its public modules."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.iter_modules(root.__path__):
        if found.name.startswith("_") or found.name in INTERNAL:
            continue
        name = f"{package}.{found.name}"
        if found.ispkg:
            yield from public_modules(name)
        else:
            yield importlib.import_module(name)


def public_objects(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Give the functions and classes of a module, with their full names.

    Those are the ones it defines, and those that it publishes from private modules.
    """
    published = getattr(module, "__all__", ())
    for name in published or sorted(vars(module)):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        private = any(part.startswith("_") for part in home.split("."))
        if home == module.__name__ or (published and private):
            yield f"{module.__name__}.{name}", value
            yield from public_members(f"{module.__name__}.{name}", value)


def public_members(name: str, owner: Any) -> Iterator[tuple[str, Any]]:
    """Give the methods and properties that a class itself defines."""
    if not inspect.isclass(owner):
        return
    inherited = {member for base in owner.__mro__[1:] for member in vars(base)}
    for member, value in vars(owner).items():
        value = getattr(value, "__func__", value)
        if member.startswith("_") or not isinstance(value, MEMBERS):
            continue
        # What a base class documents may be left to it.
        if value.__doc__ or member not in inherited:
            yield f"{name}.{member}", value


class Docstring(Validator):
    """A docstring whose object may have arguments of its own use, with names like `_this`."""

    def __init__(self, obj_name: str) -> None:
        super().__init__(sections_of(self._load_obj(obj_name)))

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        """The arguments that a caller may use."""
        return tuple(name for name in super().signature_parameters if not name.startswith("_"))


def sections_of(value: Any) -> Any:
    """Give the sections as they are written; numpydoc would fill some from the class."""
    return get_doc_object(value, config={"show_class_members": False})


def fields(value: Any) -> set[str]:
    """Give the public fields of a record; anything else has none."""
    if not inspect.isclass(value):
        return set()
    names = getattr(value, "_fields", ())
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    return {name for name in names if not name.startswith("_")}


def problems(name: str, value: Any, first: bool) -> Iterator[str]:
    """Say what is wrong with the docstring of one object; more is asked of the first names."""
    record = fields(value)
    for code, message in validate(name, validator_cls=Docstring)["errors"]:
        # A record's fields may be documented as attributes instead.
        if code in REQUIRED and not (record and code == "PR01"):
            yield f"{code} {message}"
    if record:
        yield from field_problems(value, record)
    if first:
        yield from missing_sections(value)


def field_problems(record: type, names: set[str]) -> Iterator[str]:
    """Say which fields are not documented, and which documented attributes are none."""
    sections = sections_of(record)
    attributes, parameters = (
        {name.strip() for entry in sections[title] for name in entry.name.split(",")}
        for title in ("Attributes", "Parameters")
    )
    if missing := sorted(names - attributes - parameters):
        yield f"fields {missing} are not documented"
    if unknown := sorted(name for name in attributes - names if not hasattr(record, name)):
        yield f"attributes {unknown} do not exist"


def missing_sections(value: Any) -> Iterator[str]:
    """Say which sections a name of the package itself lacks."""
    sections = sections_of(value)
    if inspect.isfunction(value) and not sections["Raises"]:
        yield "no Raises section"
    if not sections["Examples"]:
        yield "no Examples section"


def main(arguments: list[str]) -> int:
    """Check a package, or its names that begin with a prefix; 1 when anything is wrong."""
    prefix = arguments[0] if arguments else "mislid"
    package = importlib.import_module(prefix.partition(".")[0])
    first = [getattr(package, name) for name in package.__all__]
    modules = public_modules(package.__name__)
    objects = dict(found for module in modules for found in public_objects(module))
    chosen = {name: value for name, value in objects.items() if name.startswith(prefix)}
    found = [
        f"{name}: {problem}"
        for name, value in chosen.items()
        for problem in problems(name, value, value in first)
    ]
    print("\n".join([*found, f"{len(chosen)} public names, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
