"""What programs and pages can ask: all of it leaves studies as they are."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mislid.errors import MislidError, ProblemError, StorageError, UnknownStudyError
from mislid.server.answers import answer, packed, refusal
from mislid.server.live import AT_ONCE, MOST_STREAMS, Channel, Hub, event_json, logged, message
from mislid.server.views import QUICK, SLOW, failed
from mislid.study import Study

KINDS = (*QUICK, *(kind for kind in SLOW if kind != "share"))
# Events of one answer.
MOST_EVENTS = 10_000


def hub_of(request: Request) -> Hub:
    """The hub of the server."""
    hub: Hub = request.app.state.hub
    return hub


def key_of(request: Request) -> int:
    """The study that an address is about."""
    text = request.path_params["id"]
    if not is_whole(text):
        raise UnknownStudyError("the id of a study must be a whole number")
    return int(text)


def is_whole(text: str) -> bool:
    """Whether it is a number of events, or an id."""
    return text.isascii() and text.isdigit() and len(text) < 16


def whole(request: Request, name: str, usual: int, most: int) -> int:
    """A parameter that is a number of events."""
    text = request.query_params.get(name, str(usual))
    if not is_whole(text):
        raise ProblemError(f"{name} must be a whole number of at least 0; got {text[:40]!r}")
    return min(int(text), most)


async def studies(request: Request) -> Response:
    """All studies, or the one of a name."""
    hub = hub_of(request)
    name = request.query_params.get("name")
    rows = [
        {"id": line.key, "name": line.name, "status": "damaged"}
        if one is None
        else {"id": line.key, **asdict(one), "share": hub.share(one.name, line.key, line.last)}
        for line, one in await hub.listed()
        if name in (None, line.name)
    ]
    return answer(request, packed({"studies": rows}))


def view(kind: str) -> Callable[[Request], Any]:
    """The address that gives a view."""

    async def found(request: Request) -> Response:
        seen = await hub_of(request).view(key_of(request), kind)
        given = answer(request, seen.content)
        given.headers["age"] = str(int(time.monotonic() - seen.at))
        return given

    return found


async def events(request: Request) -> Response:
    """Events after a number."""
    after = whole(request, "after", 0, 2**53)
    most = max(1, whole(request, "most", 1_000, MOST_EVENTS))
    hub, key = hub_of(request), key_of(request)
    await hub.name_of(key)
    entries = await hub.read(key, after, most)
    return answer(request, packed({"events": [event_json(one) for one in entries]}))


async def revisions(request: Request) -> Response:
    """Corrections and other changes, the newest first; those before a number with `before`."""
    before = whole(request, "before", 2**53, 2**53) if "before" in request.query_params else None
    most = max(1, whole(request, "most", 100, 1_000))
    hub, key = hub_of(request), key_of(request)
    await hub.name_of(key)
    found, count = await hub.revisions_before(key, before, most)
    rows = [event_json(one) for one in found]
    return answer(request, packed({"revisions": rows, "count": count}))


async def opened(request: Request) -> Study:
    """The study that an address is about, as the server knows it."""
    hub, key = hub_of(request), key_of(request)
    name, _ = await hub.name_of(key)
    return hub.views.study(name, key)


async def certificate(request: Request) -> Response:
    """The certificate of a study that has decided, as a file."""
    given = await _proof(request, "certificate")
    given.headers["content-disposition"] = 'attachment; filename="certificate.json"'
    return given


async def verification(request: Request) -> Response:
    """What the independent check says of the certificate."""
    return await _proof(request, "verification")


async def _proof(request: Request, kind: str) -> Response:
    found = await hub_of(request).view(key_of(request), kind)
    if found.content == b"null":
        return refusal(409, "Running", f"the study has not decided: there is no {kind} yet")
    return answer(request, found.content)


async def what_if(request: Request) -> Response:
    """A forecast for another question."""
    changes: dict[str, float] = {}
    for name in ("m", "delta", "misspecification", "tolerance"):
        if name in request.query_params:
            changes[name] = _number(name, request.query_params[name])
    if "m" in changes:
        changes["m"] = int(changes["m"]) if changes["m"].is_integer() else changes["m"]
    study, views = await opened(request), hub_of(request).views
    found = await views.slow.do(lambda: study.what_if(**changes).to_dict())  # type: ignore[arg-type]
    return answer(request, packed(found))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ProblemError(f"{name} must be a number; got {text[:40]!r}") from None


async def stream(request: Request) -> Response:
    """Events as they come, and how the study stands; `Last-Event-ID` or `?after=` goes on."""
    hub, key = hub_of(request), key_of(request)
    if hub.streams >= MOST_STREAMS:
        return refusal(503, "Busy", f"{MOST_STREAMS} streams are open", {"retry-after": "10"})
    _, last = await hub.name_of(key)
    known = request.headers.get("last-event-id", "")
    after = int(known) if is_whole(known) else whole(request, "after", last, 2**53)
    views = whole(request, "views", 0, 1) == 1
    told = _nothing() if request.method == "HEAD" else _told(hub, key, after, last, views=views)
    return StreamingResponse(told, 200, {"x-accel-buffering": "no"}, "text/event-stream")


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield


async def _told(hub: Hub, key: int, after: int, last: int, *, views: bool) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    if after > last:
        # A log that was restored from before: the page has seen what is not there any more.
        after = last
        yield message("reset", b"{}", after)
    try:
        async with hub.listening(key, views=views) as channel:
            async for chunk in _followed(hub, channel, after, views=views):
                yield chunk
    except MislidError as problem:
        yield message("trouble", failed(problem))  # and the client tries again


async def _followed(hub: Hub, channel: Channel, after: int, *, views: bool) -> AsyncIterator[bytes]:
    """All that is new to somebody who knows the events up to a number."""
    version = 0
    while not hub.is_ending:
        version, said = channel.version, channel.said_after(version, views=views)
        while after < channel.last:
            chunk, after = await _piece(hub, channel, after)
            yield chunk
        for text in said:
            yield text
        if channel.is_gone:
            return
        if not await channel.change(version):
            yield b": still here\n\n"


async def _piece(hub: Hub, channel: Channel, after: int) -> tuple[bytes, int]:
    """The next events after a number, and the last one's; from the log where they are old."""
    kept = channel.kept_after(after)
    if kept is not None:
        return kept
    most = min(AT_ONCE, channel.last - after)
    entries = await hub.read(channel.key, after, most)
    if not entries:
        raise StorageError("the log has fewer events than it had: it was put back")
    return b"".join(map(logged, entries)), entries[-1].sequence
