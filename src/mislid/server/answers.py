"""JSON answers, errors, and the bodies of requests."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mislid._formatting import shown, visible
from mislid.errors import (
    ConflictingTellError,
    CorruptStorageError,
    DuplicatedStudyError,
    MislidError,
    MissingPackageError,
    ProblemError,
    StorageError,
    UnknownStudyError,
    UnknownTrialError,
)
from mislid.study.events import Entry

LOG = logging.getLogger("mislid.server")
# Bytes of a request's body, and seconds in which all of them have to come.
MOST_BYTES, PATIENCE = 2**20, 10.0
_STATUS: dict[type, int] = {
    UnknownStudyError: 404,
    UnknownTrialError: 404,
    ConflictingTellError: 409,
    DuplicatedStudyError: 409,
    MissingPackageError: 501,
    StorageError: 503,
    MislidError: 422,
    Exception: 500,
}


def packed(value: Any) -> bytes:
    """JSON in its shortest form.

    >>> packed({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def event_json(entry: Entry) -> dict[str, object]:
    """An event as programs get it.

    >>> event_json(Entry(3, 12.5, "told", '{"trial":0,"value":0.7}'))
    {'number': 3, 'time': 12.5, 'kind': 'told', 'body': {'trial': 0, 'value': 0.7}}
    """
    try:
        body = json.loads(entry.body)
        found = {"number": entry.sequence, "time": entry.time, "kind": entry.kind, "body": body}
        packed(found)
    except (ValueError, TypeError, RecursionError):
        raise CorruptStorageError(f"event {entry.sequence} of the study is damaged") from None
    return found


def answer(request: Request, content: bytes, media_type: str = "application/json") -> Response:
    """The content with its ETag, or 304 if the client has it already."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def refusal(
    status: int, message: str, kind: str = "", headers: Mapping[str, str] | None = None, **more: str
) -> Response:
    """An error as JSON; its kind is the phrase of its status unless it has another."""
    error = {"kind": kind or HTTPStatus(status).phrase, "message": visible(message), **more}
    return Response(packed({"error": error}), status, headers, "application/json")


def refused(problem: Exception) -> Response:
    """An exception as an answer, without details that belong in the server's log."""
    if isinstance(problem, HTTPException):
        return refusal(problem.status_code, problem.detail, headers=problem.headers)
    status = next(_STATUS[kind] for kind in type(problem).__mro__ if kind in _STATUS)
    if status not in (500, 503):
        return refusal(status, str(problem), type(problem).__name__)
    _log(f"{type(problem).__name__}: {problem}", int(time.monotonic() // 60.0))
    if status == 500:  # closes the connection, as uvicorn does
        said = "the server failed; its log says more"
        return refusal(status, said, headers={"connection": "close"})
    said = "the storage failed: try again later, with the same key; the server's log says more"
    if isinstance(problem, CorruptStorageError) and problem.study is not None:
        said = f"study {shown(problem.study)} is damaged: the server's log says more"
    key = getattr(problem, "key", None)
    return refusal(status, said, type(problem).__name__, **({} if key is None else {"key": key}))


@lru_cache(maxsize=100)
def _log(words: str, minute: int) -> None:
    """Log the same words once a minute: a storage that is away is looked at every second."""
    LOG.error("%s", visible(words))


async def content_of(request: Request) -> bytes:
    """The body of a request, within a size and a time."""
    too_large = _closing(413, f"a request may have at most {MOST_BYTES} bytes")
    if int(request.headers.get("content-length", "0")) > MOST_BYTES:
        raise too_large
    content = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                content += part
                if len(content) > MOST_BYTES:
                    raise too_large
    except TimeoutError:
        raise _closing(408, f"a request must be complete within {PATIENCE:g} seconds") from None
    except ClientDisconnect:
        raise _closing(400, "the request is incomplete") from None
    return content


def _closing(status: int, message: str) -> HTTPException:
    """A refusal that ends the connection, since the rest of the body is not read."""
    return HTTPException(status, message, {"connection": "close"})


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    try:
        found = json.loads(await content_of(request))
    except (ValueError, RecursionError):
        raise ProblemError("the request must be JSON") from None
    if not isinstance(found, dict):
        raise ProblemError("the request must be a JSON object")
    return found
