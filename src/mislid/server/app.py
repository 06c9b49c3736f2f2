"""The ASGI application (JSON and pages), and the server that runs it."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import signal
import socket
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Config, Server

from mislid import __version__
from mislid._formatting import Html, element, visible
from mislid._validation import as_text
from mislid.errors import (
    ContradictedWarning,
    CorruptStorageError,
    ImplausibleValueWarning,
    MislidError,
    ProblemError,
    UnknownStudyError,
)
from mislid.io import as_plain
from mislid.report import style_sheet
from mislid.server.access import LOGIN, Gate, Policy, client_of, logged_in
from mislid.server.answers import (
    LONGEST_HEAD,
    answer,
    body_of,
    content_of,
    counted,
    event_json,
    packed,
    refused,
)
from mislid.server.connections import MOST_CONNECTIONS, Patient
from mislid.server.live import MOST_OF_CLIENT, MOST_STREAMS, QUICK, SLOW, Hub
from mislid.study import Study, Trial
from mislid.study.events import naming
from mislid.study.manage import create_study, summary_of_line
from mislid.study.results import DAMAGED
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line

_STATIC = Path(__file__).parent / "static"
_STUDY = "/api/studies/{study}"
_WAIT = (
    element("p", "Loading...", class_="note"),
    element("noscript", element("p", "This page needs JavaScript; a report does not.")),
)
# Connections that are accepted in one step: a burst of many would use up the process's files.
MOST_WAITING = 100
# Most events in one response.
MOST_EVENTS = 1_000
# Methods of `Study` that clients may call to change it.
CALLS = ("ask", "tell", "correct", "void")
# Arguments of `create_study` that clients may not give.
_OWN = ("storage", "load_if_exists", "names")
# Warnings in responses; other threads may issue warnings of other kinds.
_DOUBTS = (ContradictedWarning, ImplausibleValueWarning)
Endpoint = Callable[[Request], Any]


def hub_of(request: Request) -> Hub:
    """The hub of the server."""
    hub: Hub = request.app.state.hub
    return hub


async def line_of(request: Request) -> Line:
    """The study named in the path of a request."""
    return await hub_of(request).find(request.path_params["study"])


def _after(request: Request, usual: int) -> int:
    """The number of the last event that a client knows."""
    text = request.query_params.get("after", str(usual))
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ProblemError(f"after must be a whole number of at least 0; got {text[:40]!r}")
    return int(text)


async def studies(request: Request) -> Response:
    """List all studies."""
    storage = hub_of(request).storage

    def listed() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for line in storage.lines():
            try:
                rows.append({"id": line.key, **asdict(summary_of_line(storage, line))})
            except CorruptStorageError:  # the others are still listed
                rows.append({"id": line.key, "name": line.name, "status": DAMAGED})
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
    """Events after a number; as a stream, future events too."""
    hub, line = hub_of(request), await line_of(request)
    if "text/event-stream" in request.headers.get("accept", ""):
        return _stream(request, hub, line)
    with naming(line.name):
        entries = await hub.read(line.key, _after(request, 0), MOST_EVENTS)
        return answer(request, packed({"events": [event_json(one) for one in entries]}))


def _stream(request: Request, hub: Hub, line: Line) -> Response:
    client = client_of(request.scope)
    if hub.streams.total() >= MOST_STREAMS or hub.streams[client] >= MOST_OF_CLIENT:
        said = f"at most {MOST_STREAMS} streams may be open, and {MOST_OF_CLIENT} of each client"
        raise HTTPException(503, said, {"retry-after": "10"})
    known = request.headers.get("last-event-id", "")
    after = int(known) if known.isdecimal() else _after(request, line.last)
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return Stream(hub, client, hub.stream(line, after))


class Stream(StreamingResponse):
    """A stream, which counts as one of its client's while it is open."""

    def __init__(self, hub: Hub, client: str, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, 200, {"x-accel-buffering": "no"}, "text/event-stream")
        self._hub, self._client = hub, client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it to its end."""
        with counted(self._hub.streams, self._client):
            await super().__call__(scope, receive, send)


async def create(request: Request) -> Response:
    """Create a study; a repeated call with the same key returns the same study."""
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
    """The endpoint of a method of `Study`; the response includes its warnings."""
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
    """The idempotency key in the body or the header."""
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


def new_app(hub: Hub, policy: Policy) -> ASGIApp:
    """An ASGI application that shows the studies of a storage and, if allowed, changes them.

    httpx can call it without a server:

    >>> import asyncio
    >>> import httpx
    >>> import mislid
    >>> from mislid.study.storage import as_storage
    >>> storage = as_storage(None)
    >>> study = mislid.create_study(
    ...     study_name="tea", candidates=["oolong", "sencha"], m=1, noise=1.0, storage=storage
    ... )
    >>> async def asked(address):
    ...     app = new_app(Hub(storage), Policy(hosts=frozenset({"lab.example"})))
    ...     client = httpx.AsyncClient(
    ...         transport=httpx.ASGITransport(app), base_url="http://lab.example"
    ...     )
    ...     async with client:
    ...         return (await client.get(address)).json()
    >>> asyncio.run(asked("/api/studies/tea"))["state"]["status"]
    'running'
    >>> asyncio.run(asked("/api/studies/coffee"))["error"]["message"]
    "there is no study 'coffee' here"
    """
    app = Starlette(
        routes=[
            Route("/", _studies),
            Route("/studies/{study}", _study),
            Route(LOGIN, _login, methods=["GET", "POST"]),
            Route("/static/style.css", _style),
            Mount("/static", StaticFiles(directory=_STATIC)),
            Route("/api/studies", studies),
            Route("/api/studies", create, methods=["POST"]),
            Route(_STUDY, view("state")),
            *(Route(f"{_STUDY}/{kind}", view(kind)) for kind in (*QUICK, *SLOW)),
            Route(f"{_STUDY}/certificate", certificate),
            Route(f"{_STUDY}/events", events),
            *(Route(f"{_STUDY}/{name}", call(name), methods=["POST"]) for name in CALLS),
        ],
        exception_handlers=dict.fromkeys((MislidError, HTTPException, Exception), _refused),
    )
    app.router.redirect_slashes = False
    app.state.hub, app.state.policy = hub, policy
    return Gate(app, policy)


async def _refused(request: Request, problem: Exception) -> Response:
    """An error as JSON or, for a missing page, as a page."""
    answered = refused(problem)
    if request.url.path.startswith("/api/") or answered.status_code not in (404, 503):
        return answered
    said = json.loads(bytes(answered.body))["error"]["message"]
    back = element("p", element("a", "All studies", href="/"))
    return _page("Error", element("h1", said), back, status=answered.status_code)


@cache
def _static(name: str) -> Html:
    return Html((_STATIC / name).read_text(encoding="utf-8"))


def _page(
    title: str, *parts: str, status: int = 200, data: Mapping[str, str] | None = None
) -> Response:
    given = (data or {}).items()
    marks = "".join(f' data-{name}="{escape(visible(value))}"' for name, value in given)
    main = "".join(parts)
    text = Template(_static("page.html")).substitute(
        title=escape(visible(title)), version=__version__, data=marks, main=main
    )
    return HTMLResponse(text, status)


async def _studies(_request: Request) -> Response:
    return _page("Studies", element("h1", "Studies"), *_WAIT, data={"page": "studies"})


async def _study(request: Request) -> Response:
    line = await line_of(request)
    data = {"page": "study", "id": str(line.key), "name": line.name, "after": str(line.last)}
    return _page(f"{line.name}: a study", element("h1", line.name), *_WAIT, data=data)


async def _login(request: Request) -> Response:
    """Ask for the token, and give the browser a cookie."""
    policy: Policy = request.app.state.policy
    wrong = Html()
    if request.method == "POST":
        form = parse_qs((await content_of(request)).decode("utf-8", "replace"))
        if policy.knows(form.get("token", [""])[0].strip()):
            return logged_in(policy, request.scope)
        await asyncio.sleep(0.5)
        wrong = element("p", "This is not the token.", role="alert")
    return _page("Token", wrong, _static("login.html"), status=401 if wrong else 200)


async def _style(request: Request) -> Response:
    """The style sheets of reports and pages."""
    return answer(request, (style_sheet() + _static("app.css")).encode(), "text/css")


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free port.

    Raises
    ------
    ProblemError
        The address does not belong to this computer, or another program listens on it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=MOST_WAITING)
    except (OSError, OverflowError) as problem:
        raise ProblemError(
            f"--host {host} and --port {port} must be an address of this computer that no other "
            f"program listens to: {problem}"
        ) from None


class LiveServer(Server):
    """A server that ends its event streams at shutdown."""

    def __init__(self, config: Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then wait for the remaining requests."""
        self._hub.end()
        await super().shutdown(sockets)


def server_of(storage: Storage, policy: Policy) -> Server:
    """A configured server, not yet started."""
    hub = Hub(storage)
    config = Config(
        new_app(hub, policy),
        http=Patient,
        ws="none",
        server_header=False,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        backlog=MOST_WAITING,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        # Any client can send a proxy's headers, so only those of declared proxies are trusted.
        proxy_headers=bool(policy.proxies),
        forwarded_allow_ips=list(policy.proxies),
    )
    return LiveServer(config, hub)


def serve(storage: Storage, policy: Policy, at: socket.socket) -> None:
    """Answer requests on a listening socket until SIGINT or SIGTERM."""
    server = server_of(storage, policy)

    def end(number: int, _frame: object) -> None:
        # uvicorn raises the signal again when it ends: close the storage before the process ends.
        storage.close()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, end)
    with suppress(KeyboardInterrupt):
        server.run([at])
