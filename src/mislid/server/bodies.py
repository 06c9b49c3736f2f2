"""What requests bring: within a size, and within a time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from mislid.errors import MislidError, ProblemError

# Bytes that a request may bring, and seconds in which all of them have to come.
MOST_BYTES, PATIENCE = 2**20, 10.0
Body = dict[str, Any]


class RequestTooLargeError(MislidError):
    """A request brings too much."""

    def __init__(self) -> None:
        super().__init__(f"a request may bring at most {MOST_BYTES} bytes")


class RequestTooSlowError(MislidError):
    """A request does not come to its end."""

    def __init__(self) -> None:
        super().__init__(f"a request must be complete within {PATIENCE:g} seconds")


def is_too_long(length: str) -> bool:
    """Whether a request says that it brings too much, or says it wrongly.

    >>> [is_too_long(text) for text in ("0", "1048576", "1048577", "-1", "9" * 5000)]
    [False, False, True, True, True]
    """
    is_number = length.isascii() and length.isdigit() and len(length) < 10
    return not is_number or int(length) > MOST_BYTES


class Bounded:
    """A body that ends when it is too long, however it is sent."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._seen = receive, 0

    async def receive(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message


async def content_of(request: Request) -> bytes:
    """All that a request brings."""
    try:
        return await asyncio.wait_for(request.body(), PATIENCE)
    except TimeoutError:
        raise RequestTooSlowError from None
    except ClientDisconnect:
        raise RequestTooLargeError from None  # if it is gone, nobody hears this


async def body_of(request: Request) -> Body:
    """The JSON object that a request brings."""
    try:
        found = json.loads(await content_of(request))
    except (ValueError, RecursionError):
        raise ProblemError("the request must be JSON") from None
    if not isinstance(found, dict):
        raise ProblemError("the request must be a JSON object")
    return found
