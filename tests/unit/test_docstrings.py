"""Docstrings of published names: complete, and true to the signatures."""

import importlib
import inspect

import pytest
from numpydoc.validate import validate

PACKAGES = [
    "mislid",
    "mislid.algorithms",
    "mislid.engine",
    "mislid.paper.representation",
    "mislid.plotting",
    "mislid.report",
    "mislid.simulation",
    "mislid.stopping",
    "mislid.study",
    "mislid.study.storage",
    "mislid.testing",
]
# A summary, known sections in their order, described parameters that match the signature, what
# is returned or yielded.
REQUIRED = {"GL06", "GL07", "GL08", "SS01", "PR02", "PR03", "PR07", "RT01", "RT03", "YD01"}


def published(package):
    """Names of functions, classes and their methods, where they are defined."""
    module = importlib.import_module(package)
    for name in module.__all__:
        value = inspect.unwrap(getattr(module, name))
        if inspect.isfunction(value) or inspect.isclass(value):
            yield f"{value.__module__}.{value.__qualname__}"
        if inspect.isclass(value):
            for member, method in vars(value).items():
                overrides = method.__doc__ is None and hasattr(value.__mro__[1], member)
                if not (member.startswith("_") or overrides) and inspect.isfunction(method):
                    yield f"{value.__module__}.{method.__qualname__}"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_complete(package):
    found = {
        name: [message for code, message in validate(name)["errors"] if code in REQUIRED]
        for name in published(package)
    }
    assert found
    assert {name: messages for name, messages in found.items() if messages} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_are_shown_in_an_example(package):
    module = importlib.import_module(package)
    functions = [getattr(module, name) for name in module.__all__]
    shown = {f.__name__: ">>>" in (f.__doc__ or "") for f in functions if inspect.isfunction(f)}
    assert [name for name, has_example in shown.items() if not has_example] == []
