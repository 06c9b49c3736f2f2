"""The file: bounded before it is parsed, and read entry by entry.

An entry carries its name, so that a failure can say in one sentence which entry is wrong.
"""

from __future__ import annotations

import json
import os
import reprlib
import stat
import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arms = NDArray[np.int64]
Label = str | int

# What a file may have at most: bytes, depth, digits in a row, commas, and lists or objects.
MOST_BYTES, MOST_DEPTH, MOST_DIGITS = 1 << 26, 16, 1000
MOST_COMMAS, MOST_OPENED = 5_000_000, 500_000
# What a list may have, and how large and how small numbers may be.
MOST_ENTRIES, LARGEST, SMALLEST = 500_000, 1e75, 1e-75
# What a text may have, and how much of one is printed.
MOST_LETTERS, MOST_PRINTED = 200, 60
CHUNK = 1 << 20


class Failure(Exception):
    """Something that does not hold."""


def shown(value: Any) -> str:
    """A value in one short line without control characters."""
    if isinstance(value, int) and abs(value) > 10**18:
        return "a large integer"
    text = repr(value[:MOST_PRINTED]) if isinstance(value, str) else reprlib.repr(value)
    return text if len(text) <= MOST_PRINTED else text[: MOST_PRINTED - 3] + "..."


class Value:
    """A value of the file and its name there."""

    def __init__(self, given: Any, name: str) -> None:
        self.given, self.name = given, name

    def fail(self, wanted: str) -> Failure:
        """What to raise where the value is not what was wanted."""
        return Failure(f"{self.name} must be {wanted}; got {shown(self.given)}")

    @property
    def absent(self) -> bool:
        """Whether the value is null."""
        return self.given is None

    def parts(self, *keys: str) -> dict[str, Value]:
        """The entries of an object that has these keys and no others."""
        if not isinstance(self.given, Mapping):
            raise self.fail("an object")
        within = f"{self.name}." if self.name != "certificate" else ""
        for key in keys:
            if key not in self.given:
                raise Failure(f"{within}{key} is missing")
        for key in self.given:
            if key not in keys:
                raise Failure(f"{self.name} must have no entry {shown(key)}")
        return {key: Value(self.given[key], f"{within}{key}") for key in keys}

    def kind(self, *allowed: str) -> str:
        """The entry `kind` of an object."""
        if not isinstance(self.given, Mapping) or "kind" not in self.given:
            raise self.fail("an object with a kind")
        return Value(self.given["kind"], f"{self.name}.kind").text(*allowed)

    def plain(self, size: int | None = None) -> list[Any]:
        """A list, of a certain length if given."""
        if not isinstance(self.given, list | tuple):
            raise self.fail("a list")
        found = len(self.given)
        if found > MOST_ENTRIES or (size is not None and found != size):
            wanted = f"{size}" if size is not None else f"at most {MOST_ENTRIES}"
            raise Failure(f"{self.name} must have {wanted} entries; got {found}")
        return list(self.given)

    def entries(self, size: int | None = None) -> list[Value]:
        """The entries of a list."""
        return [Value(one, f"{self.name}[{k}]") for k, one in enumerate(self.plain(size))]

    def text(self, *allowed: str) -> str:
        """A text, one of those allowed if any are named."""
        given = self.given
        if not isinstance(given, str) or (allowed and given not in allowed):
            raise self.fail(f"one of {', '.join(allowed)}" if allowed else "a text")
        if len(given) > MOST_LETTERS:
            raise self.fail(f"at most {MOST_LETTERS} characters")
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in given):
            raise self.fail("without control characters and surrogates")
        return given

    def label(self) -> Label:
        """A text or an integer."""
        if isinstance(self.given, str):
            return self.text()
        return self.whole(-(10**18), 10**18)

    def whole(self, low: int, high: int) -> int:
        """An integer between two."""
        given = self.given
        if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
            raise self.fail(f"an integer from {low} to {high}")
        return given

    def number(self, low: float = -LARGEST, high: float = LARGEST, *, above: bool = False) -> float:
        """A number from (or above) `low` to `high` that a double holds."""
        given = self.given
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise self.fail("a number")
        if not low <= given <= high or (above and given == low):
            raise self.fail(f"{'above' if above else 'at least'} {low:g} and at most {high:g}")
        if 0.0 < abs(given) < SMALLEST:
            raise self.fail(f"0 or of a size of at least {SMALLEST:g}")
        if float(given) != given:
            raise self.fail("a number that a double holds")
        return float(given)

    def vector(self, size: int | None = None, low: float = -LARGEST) -> Vector:
        """Numbers of at least `low`."""
        return np.array([one.number(low) for one in self.entries(size)], np.float64)

    def integers(self, size: int | None, low: int, high: int) -> Arms:
        """Integers between two."""
        return np.array([one.whole(low, high) for one in self.entries(size)], np.int64)

    def matrix(self, rows: int, columns: int | None = None) -> Matrix:
        """Rows of numbers, of one length."""
        given = self.entries(rows)
        width = len(given[0].plain()) if columns is None else columns
        if width == 0 or rows * width > MOST_ENTRIES:
            raise Failure(f"{self.name} must have between 1 and {MOST_ENTRIES} numbers")
        return np.array([row.vector(width) for row in given])


