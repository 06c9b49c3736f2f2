"""A part of the inputs that `make fuzz` tries, and that the fuzzer finds what it looks for."""

import random
import time
from typing import Any

import pytest

from fuzz import functions
from fuzz.run import faults
from mislid.errors import MislidError, ProblemError

INPUTS = 1_200


def test_no_input_ends_in_a_traceback_or_hangs() -> None:
    found = list(faults(range(INPUTS)))
    assert not found, "\n".join(
        f"{one.number}: {one.target}({one.words}): {one.problem}" for one in found
    )


def raises(problem: Exception) -> Any:
    def broken() -> None:
        raise problem

    return lambda _: ("", broken)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (raises(KeyError("x")), "KeyError"),
        (raises(ValueError("x")), "ValueError"),
        (raises(MislidError()), "MislidError without a word"),
        (lambda _: ("", lambda: time.sleep(5)), "takes more than 1 seconds"),
    ],
)
def test_what_is_broken_is_found(monkeypatch: pytest.MonkeyPatch, broken: Any, said: str) -> None:
    monkeypatch.setattr(functions, "targets", lambda: {"broken": broken})
    monkeypatch.setattr("fuzz.commands.targets", dict)
    (fault,) = faults(range(1), patience=1)
    assert fault.target == "broken"
    assert said in fault.problem


def test_refusals_are_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "targets", lambda: {"fine": raises(ProblemError("a word"))})
    monkeypatch.setattr("fuzz.commands.targets", dict)
    assert list(faults(range(3))) == []


def test_inputs_are_functions_of_their_numbers() -> None:
    for name, prepare in functions.targets().items():
        if name != "Study.optimize":  # whose words hold addresses
            assert prepare(random.Random(5))[0] == prepare(random.Random(5))[0], name
