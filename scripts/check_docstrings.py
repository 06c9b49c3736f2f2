"""Check the docstrings of what the package publishes: complete, and true to the signatures.

Public are the names in `__all__` of the package, of its subpackages and of the modules that these
publish, with the public methods and properties of published classes. numpydoc judges the sections;
what is required beyond: fields of records are documented; what takes arguments says which errors it
raises; every function and method is shown in an example, which the tests run, its own or that of
its class; and the classes of what they return are public, too.
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Collection, Iterator
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
INTERNAL = {"cli", "files"}
# They take arguments and look at none of them: what Python itself makes of wrong ones is not ours.
UNCHECKED = {
    *("Case.published_key", "Method.options", "Method.runs_of", "Result.of"),
    *("Candidates.called", "Candidates.of"),
    *("Settings.budget_left", "Settings.deviations", "Settings.of"),
    *("Processes.shutdown", "SamplingRuleSuite.allows", "name_taken_error"),
}
# What pytest calls in a suite of tests: its name and a sentence say it all.
OF_PYTEST = ("test_", "setup_method", "teardown_method")


def public_packages(package: str) -> Iterator[ModuleType]:
    """Give a package and the packages in it that publish names."""
    root = importlib.import_module(package)
    if getattr(root, "__all__", None):
        yield root
    for found in pkgutil.iter_modules(root.__path__):
        if found.ispkg and not found.name.startswith("_") and found.name not in INTERNAL:
            yield from public_packages(f"{package}.{found.name}")


def public_modules(package: str) -> list[ModuleType]:
    """Give the public packages and the modules that they publish as names."""
    packages = list(public_packages(package))
    named = [getattr(each, name) for each in packages for name in each.__all__]
    return list(dict.fromkeys([*packages, *filter(inspect.ismodule, named)]))


def public_objects(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Give the functions and classes that a module publishes, and what these have."""
    for name in getattr(module, "__all__", ()):
        value = inspect.unwrap(getattr(module, name))  # such as one with a cache
        if inspect.isclass(value) or inspect.isfunction(value):
            yield f"{module.__name__}.{name}", value
            yield from public_members(f"{module.__name__}.{name}", value)


def public_members(name: str, owner: Any) -> Iterator[tuple[str, Any]]:
    """Give the methods and properties that a class has from the package.

    What overrides without a docstring, and takes the same, is documented by the class that it is
    from, as `help` has it.
    """
    if not inspect.isclass(owner):
        return
    members: dict[str, Any] = {}
    for member, value in own_members(owner):
        first = members.get(member)
        if first is None or (first.__doc__ is None and takes(first) == takes(value)):
            members[member] = value
    for member, value in members.items():
        yield f"{name}.{member}", value


def takes(value: Any) -> list[str]:
    """Give the names of what a method takes; a property takes nothing."""
    return [] if isinstance(value, PROPERTIES) else list(inspect.signature(value).parameters)


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


def place_of(value: Any) -> str:
    """Give the name of an object by which numpydoc finds it: where it is written."""
    written = written_as(value)
    return f"{written.__module__}.{written.__qualname__}"


def written_as(value: Any) -> Any:
    """Give the function of a property; anything else is itself."""
    return getattr(value, "fget", None) or getattr(value, "func", value)


def problems(value: Any, owner: Any) -> Iterator[str]:
    """Say what is wrong with the docstring of one object, which its owner may publish."""
    record = fields(value)
    required = OF_PROPERTIES if isinstance(value, PROPERTIES) else REQUIRED
    for code, message in validate(place_of(value), validator_cls=Docstring)["errors"]:
        # A record's fields may be documented as attributes instead.
        if code in required and not (record and code == "PR01"):
            yield f"{code} {message}"
    if record:
        yield from field_problems(value, record)
    if inspect.isfunction(value) and not value.__name__.startswith(OF_PYTEST):
        yield from missing_sections(value, owner)


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


def missing_sections(function: FunctionType, owner: Any) -> Iterator[str]:
    """Say which sections a function lacks, of those that numpydoc does not ask for."""
    sections = sections_of(function)
    of_protocol = getattr(owner, "_is_protocol", False)
    if not sections["Raises"] and not of_protocol and may_raise(function):
        yield "no Raises section"
    if not sections["Examples"] and not is_shown(function.__name__, owner):
        yield "no Examples section"


def may_raise(function: FunctionType) -> bool:
    """Whether a function has arguments, which may be wrong, or raises something by itself."""
    source = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = [ast.unparse(node) for node in ast.walk(source) if isinstance(node, ast.Raise)]
    if function.__qualname__ in UNCHECKED:
        return False
    if len(raised) == 1 and raised[0].startswith("raise NotImplementedError"):
        return False  # for others to write
    names = set(inspect.signature(function).parameters) - {"self", "cls"}
    return bool(raised) or any(not name.startswith("_") for name in names)


def is_shown(method: str, owner: Any) -> bool:
    """Whether the example of a class calls a method, or writes one that is to be overridden."""
    if not inspect.isclass(owner):
        return False
    bases = [base for base in owner.__mro__ if base.__doc__ and base is not object]
    lines = [line for base in bases for line in sections_of(base)["Examples"]]
    return any(f".{method}(" in line or f"def {method}(" in line for line in lines)


def hidden_results(value: Any, public: Collection[Any]) -> Iterator[str]:
    """Say which classes of the package a function or property gives that are not public."""
    written = written_as(value)
    if not inspect.isfunction(written):
        return
    for name in re.findall(r"\w+", str(written.__annotations__.get("return"))):
        found = imported(name, written)
        if inspect.isclass(found) and is_own(found, written) and found not in public:
            yield f"returns {name}, which is not public"


def imported(name: str, function: FunctionType) -> Any:
    """Give what a name means in the module of a function, also one that only types need."""
    if name in function.__globals__:
        return function.__globals__[name]
    module = sys.modules[function.__module__]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return getattr(importlib.import_module(str(node.module)), name)
    return None


def is_own(found: type, function: FunctionType) -> bool:
    """Whether a class is of the same package as a function."""
    return found.__module__.partition(".")[0] == function.__module__.partition(".")[0]


def main(arguments: list[str]) -> int:
    """Check a package, or its names that begin with a prefix; 1 when anything is wrong."""
    prefix = arguments[0] if arguments else "mislid"
    package = importlib.import_module(prefix.partition(".")[0])
    modules = public_modules(package.__name__)
    objects = unique(found for each in modules for found in public_objects(each))
    chosen = {name: value for name, value in objects.items() if name.startswith(prefix)}
    found = [
        f"{name}: {problem}"
        for name, value in chosen.items()
        for problem in (
            *problems(value, objects.get(name.rpartition(".")[0])),
            *hidden_results(value, objects.values()),
        )
    ]
    print("\n".join([*found, f"{len(chosen)} public names, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
