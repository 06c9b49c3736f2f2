"""JSON answers, errors, and the bodies of requests."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
# Most bytes of a request's head.
LONGEST_HEAD = 32 * 1024
# Most bytes of a request's body, and seconds in which the body must arrive.
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
    """Compact JSON.

    >>> packed({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def event_json(entry: Entry) -> dict[str, object]:
    """The JSON object of an event.

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
    """A response with an ETag, or 304 if the client has the same content."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def refusal(
    status: int, message: str, kind: str = "", headers: Mapping[str, str] | None = None, **more: str
) -> Response:
    """An error as JSON; its kind is the phrase of its HTTP status by default."""
    error = {"kind": kind or HTTPStatus(status).phrase, "message": visible(message), **more}
    return Response(packed({"error": error}), status, headers, "application/json")


def refused(problem: Exception) -> Response:
    """The response to an exception; details of internal errors go to the server's log only."""
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
    """Log a message at most once a minute: an unreachable storage is tried every second."""
    LOG.error("%s", visible(words))


async def content_of(request: Request) -> bytes:
    """The body of a request, limited in size and time."""
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
    """An error that closes the connection, since the rest of the body is not read."""
    return HTTPException(status, message, {"connection": "close"})


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    content = await content_of(request)
    try:
        found = json.loads(content, object_pairs_hook=_once)
    except ProblemError:
        raise
    except (ValueError, RecursionError):
        raise ProblemError("the request must be JSON") from None
    if not isinstance(found, dict):
        raise ProblemError("the request must be a JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose keys may occur once.

    >>> _once([("value", 1), ("value", 2)])
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: the request must have each key once; got 'value' twice
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ProblemError(f"the request must have each key once; got {shown(key)} twice")
    return found


@contextmanager
def counted(open_ones: Counter[str], client: str) -> Iterator[None]:
    """Count one more of a client meanwhile."""
    open_ones[client] += 1
    try:
        yield
    finally:
        open_ones[client] -= 1
        if not open_ones[client]:
            del open_ones[client]
