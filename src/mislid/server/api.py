"""The HTTP interface: reads of studies, their events as a list or a stream, and changes."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from mislid._validation import as_text
from mislid.errors import (
    ContradictedWarning,
    CorruptStorageError,
    ImplausibleValueWarning,
    ProblemError,
    UnknownStudyError,
)
from mislid.io import as_plain
from mislid.server.answers import answer, body_of, event_json, packed
from mislid.server.live import MOST_STREAMS, Hub
from mislid.study import Study, Trial
from mislid.study.manage import create_study, summary_of_line
from mislid.study.storage.interface import Line

# Events of one answer.
MOST_EVENTS = 1_000
# Calls that change a study.
CALLS = ("ask", "tell", "correct", "void")
# Arguments of `create_study` that are the server's.
_OWN = ("storage", "load_if_exists", "names")
# Warnings that clients are told; other threads may warn of other things.
_DOUBTS = (ContradictedWarning, ImplausibleValueWarning)
Endpoint = Callable[[Request], Any]


def hub_of(request: Request) -> Hub:
    """The hub of the server."""
    hub: Hub = request.app.state.hub
    return hub


async def line_of(request: Request) -> Line:
    """The study that an address is about."""
    return await hub_of(request).find(request.path_params["study"])


def _after(request: Request, usual: int) -> int:
    """The number of the last event that a client knows."""
    text = request.query_params.get("after", str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ProblemError(f"after must be a whole number of at least 0; got {text[:40]!r}")
    return int(text)


async def studies(request: Request) -> Response:
    """All studies."""
    storage = hub_of(request).storage

    def listed() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for line in storage.lines():
            try:
                rows.append({"id": line.key, **asdict(summary_of_line(storage, line))})
            except CorruptStorageError:  # which does not hide the others
                rows.append({"id": line.key, "name": line.name, "status": "damaged"})
            except UnknownStudyError:
                continue  # deleted meanwhile
        return rows

    return answer(request, packed({"studies": await asyncio.to_thread(listed)}))


def view(kind: str) -> Endpoint:
    """The endpoint of a view."""

    async def found(request: Request) -> Response:
        return answer(request, await hub_of(request).view(await line_of(request), kind))

    return found


async def certificate(request: Request) -> Response:
    """The certificate of a study that has decided."""
    study = hub_of(request).seen(await line_of(request)).study
    result = await asyncio.to_thread(lambda: study.result)
    if result is None:
        raise HTTPException(409, "the study has not decided: there is no certificate yet")
    content = packed(await asyncio.to_thread(result.certificate.to_dict))
    given = answer(request, content)
    given.headers["content-disposition"] = 'attachment; filename="certificate.json"'
    return given


async def events(request: Request) -> Response:
    """Events after a number: those that there are or, as a stream, those to come as well."""
    hub, line = hub_of(request), await line_of(request)
    if "text/event-stream" in request.headers.get("accept", ""):
        return _stream(request, hub, line)
    entries = await hub.read(line.key, _after(request, 0), MOST_EVENTS)
    return answer(request, packed({"events": [event_json(one) for one in entries]}))


def _stream(request: Request, hub: Hub, line: Line) -> Response:
    if hub.streams >= MOST_STREAMS:
        raise HTTPException(503, f"{MOST_STREAMS} streams are open", {"retry-after": "10"})
    known = request.headers.get("last-event-id", "")
    after = int(known) if known.isdecimal() else _after(request, line.last)
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(
        hub.stream(line, after), 200, {"x-accel-buffering": "no"}, "text/event-stream"
    )


async def create(request: Request) -> Response:
    """Create a study; with a key, the same call finds it again."""
    body = await body_of(request)
    key = _key(request, body)
    if "noise_range" in body:  # JSON has no tuple (low, high)
        noise_range = body.pop("noise_range")
        if "noise" in body or not isinstance(noise_range, list) or len(noise_range) != 2:
            raise ProblemError("noise_range must be [low, high], in the place of noise")
        body["noise"] = tuple(noise_range)
    _check(create_study, body, *_OWN)
    if key is not None and body.get("study_name") is None:
        body["study_name"] = f"study-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    hub = hub_of(request)

    def make() -> dict[str, Any]:
        study = create_study(**body, load_if_exists=key is not None, storage=hub.storage)
        return {"id": hub.storage.find(study.study_name), "name": study.study_name}

    async with hub.writing:
        made = await asyncio.to_thread(make)
    return Response(packed(made), 201, media_type="application/json")


def call(name: str) -> Endpoint:
    """The endpoint of a method of `Study`; its warnings come with the answer."""
    method = getattr(Study, name)

    async def done(request: Request) -> Response:
        hub, line, body = hub_of(request), await line_of(request), await body_of(request)
        key = _key(request, body)
        _check(method, body, "self", "key")
        study = hub.seen(line).study

        def change() -> dict[str, Any]:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = method(study, **body, key=key)
            doubts = [str(one.message) for one in said if issubclass(one.category, _DOUBTS)]
            return _outcome(study, found) | {"warnings": doubts}

        async with hub.writing:
            made = await asyncio.to_thread(change)
        return Response(packed(made), media_type="application/json")

    return done


def _outcome(study: Study, found: Trial | list[Trial] | None) -> dict[str, Any]:
    if found is None:
        return {"status": study.status, "samples": study.samples}
    trials = []
    for one in found if isinstance(found, list) else [found]:
        features = None if one.features is None else one.features.tolist()
        plain = {name: getattr(one, name) for name in ("id", "arm", "worker", "expires")}
        trials.append(as_plain({**plain, "features": features}))
    return {"trials": trials}


def _key(request: Request, body: dict[str, Any]) -> str | None:
    """The idempotency key, of the body or of the header."""
    key = body.pop("key", None)
    return request.headers.get("idempotency-key") if key is None else as_text(key, "key")


def _check(method: Callable[..., Any], body: dict[str, Any], *hidden: str) -> None:
    """Refuse arguments that are misspelled or missing."""
    signature = inspect.signature(method)
    known = [one for name, one in signature.parameters.items() if name not in hidden]
    try:
        signature.replace(parameters=known).bind(**body)
    except TypeError as problem:
        names = ", ".join(one.name for one in known)
        raise ProblemError(f"{str(problem)[:100]}; the arguments are {names}") from None
