"""What the server says: JSON, in one form for errors, and pages."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mislid.errors import (
    ConflictingTellError,
    CorruptStorageError,
    DuplicatedStudyError,
    FullStorageError,
    LockedStorageError,
    MislidError,
    MissingPackageError,
    ReadOnlyStorageError,
    StorageError,
    UnknownOutcomeError,
    UnknownStudyError,
    UnknownTrialError,
)
from mislid.server.bodies import RequestTooLargeError, RequestTooSlowError


class BusyError(MislidError):
    """More is asked for than can be computed."""


LOG = logging.getLogger("mislid.server")
# The first that fits says how an error is answered.
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnknownStudyError, 404),
    (UnknownTrialError, 404),
    (ConflictingTellError, 409),
    (DuplicatedStudyError, 409),
    (MissingPackageError, 501),
    (StorageError, 503),
    (BusyError, 503),
    (RequestTooLargeError, 413),
    (RequestTooSlowError, 408),
    (MislidError, 422),
)

# What clients are told of a storage. Its own words name the place, and are for the log.
_TOLD: tuple[tuple[type[Exception], str], ...] = (
    (UnknownOutcomeError, "whether this was written is not known: call again with the same key"),
    (LockedStorageError, "others have held the storage for too long: try again later"),
    (FullStorageError, "the storage has no room left, and nothing was added"),
    (ReadOnlyStorageError, "the storage cannot be written to"),
    (CorruptStorageError, "the storage is damaged, and has to be restored from a backup"),
    (StorageError, "the storage does not do its work now: try again later"),
)
# Seconds in which the same words are logged once, and how many are remembered.
_QUIET, _REMEMBERED = 60.0, 100
_logged: dict[str, float] = {}


def packed(value: Any) -> bytes:
    """JSON as it is sent.

    >>> packed({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def answer(request: Request, content: bytes, media_type: str = "application/json") -> Response:
    """The content, or word that the client has it already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def refusal(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """The form of all errors."""
    content = packed({"error": {"kind": kind, "message": message, **more}})
    return Response(content, status, dict(headers or {}), "application/json")


def refused(problem: Exception) -> Response:
    """An error of the package as an answer; nothing of others is told, but logged."""
    for kind, status in _STATUS:
        if isinstance(problem, kind):
            name, said = type(problem).__name__, _said(problem)
            more = {"key": problem.key} if isinstance(problem, UnknownOutcomeError) else {}
            # What is still being sent is not read.
            ends = {"connection": "close"} if status in (408, 413) else None
            return refusal(status, name, said, ends, **more)
    LOG.error("a request failed", exc_info=problem)
    return refusal(500, "ServerError", "something went wrong here; the server's log says what")


def _said(problem: Exception) -> str:
    """What clients may know of an error of the package."""
    for kind, told in _TOLD:
        if isinstance(problem, kind):
            _log(f"{type(problem).__name__}: {problem}")
            return f"{told}; the server's log says more"
    return str(problem)


def _log(words: str) -> None:
    """Log this, but not with every look at a storage that is away."""
    now = time.monotonic()
    if now - _logged.get(words, -_QUIET) < _QUIET:
        return
    LOG.error("%s", words)
    _logged[words] = now
    if len(_logged) > _REMEMBERED:
        _logged.pop(next(iter(_logged)))
