"""What programs and pages can ask: all of it leaves studies as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mislid.errors import ProblemError
from mislid.server.answers import answer, packed, refusal
from mislid.server.live import AT_ONCE, MOST_STREAMS, Channel, Hub, event_json, logged, message
from mislid.server.views import QUICK, SLOW
from mislid.study import Study
from mislid.study.manage import list_studies
from mislid.verification import verify

KINDS = (*QUICK, "estimates", *(kind for kind in SLOW if kind != "share"))
# Events of one answer.
MOST_EVENTS = 10_000


def hub_of(request: Request) -> Hub:
    """The hub of the server."""
    hub: Hub = request.app.state.hub
    return hub


def key_of(request: Request) -> int:
    """The study that an address is about."""
    return int(request.path_params["id"])


def whole(request: Request, name: str, usual: int, most: int) -> int:
    """A parameter that is a number of events."""
    text = request.query_params.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ProblemError(f"{name} must be a whole number of at least 0; got {text[:40]!r}")
    return min(int(text), most)


async def studies(request: Request) -> Response:
    """All studies, or the one of a name."""
    hub = hub_of(request)
    found = await asyncio.to_thread(list_studies, storage=hub.storage)
    lines = {one.name: one for one in await asyncio.to_thread(hub.storage.lines)}
    name = request.query_params.get("name")
    rows = [
        {"id": line.key, **asdict(one), "share": hub.share(one.name, line.key, line.last)}
        for one in found
        if (line := lines.get(one.name)) is not None and name in (None, one.name)
    ]
    return answer(request, packed({"studies": rows}))


def view(kind: str) -> Callable[[Request], Any]:
    """The address that gives a view."""

    async def found(request: Request) -> Response:
        seen = await hub_of(request).view(key_of(request), kind)
        return answer(request, seen.content)

    return found


async def events(request: Request) -> Response:
    """Events after a number."""
    after = whole(request, "after", 0, 2**53)
    most = max(1, whole(request, "most", 1_000, MOST_EVENTS))
    hub, key = hub_of(request), key_of(request)
    await hub.name_of(key)
    entries = await hub.read(key, after, most)
    return answer(request, packed({"events": [event_json(one) for one in entries]}))


async def opened(request: Request) -> Study:
    """The study that an address is about, as the server knows it."""
    hub, key = hub_of(request), key_of(request)
    name, _ = await hub.name_of(key)
    return hub.views.study(name, key)


async def certificate(request: Request) -> Response:
    """The certificate of a study that has decided, as a file."""
    found = await _certificate(await opened(request), hub_of(request))
    if found is None:
        return refusal(409, "Running", "the study has not decided: there is no certificate yet")
    given = answer(request, packed(found))
    given.headers["content-disposition"] = 'attachment; filename="certificate.json"'
    return given


async def verification(request: Request) -> Response:
    """What the independent check says of the certificate."""
    hub = hub_of(request)
    found = await _certificate(await opened(request), hub)
    if found is None:
        return refusal(409, "Running", "the study has not decided: there is nothing to verify yet")
    checked = await hub.views.slowly(lambda: verify(found).to_dict())
    return answer(request, packed(checked))


async def _certificate(study: Study, hub: Hub) -> dict[str, Any] | None:
    def made() -> dict[str, Any] | None:
        result = study.result
        return None if result is None else result.certificate.to_dict()

    return await hub.views.slowly(made)


async def what_if(request: Request) -> Response:
    """A forecast for another question."""
    changes: dict[str, float] = {}
    for name in ("m", "delta", "misspecification", "tolerance"):
        if name in request.query_params:
            changes[name] = _number(name, request.query_params[name])
    if "m" in changes:
        changes["m"] = int(changes["m"]) if changes["m"].is_integer() else changes["m"]
    study, views = await opened(request), hub_of(request).views
    found = await views.slowly(lambda: study.what_if(**changes).to_dict())  # type: ignore[arg-type]
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
    after = int(known) if known.isascii() and known.isdigit() and len(known) < 16 else None
    after = whole(request, "after", last, 2**53) if after is None else after
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(_told(hub, key, after), 200, headers, "text/event-stream")


async def _told(hub: Hub, key: int, after: int) -> AsyncIterator[bytes]:
    async with hub.listening(key) as channel:
        version = 0
        yield b"retry: 1000\n\n"
        while True:
            version, said = channel.version, channel.said_after(version)
            async for chunk, number in _missing(hub, channel, after):
                after = number
                yield chunk
            if said:
                yield said
            if channel.is_gone:
                return
            if not await channel.change(version):
                yield b": still here\n\n"


async def _missing(hub: Hub, channel: Channel, after: int) -> AsyncIterator[tuple[bytes, int]]:
    """Events after a number, in pieces, each with its last number."""
    if after > channel.last:
        # A log that was restored from before: the page has seen what is not there any more.
        yield message("reset", b"{}"), channel.last
        return
    while (kept := channel.kept_after(after)) is None:
        entries = await hub.read(channel.key, after, AT_ONCE)
        entries = [one for one in entries if one.sequence <= channel.last]
        if not entries:
            return
        after = entries[-1].sequence
        yield b"".join(map(logged, entries)), after
    if kept:
        yield kept, channel.last
