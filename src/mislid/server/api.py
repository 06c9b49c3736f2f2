"""The HTTP interface: reads of studies, their events as a list or a stream, and changes."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
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
from mislid.server.views import PROOFS
from mislid.study import Study, Trial
from mislid.study.manage import create_study, summary_of_line
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line

# Events of one answer.
MOST_EVENTS = 10_000
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


def _whole(request: Request, name: str, usual: int, most: int) -> int:
    """A parameter that is a number of events."""
    text = request.query_params.get(name, str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ProblemError(f"{name} must be a whole number of at least 0; got {text[:40]!r}")
    return min(int(text), most)


async def studies(request: Request) -> Response:
    """All studies, or the one of a name."""
    storage, name = hub_of(request).storage, request.query_params.get("name")

    def listed() -> list[dict[str, Any]]:
        return [row for one in storage.lines() for row in _row(storage, one, name)]

    return answer(request, packed({"studies": await asyncio.to_thread(listed)}))


def _row(storage: Storage, line: Line, name: str | None) -> list[dict[str, Any]]:
    """The summary of a study; a damaged log does not hide the others."""
    if name not in (None, line.name):
        return []
    try:
        return [{"id": line.key, **asdict(summary_of_line(storage, line))}]
    except CorruptStorageError:
        return [{"id": line.key, "name": line.name, "status": "damaged"}]
    except UnknownStudyError:
        return []  # deleted meanwhile


def view(kind: str) -> Endpoint:
    """The endpoint of a view."""

    async def found(request: Request) -> Response:
        seen = await hub_of(request).views.view(await line_of(request), kind, old=True)
        if kind in PROOFS and seen.content == b"null":
            raise HTTPException(409, f"the study has not decided: there is no {kind} yet")
        given = answer(request, seen.content)
        given.headers["age"] = str(int(time.monotonic() - seen.at))
        if kind == "certificate":
            given.headers["content-disposition"] = 'attachment; filename="certificate.json"'
        return given

    return found


async def events(request: Request) -> Response:
    """Events after a number: those that there are or, as a stream, those to come as well."""
    hub, line = hub_of(request), await line_of(request)
    if "text/event-stream" in request.headers.get("accept", ""):
        return _stream(request, hub, line)
    after = _whole(request, "after", 0, 2**53)
    most = max(1, _whole(request, "most", 1_000, MOST_EVENTS))
    entries = await hub.read(line.key, after, most)
    return answer(request, packed({"events": [event_json(one) for one in entries]}))


def _stream(request: Request, hub: Hub, line: Line) -> Response:
    if hub.streams >= MOST_STREAMS:
        raise HTTPException(503, f"{MOST_STREAMS} streams are open", {"retry-after": "10"})
    known = request.headers.get("last-event-id", "")
    after = int(known) if known.isdecimal() else _whole(request, "after", line.last, 2**53)
    views = _whole(request, "views", 0, 1) == 1
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    told = hub.stream(line, after, views=views)
    return StreamingResponse(told, 200, {"x-accel-buffering": "no"}, "text/event-stream")


async def what_if(request: Request) -> Response:
    """A forecast for another question."""
    hub, query = hub_of(request), request.query_params
    names = [one for one in ("m", "delta", "misspecification", "tolerance") if one in query]
    changes: dict[str, Any] = {name: _number(name, query[name]) for name in names}
    study = hub.views.of(await line_of(request)).study
    found = await asyncio.wrap_future(hub.views.slow.submit(study.what_if, **changes))
    return answer(request, packed(found.to_dict()))


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ProblemError(f"{name} must be a number; got {text[:40]!r}") from None
    return int(value) if name == "m" and value.is_integer() else value


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
    noise = body.get("noise")
    if isinstance(noise, dict) and noise.keys() == {"low", "high"}:  # a range; JSON has no tuples
        body["noise"] = noise["low"], noise["high"]
    if key is not None and body.get("study_name") is None:
        body["study_name"] = f"study-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    hub = hub_of(request)

    def make() -> dict[str, Any]:
        study = create_study(**body, load_if_exists=key is not None, storage=hub.storage)
        return {"id": hub.storage.find(study.study_name), "name": study.study_name}

    made = await asyncio.wrap_future(hub.views.writer.submit(make))
    return Response(packed(made), 201, media_type="application/json")


def call(name: str) -> Endpoint:
    """The endpoint of a method of `Study`; its warnings come with the answer."""
    method = getattr(Study, name)

    async def done(request: Request) -> Response:
        hub, line, body = hub_of(request), await line_of(request), await body_of(request)
        key = _key(request, body)
        _check(method, body, "self", "key")
        study = hub.views.of(line).study

        def change() -> dict[str, Any]:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = method(study, **body, key=key)
            doubts = [str(one.message) for one in said if issubclass(one.category, _DOUBTS)]
            return _outcome(study, found) | {"warnings": doubts}

        made = await asyncio.wrap_future(hub.views.writer.submit(change))
        return Response(packed(made), media_type="application/json")

    return done


def _outcome(study: Study, found: Trial | list[Trial] | None) -> dict[str, Any]:
    if found is None:
        return {"status": study.status, "samples": study.samples}
    return {"trials": [_trial(one) for one in (found if isinstance(found, list) else [found])]}


def _trial(trial: Trial) -> Any:
    names = ("id", "arm", "worker", "expires")
    features = None if trial.features is None else trial.features.tolist()
    return as_plain({name: getattr(trial, name) for name in names} | {"features": features})


def _key(request: Request, body: dict[str, Any]) -> str | None:
    """The idempotency key, of the body or of the header."""
    key = body.pop("key", None)
    return request.headers.get("idempotency-key") if key is None else as_text(key, "key")


def _check(method: Callable[..., Any], body: dict[str, Any], *hidden: str) -> None:
    """Refuse arguments that are misspelled or missing."""
    known = {
        name: one
        for name, one in inspect.signature(method).parameters.items()
        if name not in hidden
    }
    for name in body:
        if name not in known:
            raise ProblemError(f"{name[:40]!r} is none of the arguments: {', '.join(known)}")
    for name, one in known.items():
        if one.default is one.empty and name not in body:
            raise ProblemError(f"{name} must be given")
