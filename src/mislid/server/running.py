"""Run the server: token, address, limits of connections, and its end."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mislid.errors import ProblemError
from mislid.server.access import Policy, host_names
from mislid.server.app import new_app
from mislid.server.live import Hub
from mislid.study.storage import Storage

# Seconds in which the head of a request has to come, and bytes that it may have.
PATIENCE, LONGEST_HEAD = 10.0, 32 * 1024
# Seconds in which a client has to read something of what it is sent.
STALLED = 60.0
# Connections at once, fewer than the 1,024 files that a process may usually open.
MOST_CONNECTIONS = 900
LOCAL = ("127.0.0.1", "localhost", "::1")
# Letters and digits that a token has at least, and at most.
SHORTEST, _LONGEST = 20, 1_000


class Patient(H11Protocol):
    """HTTP that closes connections of clients who are slow to write a head or to read an answer."""

    _stalled: asyncio.TimerHandle | None = None

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

    def pause_writing(self) -> None:
        """Wait for a client that does not read."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no longer."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """A server whose streams end when it does."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        super().__init__(config)
        self._hub = hub

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, then wait for other requests."""
        self._hub.end()
        await super().shutdown(sockets)


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(24)


def read_token(path: str) -> str:
    """The token in a file that only its owner can read."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_LONGEST + 1).strip()
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as problem:
        raise ProblemError(f"token file {path!r} cannot be read: {problem}") from None
    if os.name == "posix" and mode & 0o077:
        raise ProblemError(
            f"token file {path!r} must be readable by its owner alone: chmod 600 {path}"
        )
    is_word = text.isascii() and text.isprintable() and " " not in text
    if not is_word or not SHORTEST <= len(text) <= _LONGEST:
        raise ProblemError(
            f"token file {path!r} must hold {SHORTEST} or more letters and digits, in one word"
        )
    return text


def policy_for(
    host: str,
    port: int,
    *,
    write: bool,
    token: str | None,
    names: Iterable[str] = (),
    proxies: Iterable[str] = (),
) -> Policy:
    """The policy of a server; writing, and listening to other computers, needs a token.

    Raises
    ------
    ProblemError
        Where a token is needed and none is given, or a proxy has no address.
    """
    if token is None and (write or host not in LOCAL):
        raise ProblemError("a token must be given to write, or to listen to other computers")
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise ProblemError(
                "--trusted-proxy must be an address such as 127.0.0.1, or a network such as "
                f"10.0.0.0/28; got {proxy!r}"
            ) from None
    return Policy(host_names(host, port, names), token, write, tuple(proxies))


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


def server_of(storage: Storage, policy: Policy) -> Server:
    """A server that has not been started."""
    hub = Hub(storage)
    config = uvicorn.Config(
        new_app(hub, policy),
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
        # Anybody can send the headers of a proxy: only those of a declared one are believed.
        proxy_headers=bool(policy.proxies),
        forwarded_allow_ips=list(policy.proxies),
    )
    return Server(config, hub)


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
