"""What the suites share: tests that need no test runner, though pytest runs them too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mislid.engine import Engine, View

# Correct parts fail a statistical test with at most this probability.
LEVEL = 1e-4


class Suite:
    """Tests of one part: the methods whose names begin with `test_`.

    Each test gets an object of its own, between `setup_method` and `teardown_method`, as in pytest.
    """

    def setup_method(self) -> None:
        """Prepare one test."""

    def teardown_method(self) -> None:
        """Clean up after it."""

    @classmethod
    def list_tests(cls) -> list[str]:
        """The names of the tests.

        Returns
        -------
        list of str
            In the order of the source.
        """
        classes = reversed(cls.__mro__)
        names = (name for owner in classes for name in vars(owner) if name.startswith("test_"))
        return list(dict.fromkeys(names))

    @classmethod
    def failures(cls) -> dict[str, Exception]:
        """Run all tests.

        Returns
        -------
        dict
            What went wrong, by the name of the test; empty where nothing did.
        """
        found = {}
        for name in cls.list_tests():
            try:
                cls._run(name)
            except Exception as problem:  # noqa: BLE001 - whatever fails, the others are run too
                found[name] = problem
        return found

    @classmethod
    def _run(cls, name: str) -> None:
        suite = cls()
        suite.setup_method()
        try:
            getattr(suite, name)()
        finally:
            suite.teardown_method()

    @classmethod
    def check(cls) -> str:
        """Run all tests.

        Returns
        -------
        str
            How many passed.

        Raises
        ------
        AssertionError
            If any failed; the message has one line for each.
        """
        failures = cls.failures()
        if failures:
            lines = (
                f"{name}: {type(problem).__name__}: {problem}" for name, problem in failures.items()
            )
            raise AssertionError("\n".join(lines))
        return f"{len(cls.list_tests())} tests passed"


def require(condition: object, message: str) -> None:
    """Fail unless the condition holds; also where Python ignores `assert`."""
    if not condition:
        raise AssertionError(message)


def require_equal(found: Any, expected: Any, what: str) -> None:
    """Fail unless both are equal."""
    require(found == expected, f"{what} must be {expected!r}; got {found!r}")


@contextmanager
def required_error(kind: type[Exception], part: str = "") -> Iterator[None]:
    """Fail unless the block raises an error of this kind."""
    try:
        yield
    except kind as problem:
        require(part in str(problem), f"{kind.__name__} must say {part!r}; it says {problem}")
    else:
        require(False, f"{kind.__name__} must be raised, and was not")


@contextmanager
def global_randomness(seed: int) -> Iterator[None]:
    """Seed the generators that a whole process shares, and put them back at the end."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - rules may use it, though they should not
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def unchanged_data(engine: Engine, what: str) -> Iterator[View]:
    """Fail if the block changes what was measured."""
    view, names = engine.view(), ("counts", "means", "estimate")
    before = {name: getattr(view, name).tolist() for name in names}
    yield view
    for place, after in (("the view", view), ("the engine", engine.view())):
        for name in names:
            require_equal(getattr(after, name).tolist(), before[name], f"{name} of {place} {what}")
