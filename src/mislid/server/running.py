"""Let the server listen, until it is told to end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mislid.errors import ProblemError
from mislid.server.access import Policy, host_names
from mislid.server.app import new_app
from mislid.study.storage import Storage

# Seconds in which the head of a request has to come, and bytes that it may have.
PATIENCE, LONGEST_HEAD = 10.0, 32 * 1024
# Connections at once: streams, and some more.
MOST_CONNECTIONS = 1_200
LOCAL = ("127.0.0.1", "localhost", "::1")
# Letters and digits that a token has at least.
SHORTEST = 20


class Patient(H11Protocol):
    """HTTP for which nobody waits for ever: a head that does not come ends the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._give_up)

    def _give_up(self) -> None:
        cycle: Any = self.cycle  # none before the first request
        if cycle is None and not self.transport.is_closing():
            self.transport.close()


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def read_token(path: str) -> str:
    """The token in a file that only its owner can read."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8").strip()
        mode = place.stat().st_mode
    except (OSError, ValueError) as problem:
        raise ProblemError(f"token file {path!r} cannot be read: {problem}") from None
    if mode & 0o077:
        raise ProblemError(
            f"token file {path!r} must be readable by its owner alone: chmod 600 {path}"
        )
    if len(text) < SHORTEST or not text.isascii() or not text.isprintable() or " " in text:
        raise ProblemError(
            f"token file {path!r} must hold {SHORTEST} or more letters and digits, in one word"
        )
    return text


def policy_for(
    host: str, port: int, *, write: bool, token: str | None, names: Iterable[str] = ()
) -> Policy:
    """What is asked of requests; another address than this computer's, or writing, needs a token.

    Raises
    ------
    ProblemError
        Where a token is needed, and none is given.
    """
    if token is None and (write or host not in LOCAL):
        raise ProblemError("a token must be given to write, or to listen to other computers")
    return Policy(host_names(host, port, names), token, write)


def serve(storage: Storage, policy: Policy, host: str, port: int, **options: Any) -> None:
    """Answer requests until SIGINT or SIGTERM.

    Parameters
    ----------
    storage
        Where the studies are.
    policy
        Who may ask for what.
    host, port
        Where to listen.
    **options
        Of `uvicorn.Config`.
    """
    config = uvicorn.Config(
        new_app(storage, policy),
        host=host,
        port=port,
        http=Patient,
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        date_header=False,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        **options,
    )
    uvicorn.Server(config).run()
