"""Records of clients: each call before it is made, and its outcome.

Every line is on the disk before the client goes on, so that the record of one that was killed says
what it had been told by then.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The study that all clients use.
NAME = "s"
# What may come of a call. After "unknown" it is repeated.
INTENT, OK, REFUSED, UNKNOWN = "intent", "ok", "refused", "unknown"


class Record:
    """Lines of JSON, in one file for every life of a worker."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, **line: Any) -> None:
        """Write a line, with the time that all processes of a computer share."""
        data = (json.dumps({"at": time.monotonic_ns(), **line}) + "\n").encode()
        if os.write(self._file, data) != len(data):
            raise OSError("a line was written in part")
        os.fdatasync(self._file)


@dataclass
class Operation:
    """One call of a client, with all that is known of it.

    `begin` and `end` are times around it, in nanoseconds; it has no end before it is known what
    came of it.
    """

    id: str
    call: str
    arguments: dict[str, Any]
    key: str | None
    begin: int
    end: int | None = None
    outcome: str | None = None
    reply: Any = None

    @property
    def is_open(self) -> bool:
        """Whether no client knows the outcome."""
        return self.outcome not in (OK, REFUSED)


def operations(files: Iterable[Path]) -> dict[str, Operation]:
    """All calls that clients wrote down, by their names."""
    found: dict[str, Operation] = {}
    for file in files:
        for line in _lines(file):
            _take_in(found, line)
    return found


def _take_in(found: dict[str, Operation], line: dict[str, Any]) -> None:
    step, name = line["step"], line["op"]
    if step == INTENT and name not in found:
        begun = line["call"], line["arguments"], line["key"], line["at"]
        found[name] = Operation(name, *begun)
    operation = found[name]
    operation.begin = min(operation.begin, line["at"])  # files come in any order of lives
    if step in (OK, REFUSED):
        operation.outcome, operation.end, operation.reply = step, line["at"], line["reply"]


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for text in file.read_text().split("\n")[:-1]:  # the last line may be torn
        yield json.loads(text)
