"""What an engine remembers, as plain arrays."""

from __future__ import annotations

import numpy as np

from mislid._jit import Struct
from mislid.engine import Engine, EventBatch


def numbers_of(struct: Struct) -> list[np.ndarray]:
    """Copies of all numbers and arrays of a struct, and of those in it."""
    found = []
    for value in struct.fields().values():
        found += numbers_of(value) if isinstance(value, Struct) else [np.array(value)]
    return found


def memory_of(engine: Engine) -> list[np.ndarray]:
    """All numbers that the rules remember."""
    return numbers_of(engine._rules)


def proposal(engine: Engine, trial: int) -> int:
    """The arm of one more trial, with none open, as a study asks for it."""
    script = EventBatch()
    script.ask(trial, 1, ())
    return int(engine.follow(script)[1][0])


def assert_same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    """All of them equal to the last bit."""
    for mine, its in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, its)
