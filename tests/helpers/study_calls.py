"""Calls of `mislid study` in tests: candidates, a question about them, and results."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

COMPOUNDS = "compound,mass,charge\nA12,1,0\nB07,0,1\nC33,1,1\nD01,0.5,0.5\n"
POTENCY = {"A12": 0.3, "B07": 0.5, "C33": 0.9, "D01": 0.4}


class Done(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


Call = Callable[..., Done]


def question(stopping: str = "guaranteed") -> Sequence[object]:
    return (
        *("--candidates", "compounds.csv", "--m", 1, "--misspecification", 0.2),
        *("--noise", 0.1, "--stopping", stopping, "--no-intercept"),
    )


def printed(done: Done) -> list[str]:
    """What a command that went well printed."""
    assert (done.status, done.err) == (0, "")
    return done.out.splitlines()


def refused(done: Done, status: int, *parts: str) -> None:
    assert done.status == status, done
    assert done.out == ""
    assert "Traceback" not in done.err
    assert done.err.strip().splitlines()[-1].startswith("Error: ")
    for part in parts:
        assert part in done.err