def read_certificate(certificate: object) -> Value:
    """The whole certificate: a mapping, an object with `to_dict`, or the path of a file."""
    if not isinstance(certificate, str | os.PathLike | Mapping) and hasattr(certificate, "to_dict"):
        certificate = certificate.to_dict()
    if isinstance(certificate, Mapping):
        return Value(certificate, "certificate")
    if not isinstance(certificate, str | os.PathLike):
        kind = type(certificate).__name__
        raise Failure(f"certificate must be the path of a file, or a mapping; got {kind}")
    content = _content(certificate)
    _scan(content)
    try:
        text = content.decode("utf-8")
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except ValueError as error:  # of JSON, of UTF-8 and of integers
        raise Failure(f"the file is not JSON: {error}") from None
    return Value(found, "certificate")


def _content(path: str | os.PathLike[str]) -> bytes:
    """What is in a regular file of bounded size."""
    try:
        # Without waiting: a pipe that nothing writes to would never open.
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise Failure("the file cannot be read: it is no regular file")
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Failure(f"the file cannot be read: {reason}") from None
    if len(content) > MOST_BYTES:
        raise Failure(f"the file must have at most {MOST_BYTES} bytes")
    return content


def _scan(content: bytes) -> None:
    """Refuse what would take a parser long or much memory, before there is one."""
    text = content.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
    depth = commas = opened = 0
    inside, last = False, -1  # in a text; the last byte that was no digit
    for first in range(0, len(text), CHUNK):
        some = np.frombuffer(text[first : first + CHUNK], np.uint8)
        within = (np.cumsum(some == ord('"')) + inside) % 2 == 1
        inside, some = bool(within[-1]), np.where(within, 0, some)
        starts = np.isin(some, [ord("["), ord("{")])
        levels = depth + np.cumsum(starts.astype(np.int32) - np.isin(some, [ord("]"), ord("}")]))
        depth, opened = int(levels[-1]), opened + int(starts.sum())
        commas += int(np.count_nonzero(some == ord(",")))
        others = np.flatnonzero((some < ord("0")) | (some > ord("9"))) + first
        ends = np.concatenate([[last], others, [first + some.size] if others.size == 0 else []])
        if np.max(levels) > MOST_DEPTH:
            raise Failure("the file is not JSON of a certificate: it is nested too deeply")
        if np.max(np.diff(ends)) > MOST_DIGITS:
            raise Failure(f"the file is not JSON of a certificate: over {MOST_DIGITS} digits")
        last = int(others[-1]) if others.size else last
    if commas > MOST_COMMAS or opened > MOST_OPENED:
        raise Failure(f"the file must have at most {MOST_COMMAS} commas and {MOST_OPENED} lists")


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found
