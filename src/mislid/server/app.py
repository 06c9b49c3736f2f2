"""The application, with its pages and addresses, and the server that runs it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from mislid import __version__
from mislid._formatting import Html, element, visible
from mislid.errors import MislidError, ProblemError
from mislid.report.page import style_sheet
from mislid.server import api
from mislid.server.access import LOGIN, Gate, Policy, logged_in
from mislid.server.answers import PATIENCE, answer, content_of, refused
from mislid.server.live import QUICK, SLOW, Hub
from mislid.study.storage import Storage

# Bytes of the head of a request.
LONGEST_HEAD = 32 * 1024
# Connections at once, fewer than the 1,024 files that a process may usually open.
MOST_CONNECTIONS = 900
_STATIC = Path(__file__).parent / "static"
_STUDY = "/api/studies/{study}"
_WAIT = (
    element("p", "Loading...", class_="note"),
    element("noscript", element("p", "This page needs JavaScript; a report does not.")),
)


def new_app(hub: Hub, policy: Policy) -> ASGIApp:
    """An ASGI application that shows the studies of a storage, and changes them if it may.

    Without a server, httpx can ask it directly:

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
            Route("/api/studies", api.studies),
            Route("/api/studies", api.create, methods=["POST"]),
            Route(_STUDY, api.view("state")),
            *(Route(f"{_STUDY}/{kind}", api.view(kind)) for kind in (*QUICK, *SLOW)),
            Route(f"{_STUDY}/certificate", api.certificate),
            Route(f"{_STUDY}/events", api.events),
            *(Route(f"{_STUDY}/{name}", api.call(name), methods=["POST"]) for name in api.CALLS),
        ],
        exception_handlers=dict.fromkeys((MislidError, HTTPException, Exception), _refused),
    )
    app.router.redirect_slashes = False
    app.state.hub, app.state.policy = hub, policy
    return Gate(app, policy)


async def _refused(request: Request, problem: Exception) -> Response:
    """An error as JSON or, where a page is not there, as a page."""
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
    line = await api.line_of(request)
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
    """The rules of reports, and those of pages."""
    return answer(request, (style_sheet() + _static("app.css")).encode(), "text/css")


class Patient(H11Protocol):
    """HTTP that closes connections of clients who are slow to write a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self.loop.call_later(PATIENCE, self._give_up, self.cycle)

    def _give_up(self, cycle: Any) -> None:
        if self.cycle is cycle and not self.transport.is_closing():
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free.

    Raises
    ------
    ProblemError
        Where the address is not of this computer, or another program listens to it.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        raise ProblemError(
            f"--host {host} and --port {port} must be an address of this computer that no other "
            f"program listens to: {problem}"
        ) from None


class LiveServer(Server):
    """A server whose streams end when it does."""

    def __init__(self, config: Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then wait for other requests."""
        self._hub.end()
        await super().shutdown(sockets)


def server_of(storage: Storage, policy: Policy) -> Server:
    """A server that has not been started."""
    hub = Hub(storage)
    config = Config(
        new_app(hub, policy),
        http=Patient,
        ws="none",
        server_header=False,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        # Anybody can send the headers of a proxy: only those of a declared one are believed.
        proxy_headers=bool(policy.proxies),
        forwarded_allow_ips=list(policy.proxies),
    )
    return LiveServer(config, hub)


def serve(storage: Storage, policy: Policy, at: socket.socket) -> None:
    """Answer requests at a socket that listens, until SIGINT or SIGTERM."""
    server = server_of(storage, policy)

    def end(number: int, _frame: object) -> None:
        # After the server has ended: the process ends by the signal, but with a closed storage.
        storage.close()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, end)
    with suppress(KeyboardInterrupt):
        server.run([at])
