"""The application: pages, and the addresses of the HTTP interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from mislid import __version__
from mislid._formatting import Html, element, visible
from mislid.errors import MislidError
from mislid.report.summary import style_sheet
from mislid.server import api
from mislid.server.access import LOGIN, Gate, Policy, logged_in
from mislid.server.answers import answer, content_of, refused
from mislid.server.live import LATER, SOON, Hub
from mislid.server.views import PROOFS

_STATIC = Path(__file__).parent / "static"
_STUDY = "/api/studies/{study}"
_FIELD = '<input id="token" name="token" type="password" autocomplete="current-password" required>'
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

    @asynccontextmanager
    async def alive(_app: Starlette) -> AsyncIterator[None]:
        yield
        hub.views.close()

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
            *(Route(f"{_STUDY}/{kind}", api.view(kind)) for kind in (*SOON, *LATER, *PROOFS)),
            Route(f"{_STUDY}/events", api.events),
            Route(f"{_STUDY}/what-if", api.what_if),
            *(Route(f"{_STUDY}/{name}", api.call(name), methods=["POST"]) for name in api.CALLS),
        ],
        lifespan=alive,
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
def _template() -> Template:
    return Template((_STATIC / "page.html").read_text(encoding="utf-8"))


def _page(
    title: str, *parts: str, status: int = 200, data: Mapping[str, str] | None = None
) -> Response:
    given = (data or {}).items()
    marks = "".join(f' data-{name}="{escape(visible(value))}"' for name, value in given)
    main = "".join(parts)
    text = _template().substitute(
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
        if policy.knows(_token_of(await content_of(request))):
            return logged_in(policy, request.scope)
        await asyncio.sleep(0.5)
        wrong = element("p", "This is not the token.", role="alert")
    form = element(
        "form",
        element("label", "Token", for_="token"),
        Html(_FIELD),
        element("button", "Show the studies", type="submit"),
        method="post",
        action=LOGIN,
        class_="login",
    )
    words = element("p", "The server printed a token at its start, or reads it from a file.")
    title = element("h1", "Token")
    return _page("Token", title, words, wrong, form, status=401 if wrong else 200)


def _token_of(form: bytes) -> str:
    try:
        given = parse_qs(form.decode("utf-8", "replace"), max_num_fields=5)
    except ValueError:
        return ""
    return given.get("token", [""])[0].strip()


async def _style(request: Request) -> Response:
    """The rules of reports, and those of pages."""
    own = (_STATIC / "app.css").read_text(encoding="utf-8")
    return answer(request, (style_sheet() + own).encode(), "text/css")
