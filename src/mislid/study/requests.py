"""Calls that count once, however often they are repeated."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mislid._words import shown
from mislid.errors import ProblemError

# What keys begin with that nobody gave.
GENERATED = "~"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Request:
    """A call: its key, and a digest of what was wanted.

    The key is in the log with what came of the call, so that a repetition finds it there.
    """

    key: str
    digest: str

    @property
    def written(self) -> str:
        """As an event has it."""
        return f"{self.key} {self.digest}"


class Kept(NamedTuple):
    """What a log has of a request."""

    digest: str
    sequence: int
    trials: tuple[int, ...]


def request_of(key: Any, *wanted: object) -> Request:
    """The request of this key, or of one that is made up.

    >>> request_of("plate-7", "add_observations", (0, 1), (0.25, 0.5)).written
    'plate-7 5813d7f5'
    """
    whole = tuple(map(_whole, wanted))
    return Request(_as_key(key), hashlib.sha256(_spelled(whole)).hexdigest()[:8])


def _whole(given: object) -> object:
    """Arrays and Series as plain values: what they print of themselves leaves out the middle."""
    if isinstance(given, np.ndarray):
        return given.tolist()
    if hasattr(given, "to_numpy") and hasattr(given, "index"):
        return tuple(given.index), given.to_numpy().tolist()
    return given


def _spelled(wanted: object) -> bytes:
    try:
        return repr(wanted).encode("utf-8", "backslashreplace")
    except ValueError:  # an integer of thousands of digits, which the call itself refuses
        return b"too long"


def refuse_other(request: Request, kept: Kept) -> None:
    """Refuse a key that was used for something else."""
    if kept.digest != request.digest:
        raise ProblemError(
            f"key must be new, or of the same call as before; got {request.key!r}, with which "
            f"event {kept.sequence} recorded something else"
        )


def _as_key(key: Any) -> str:
    if key is None:
        return f"{GENERATED}{secrets.token_hex(8)}"
    if not isinstance(key, str) or not key.strip() or len(key) > _LONGEST or not key.isprintable():
        raise ProblemError(
            f"key must be a text of 1 to {_LONGEST} characters that can be printed; got "
            f"{shown(key)}"
        )
    return key
