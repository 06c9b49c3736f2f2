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

from mislid.errors import MislidError
from mislid.server import pages, reading, writing
from mislid.server.access import LOGIN, Gate, Policy
from mislid.server.answers import answer, packed, refusal, refused
from mislid.server.describe import description
from mislid.server.live import Hub

STATIC = Path(__file__).parent / "static"
STUDY = "/api/studies/{id}"


def new_app(hub: Hub, policy: Policy) -> Gate:
    """An ASGI application that shows the studies of a storage, and changes them if it may.

    Parameters
    ----------
    hub
        Where the studies are, and who follows them.
    policy
        Who may ask for what.

    Returns
    -------
    Gate
        The application.
    """

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
