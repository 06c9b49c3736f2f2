"""Values of a JSON file, taken one by one with a name, so that a failure can say which is wrong."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import reprlib
import stat
from collections.abc import Container, Mapping
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Arms = NDArray[np.int64]
Label = str | int

# Numbers that are derived again agree to this, relative to their size.
EQUAL = 1e-9
# What a file may have at most: a certificate of a thousand candidates has a tenth of it.
MOST_BYTES, MOST_DEPTH, MOST_DIGITS = 1 << 26, 32, 1000
_TEXTS, _DIGITS = re.compile(rb'"(?:[^"\\]|\\.)*"'), re.compile(rb"[0-9]{%d}" % (MOST_DIGITS + 1))


class Failure(Exception):
    """Something that does not hold."""


class Value:
    """A value of the file and its name there."""

    def __init__(self, given: Any, name: str) -> None:
        self.given, self.name = given, name

    def fail(self, wanted: str) -> Failure:
        """What to raise where the value is not what was wanted."""
        shown = reprlib.repr(self.given)  # which is short and never deep
        return Failure(f"{self.name} must be {wanted}; got {shown[:60]}")

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
                raise Failure(f"{within}{key} is unknown")
        return {key: Value(self.given[key], f"{within}{key}") for key in keys}

    def entries(self, size: int | None = None) -> list[Value]:
        """The entries of a list, of a certain length if given."""
        if not isinstance(self.given, list | tuple):
            raise self.fail("a list")
        if size is not None and len(self.given) != size:
            raise Failure(f"{self.name} must have {size} entries; got {len(self.given)}")
        return [Value(entry, f"{self.name}[{k}]") for k, entry in enumerate(self.given)]

    def text(self, *allowed: str) -> str:
        """A text, one of those allowed if any are named."""
        if not isinstance(self.given, str) or (allowed and self.given not in allowed):
            raise self.fail(f"one of {', '.join(allowed)}" if allowed else "a text")
        return self.given

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.given, bool):
            raise self.fail("true or false")
        return self.given

    def whole(self, low: int, high: int | None = None) -> int:
        """An integer that is at least `low` and at most `high`."""
        number = self.given
        if isinstance(number, bool) or not isinstance(number, int) or number < low:
            raise self.fail(f"an integer at least {low}")
        if high is not None and number > high:
            raise self.fail(f"an integer at most {high}")
        return number

    def number(
        self, low: float = -math.inf, *, above: bool = False, infinite: bool = False
    ) -> float:
        """A finite number at least (or above) `low`; the text "inf" only where that is allowed."""
        given = self.given
        if infinite and given == "inf":
            return math.inf
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise self.fail('a number, or the text "inf"' if infinite else "a number")
        try:
            number = float(given)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.fail("a finite number")
        if number != given:  # an integer with too many digits
            raise self.fail("a number that a double holds")
        if number < low or (above and number == low):
            raise self.fail(f"{'above' if above else 'at least'} {low:g}")
        return number

    def vector(self, size: int) -> Vector:
        """So many finite numbers."""
        return np.array([entry.number() for entry in self.entries(size)])

    def matrix(self, rows: int) -> Matrix:
        """So many rows of finite numbers, of one length."""
        given = self.entries(rows)
        width = len(given[0].entries())
        if width == 0:
            raise given[0].fail("a list with at least one number")
        return np.array([row.vector(width) for row in given])

    def arms(self, K: int) -> Arms:
        """Different indices of K arms, increasing, at least one."""
        found = [entry.whole(0, K - 1) for entry in self.entries()]
        if not found or any(b <= a for a, b in pairwise(found)):
            raise self.fail("a list of increasing indices")
        return np.array(found)

    def labels(self) -> list[Label]:
        """At least two different texts, or integers."""
        found = [entry.label() for entry in self.entries()]
        if len(found) < 2 or len(set(found)) < len(found) or len({type(one) for one in found}) > 1:
            raise self.fail("at least two different labels, all texts or all integers")
        return found

    def label(self, known: Container[Label] | None = None) -> Label:
        """A text or an integer, one of those known if given."""
        label = self.given
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise self.fail("a text or an integer")
        if known is not None and label not in known:
            raise self.fail("the label of a candidate")
        return label


@runtime_checkable
class Saved(Protocol):
    """A certificate as studies have it."""

    def to_dict(self) -> dict[str, Any]:
        """What `save` writes."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it."""


def read_certificate(certificate: object) -> Value:
    """The whole certificate, from a file, as it is, or of a study's result."""
    if isinstance(certificate, Saved):
        certificate = certificate.to_dict()
    if isinstance(certificate, Mapping):
        return Value(certificate, "certificate")
    if not isinstance(certificate, str | os.PathLike):
        kind = type(certificate).__name__
        raise Failure(f"certificate must be the path of a file, or a mapping; got {kind}")
    content = _content(certificate)
    _refuse_excess(content)
    try:
        found = json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_twice,
        )
    except RecursionError:
        raise Failure("the file is not JSON of a certificate: it is nested too deeply") from None
    except ValueError as error:  # of JSON and of UTF-8
        raise Failure(f"the file is not JSON: {error}") from None
    return Value(found, "certificate")


def _content(path: str | os.PathLike[str]) -> bytes:
    """What is in a file, unless it is too large or something else than a file."""
    try:
        # Without waiting: a pipe that nobody writes to would never open.
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise Failure("the file cannot be read: it is no regular file")
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Failure(f"the file cannot be read: {error.strerror}") from None
    except ValueError as error:  # of the path
        raise Failure(f"the file cannot be read: {error}") from None
    if len(content) > MOST_BYTES:
        raise Failure(f"the file must have at most {MOST_BYTES} bytes")
    return content


def _refuse_excess(content: bytes) -> None:
    """Refuse what would take a parser long, before there is one: depth, and digits of a number."""
    outside = _TEXTS.sub(b"", content)
    if _DIGITS.search(outside):
        raise Failure(f"the file is not JSON of a certificate: over {MOST_DIGITS} digits at once")
    depth = 0
    for first in range(0, len(outside), 1 << 20):
        some = np.frombuffer(outside[first : first + (1 << 20)], np.uint8)
        opened = np.isin(some, [ord("["), ord("{")]).astype(np.int32)
        steps = depth + np.cumsum(opened - np.isin(some, [ord("]"), ord("}")]))
        if np.max(steps, initial=0) > MOST_DEPTH:
            raise Failure("the file is not JSON of a certificate: it is nested too deeply")
        depth = int(steps[-1])


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def sha256_of(plain: Any) -> str:
    """SHA-256 of the canonical text: keys sorted, no spaces, ASCII, shortest exact decimals."""
    try:
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Failure(f"certificate must hold values of JSON: {error}") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def refuse_difference(
    value: Value, stated: float, derived: float, relative: float, absolute: float = 0.0
) -> None:
    """Refuse a number that differs from what is derived again."""
    if stated == derived:
        return
    if not (math.isfinite(derived) and abs(stated - derived) <= relative * abs(derived) + absolute):
        raise Failure(f"{value.name} must be {derived!r}; got {stated!r}")
