"""The server: addresses, and what answers them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from mislid._words import shown
from mislid.errors import MislidError, ProblemError
from mislid.server import pages, reading, writing
from mislid.server.access import LOGIN, Gate, Policy
from mislid.server.answers import answer, packed, refusal, refused
from mislid.server.describe import description
from mislid.server.live import Hub

STATIC = Path(__file__).parent / "static"
STUDY = "/api/studies/{id}"


def new_app(hub: Hub, policy: Policy) -> ASGIApp:
    """An ASGI application that shows the studies of a storage, and changes them if it may.

    Parameters
    ----------
    hub
        Where the studies are, and who follows them.
    policy
        Who may ask for what.

    Returns
    -------
    starlette.types.ASGIApp
        The application, for a server such as uvicorn.

    Raises
    ------
    ProblemError
        Where `hub` is no `Hub`, or `policy` no `Policy`.

    Examples
    --------
    Without a server, httpx can ask it directly:

    >>> import asyncio
    >>> import httpx
    >>> import mislid
    >>> from mislid.study.storage import as_storage
    >>> storage = as_storage(None)
    >>> study = mislid.create_study(
    ...     study_name="tea", candidates=["oolong", "sencha"], m=1, noise=1.0, storage=storage
    ... )
    >>> study.add_observations([("oolong", 6.0), ("sencha", 7.5)])
    >>> async def asked(address):
    ...     hub = Hub(storage)
    ...     app = new_app(hub, Policy(hosts=frozenset({"lab.example"})))
    ...     client = httpx.AsyncClient(
    ...         transport=httpx.ASGITransport(app), base_url="http://lab.example"
    ...     )
    ...     async with hub.running(), client:
    ...         return (await client.get(address)).json()
    >>> state = asyncio.run(asked("/api/studies/1/state"))["state"]
    >>> state["samples"], state["best_now"]
    (2, ['sencha'])
    >>> asyncio.run(asked("/api/studies/2/state"))["error"]["message"]
    'there is no study with the id 2 here'
    """
    if not isinstance(hub, Hub):
        raise ProblemError(f"hub must be a mislid.server.live.Hub; got {shown(hub)}")
    if not isinstance(policy, Policy):
        raise ProblemError(f"policy must be a mislid.server.access.Policy; got {shown(policy)}")

    @asynccontextmanager
    async def alive(_app: Starlette) -> AsyncIterator[None]:
        async with hub.running():
            yield

    app = Starlette(
        routes=[*_routes(policy.write), Mount("/static", StaticFiles(directory=STATIC))],
        lifespan=alive,
        exception_handlers={MislidError: _refused, HTTPException: _unknown, Exception: _refused},
    )
    app.router.redirect_slashes = False
    app.state.hub, app.state.policy = hub, policy
    return Gate(app, policy)


def _routes(write: bool) -> list[Route]:
    found = [
        Route("/", pages.studies),
        Route("/studies/{id}", pages.study),
        Route("/compare", pages.compare),
        Route("/static/style.css", pages.style),
        Route(LOGIN, pages.login, methods=["GET", "POST"]),
        Route("/api/openapi.json", _description(write)),
        Route("/api/studies", reading.studies),
        *(Route(f"{STUDY}/{kind}", reading.view(kind)) for kind in reading.KINDS),
        Route(f"{STUDY}/events", reading.events),
        Route(f"{STUDY}/revisions", reading.revisions),
        Route(f"{STUDY}/stream", reading.stream),
        Route(f"{STUDY}/certificate", reading.certificate),
        Route(f"{STUDY}/verification", reading.verification),
        Route(f"{STUDY}/what-if", reading.what_if),
    ]
    if write:
        found.append(Route("/api/studies", writing.create, methods=["POST"]))
        found += [
            Route(f"{STUDY}/{name}", writing.call(name), methods=["POST"]) for name in writing.CALLS
        ]
    return found


def _description(write: bool) -> Any:
    async def described(request: Request) -> Response:
        return answer(request, packed(description(write)))

    return described


async def _refused(request: Request, problem: Exception) -> Response:
    answered = refused(problem)
    if request.url.path.startswith("/api/") or answered.status_code not in (404, 503):
        return answered
    said: str = json.loads(bytes(answered.body))["error"]["message"]
    return pages.problem(answered.status_code, said)


async def _unknown(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    said = {
        404: "there is nothing at this address",
        405: "this cannot be done here; a server that changes studies is started with --write",
    }.get(status, "the request cannot be answered")
    if request.url.path.startswith("/api/"):
        return refusal(status, "Address", said)
    return pages.problem(status, said)
