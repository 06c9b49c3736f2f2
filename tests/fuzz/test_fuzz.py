"""A part of the inputs that `make fuzz` tries, and that the fuzzer finds what it looks for."""

import os
import time
from typing import Any

import pytest

from fuzz import functions
from fuzz.run import faults
from mislid.errors import MislidError, ProblemError

# The first input, and the one after the last.
INPUTS = range(*map(int, os.environ.get("MISLID_FUZZ_INPUTS", "0 1200").split()))


def test_no_input_ends_in_a_traceback_or_hangs() -> None:
    found = list(faults(INPUTS))
    assert not found, "\n".join(map(str, found))


def raises(problem: Exception) -> Any:
    def broken() -> None:
        raise problem

    return broken


def test_what_is_broken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {
        raises(KeyError("x")): "KeyError",
        raises(MislidError()): "MislidError without a word",
        lambda: time.sleep(5): "takes more than 1 seconds",
        raises(ProblemError("a word")): "",
    }
    calls = {str(n): lambda _, call=call: ("", call) for n, call in enumerate(expected)}
    monkeypatch.setattr(functions, "targets", lambda: calls)
    monkeypatch.setattr("fuzz.commands.targets", dict)
    found = [one.problem for one in faults(range(len(calls)), patience=1)]
    for problem, words in zip(found, filter(None, expected.values()), strict=True):
        assert words in problem
