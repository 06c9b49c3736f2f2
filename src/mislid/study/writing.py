"""One call that writes to a log: whether it has been done, and when it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mislid.errors import UnknownOutcomeError
from mislid.study.events import Entry, Fact
from mislid.study.replay import Replay
from mislid.study.requests import Request, refuse_other
from mislid.study.state import StudyState
from mislid.study.storage import Log

# Seconds by which clocks may differ: the log's time does not go back for them.
SKEW = 600.0

Decide = Callable[[Replay, float], Iterable[Fact]]


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
