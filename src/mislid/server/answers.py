"""What the server says: JSON, in one form for errors, and pages."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mislid.errors import (
    ConflictingTellError,
    DuplicatedStudyError,
    MislidError,
    MissingPackageError,
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
            name, said = type(problem).__name__, str(problem)
            more = {"key": problem.key} if isinstance(problem, UnknownOutcomeError) else {}
            # What is still being sent is not read.
            ends = {"connection": "close"} if status in (408, 413) else None
            return refusal(status, name, said, ends, **more)
    LOG.error("a request failed", exc_info=problem)
    return refusal(500, "ServerError", "something went wrong here; the server's log says what")
