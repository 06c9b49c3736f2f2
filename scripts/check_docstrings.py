"""Check the docstrings of what the package publishes: complete, and true to the signatures.

Public are the names in `__all__` of the package and of its subpackages, with the public methods and
properties of published classes. numpydoc judges the sections; what is required beyond: fields of
records are documented, and the functions of the package itself say what they raise and show an
example, which the tests run.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections import Counter
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
PROPERTIES = (property, cached_property)
# A property is described by its summary.
OF_PROPERTIES = {"GL08", "SS01"}
# Not part of the library: programs, which have --help and pages, and what serves other modules.
INTERNAL = {"cli", "experiments", "files"}


def public_packages(package: str) -> Iterator[ModuleType]:
    """Give a package and the packages in it that publish names."""
    root = importlib.import_module(package)
    if getattr(root, "__all__", None):
        yield root
    for found in pkgutil.iter_modules(root.__path__):
        if found.ispkg and not found.name.startswith("_") and found.name not in INTERNAL:
            yield from public_packages(f"{package}.{found.name}")


def public_objects(package: ModuleType) -> Iterator[tuple[str, Any]]:
    """Give the functions and classes that a package publishes, and what these have."""
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield f"{package.__name__}.{name}", value
            yield from public_members(f"{package.__name__}.{name}", value)


def public_members(name: str, owner: Any) -> Iterator[tuple[str, Any]]:
    """Give the methods and properties that a class has from the package.

    What overrides is documented by the base class.
    """
    if not inspect.isclass(owner):
        return
    members = own_members(owner)
    times = Counter(member for member, _ in members)
    for member, value in members:
        if times[member] == 1:
            yield f"{name}.{member}", value


def own_members(owner: type) -> list[tuple[str, Any]]:
    """Give the public methods and properties of a class and of its bases in the package."""
    package = owner.__module__.partition(".")[0]
    bases = [base for base in owner.__mro__ if base.__module__.partition(".")[0] == package]
    named = [(member, value) for base in bases for member, value in vars(base).items()]
    members = [(member, getattr(value, "__func__", value)) for member, value in named]
    return [
        (member, value)
        for member, value in members
        if not member.startswith("_") and isinstance(value, (FunctionType, *PROPERTIES))
    ]


def unique(objects: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    """Keep one name of what is published in several places: the first."""
    names: dict[int, tuple[str, Any]] = {}
    for name, value in objects:
        names.setdefault(id(value), (name, value))
    return dict(names.values())


class Docstring(Validator):
    """A docstring whose object may have arguments of its own use, with names like `_this`."""

    def __init__(self, obj_name: str) -> None:
        super().__init__(sections_of(self._load_obj(obj_name)))

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        """The arguments that a caller may use; a protocol is not called."""
        if getattr(self.obj, "_is_protocol", False):
            return ()
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
    required = OF_PROPERTIES if isinstance(value, PROPERTIES) else REQUIRED
    for code, message in validate(name, validator_cls=Docstring)["errors"]:
        # A record's fields may be documented as attributes instead.
        if code in required and not (record and code == "PR01"):
            yield f"{code} {message}"
    if record:
        yield from field_problems(value, record)
    if first and inspect.isfunction(value):
        yield from missing_sections(value)


def field_problems(record: type, names: set[str]) -> Iterator[str]:
    """Say which fields are not documented, and which documented attributes are none."""
    attributes = documented(record, "Attributes")
    bases = [base for base in record.__mro__ if fields(base)]
    known = {name for base in bases for name in documented(base, "Attributes")}
    if missing := sorted(names - known - documented(record, "Parameters")):
        yield f"fields {missing} are not documented"
    if unknown := sorted(name for name in attributes - names if not hasattr(record, name)):
        yield f"attributes {unknown} do not exist"


def documented(value: type, title: str) -> set[str]:
    """Give the names in a section of a class, such as its attributes."""
    entries = sections_of(value)[title]
    return {name.strip() for entry in entries for name in entry.name.split(",")}


def missing_sections(function: FunctionType) -> Iterator[str]:
    """Say which sections a function of the package itself lacks."""
    sections = sections_of(function)
    if not sections["Raises"]:
        yield "no Raises section"
    if not sections["Examples"]:
        yield "no Examples section"


def main(arguments: list[str]) -> int:
    """Check a package, or its names that begin with a prefix; 1 when anything is wrong."""
    prefix = arguments[0] if arguments else "mislid"
    package = importlib.import_module(prefix.partition(".")[0])
    first = [getattr(package, name) for name in package.__all__]
    packages = public_packages(package.__name__)
    objects = unique(found for each in packages for found in public_objects(each))
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
