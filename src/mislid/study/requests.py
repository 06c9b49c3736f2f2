"""Calls that count once, however often they are repeated: whether one has been done, and when."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mislid._words import shown
from mislid.errors import ProblemError, UnknownOutcomeError

if TYPE_CHECKING:
    from mislid.study.events import Entry, Log
    from mislid.study.facts import Fact
    from mislid.study.replay import Replay
    from mislid.study.state import StudyState

# What keys begin with that nobody gave.
GENERATED = "~"
_LONGEST = 200
# Seconds by which clocks may differ: the log's time does not go back for them.
SKEW = 600.0

Decide = Callable[["Replay", float], Iterable["Fact"]]


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


class Lost(Exception):
    """The answer to a commit was lost, by which these entries would be in the log."""

    def __init__(self, problem: UnknownOutcomeError, entries: Sequence[Entry]) -> None:
        super().__init__(str(problem))
        self.entries = entries

    def is_in(self, log: Log) -> bool:
        """Whether they are; who has the log locked can tell, as nobody else is writing."""
        last = self.entries[-1] if self.entries else None
        return last is not None and log.read(last.sequence - 1, 1) == [last]

    def unknown(self, request: Request | None) -> UnknownOutcomeError:
        """The error for a caller, where the log cannot be asked."""
        return UnknownOutcomeError(str(self), None if request is None else request.key)


class Attempt(NamedTuple):
    """What is to be done, and what was lost when it was tried before."""

    decide: Decide
    request: Request | None
    lost: Lost | None

    def is_done(self, log: Log, state: StudyState) -> bool:
        """Whether the log has it already; refuses a key that was used for something else."""
        request = self.request
        if request is not None and request.key in state.keys:
            refuse_other(request, state.keys[request.key])
            return True
        return self.lost is not None and self.lost.is_in(log)


def log_time(clock: float, last: float) -> float:
    """The time of an event after one at `last`, by a clock.

    A clock that is a little behind another one waits. One that is far behind is right, or will be
    put right: the log follows it, so that one event from the future does not stop its time.

    >>> log_time(99.0, 100.0), log_time(101.0, 100.0), log_time(100.0, 4e9)
    (100.0, 101.0, 100.0)
    """
    return last if last - SKEW <= clock < last else clock
