"""Nasty values and strings."""

import datetime as dt
import math
import random
from typing import Any

import numpy as np


class Lying:
    """Looks like a number, a sequence and an array, and fails when used."""

    def __float__(self) -> float:
        raise ValueError("no number")

    def __index__(self) -> int:
        raise TypeError("no index")

    def __len__(self) -> int:
        return 3

    def __getitem__(self, at: Any) -> float:
        raise IndexError(at)


NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 1 << 31, 1 << 63, -(1 << 63), 10**30, 10**5000, -(10**400)),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -2.5, 5e-324, 1e-300, 1e-160, 1e-9, 1e9, 1e154, 1e300, -1e308),
    *(math.nan, math.inf, -math.inf, True, False, 1j, np.float32(0.1), np.int8(-1), np.bool_(True)),
    *(np.float64(math.nan), np.uint64(1 << 63), np.datetime64("2026-01-01"), np.longdouble(1)),
]  # fmt: skip

TEXTS = [
    *("", " ", "\0", "a\0b", "\ud800", "a\udcff", "\u202e", "x" * 5000, "1" * 5000, "-", "--"),
    *("nan", "inf", "-inf", "1e999", "0x10", "1_000", "\u0661", "1,5", "None", "True", "=1+1"),
    *("unknown", "guaranteed", "mislid", "../../x", "/", "/dev/null", ".", "a\nb", "\r\n", "%s%n"),
    *("{0}", "'; drop table x", "\u00fc", "99999999999999999999", "-1", "0", "1", "2", "0.5"),
    *("1e-300", "1e300", "1/0", "2/1", "a=b"),
]  # fmt: skip


def deep(depth: int) -> Any:
    value: Any = 1.0
    for _ in range(depth):
        value = [value]
    return value


ARRAYS: list[Any] = [
    *([], [[]], [[], []], [1, [2]], [[1, 2], [3]], [None], [None, 1], ["a", "b", "c"], [1, 2, 3]),
    *([[1, 0], [0, 1], [1, 1]], [math.nan] * 3, [math.inf, 0, 1], [1e300, 1e-300, 1], [1j, 2, 3]),
    *([0, 0, 0], [-1, 1, 1], [10**400, 1, 1], [5e-324] * 3, [1e308, 1e308, 1e308], deep(40), ()),
    *(np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((3, 2)), np.ones((2, 3, 4))),
    *(np.array(1.0), np.array(["a"]), np.array([None, 1.0]), np.zeros(3, "datetime64[s]")),
    *(np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]), np.zeros(3, [("a", "f8")]), {}),
    *(np.full(3, 5e-324), np.eye(3)[::-1, ::-2], np.ones(3, bool), np.arange(3, dtype=np.int8)),
]  # fmt: skip

OBJECTS: list[Any] = [
    *(None, object(), object, len, Lying(), lambda *_, **__: 1, {"a": 1}, {1, 2}, b"bytes"),
    *(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), Exception("x"), iter([1]), ..., range(3)),
]  # fmt: skip


def value(dice: random.Random) -> Any:
    """Any of these."""
    return dice.choice(dice.choice([NUMBERS, NUMBERS, TEXTS, ARRAYS, ARRAYS, OBJECTS]))


def numbers(dice: random.Random, shape: tuple[int, ...]) -> Any:
    """An array of the right shape with extreme numbers in it, some of them allowed."""
    extreme = [0.0, 1.0, -1.0, 5e-324, 1e-300, 1e-160, 1e-9, 1e9, 1e150, 1e300, -1e300, 1e308]
    found = np.array([dice.gauss(0, 1) for _ in range(math.prod(shape))])
    for at in range(found.size):
        if dice.random() < 0.4:
            found[at] = dice.choice(extreme)
    return found.reshape(shape)


def text(dice: random.Random) -> str:
    """A word of a command line, which has neither NUL nor, on most systems, half a surrogate."""
    return dice.choice(TEXTS).replace("\0", "").replace("\ud800", "\udc80")


def content(dice: random.Random, plain: bytes) -> bytes:
    """The bytes of a file after some accident."""
    kind = dice.randrange(6)
    at = dice.randrange(len(plain) + 1)
    if kind == 0:
        return plain[:at]
    if kind == 1:
        return plain[:at] + dice.choice(TEXTS).encode("utf-8", "surrogatepass") + plain[at:]
    if kind == 2:
        return plain.replace(b"1", dice.choice(TEXTS).encode("utf-8", "surrogatepass"))
    if kind == 3:
        changed = bytearray(plain)
        for _ in range(1 + dice.randrange(8)):
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        return bytes(changed)
    if kind == 4:
        return plain.replace(
            dice.choice([b",", b"\n", b".", b'"']), dice.choice([b";", b"\r", b"\t"])
        )
    return dice.randbytes(dice.randrange(200))
