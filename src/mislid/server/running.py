"""Let the server listen, until it is told to end."""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mislid._words import shown
from mislid.errors import ProblemError
from mislid.server.access import HEADERS, Policy, host_names
from mislid.server.answers import refusal
from mislid.server.app import new_app
from mislid.server.live import Hub
from mislid.study.storage import Storage

# Seconds in which the head of a request has to come, and bytes that it may have.
PATIENCE, LONGEST_HEAD = 10.0, 32 * 1024
# Seconds in which a client has to read something of what it is sent.
STALLED = 60.0
# Connections at once: streams, and some more. Files that may be open: these, those that are about
# to be refused, and the storage's.
MOST_CONNECTIONS, FILES = 1_200, 4_096
LOCAL = ("127.0.0.1", "localhost", "::1")
# Letters and digits that a token has at least, and at most.
SHORTEST, _LONGEST = 20, 1_000


class Patient(H11Protocol):
    """HTTP for which nobody waits for ever: a head that does not come ends the connection."""

    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, or for the rest of this one, which nobody needs."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self.loop.call_later(PATIENCE, self._give_up, self.cycle)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALLED, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def _give_up(self, cycle: Any) -> None:
        if self.cycle is cycle and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the form of all errors."""
        said = refusal(400, "Request", msg, {"connection": "close", **HEADERS})
        parts = (
            h11.Response(status_code=400, headers=said.raw_headers),
            h11.Data(data=bytes(said.body)),
            h11.EndOfMessage(),
        )
        for part in parts:
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """A server whose streams end when it does."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams end, then wait for the rest."""
        self._end()
        await super().shutdown(sockets)


def new_token() -> str:
    """A token that nobody guesses."""
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
    """What is asked of requests; another address than this computer's, or writing, needs a token.

    Raises
    ------
    ProblemError
        Where a token is needed, and none is given; where a proxy has no address.
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
        Where that is not possible, such as when another program does already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as problem:
        raise ProblemError(
            f"--host {host} and --port {port} must be an address of this computer that no other "
            f"program listens to: {problem}"
        ) from None


def server_of(storage: Storage, policy: Policy, **options: Any) -> Server:
    """A server that is not started yet, with options of `uvicorn.Config`."""
    if not isinstance(storage, Storage):
        raise ProblemError(
            "storage must be an open one, as mislid.study.storage.as_storage gives it; got "
            f"{shown(storage)}"
        )
    hub = Hub(storage)
    app = new_app(hub, policy)
    own: dict[str, Any] = {
        "http": Patient,
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "server_header": False,
        "date_header": False,
        "log_level": "warning",
        "limit_concurrency": MOST_CONNECTIONS,
        "timeout_keep_alive": 10,
        "timeout_graceful_shutdown": 2,
        "h11_max_incomplete_event_size": LONGEST_HEAD,
        # Anybody can send the headers of a proxy: only those of a declared one are believed.
        "proxy_headers": bool(policy.proxies),
        "forwarded_allow_ips": list(policy.proxies),
    }
    _refuse_other_options(options, {"app", *own})
    return Server(uvicorn.Config(app, **own, **options), hub.end)


def _refuse_other_options(options: Iterable[str], own: set[str]) -> None:
    known = inspect.signature(uvicorn.Config).parameters.keys() - own
    for name in options:
        if name not in known:
            raise ProblemError(
                "options must be those of uvicorn.Config that the server does not set itself; got "
                f"{name!r}"
            )


def allow_files() -> None:
    """Let this process have a file for every connection, as far as the system lets it."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve(storage: Storage, policy: Policy, at: socket.socket, **options: Any) -> None:
    """Answer requests until SIGINT or SIGTERM.

    Parameters
    ----------
    storage
        Where the studies are.
    policy
        Who may ask for what.
    at
        Where it listens.
    **options
        Of `uvicorn.Config`.

    Raises
    ------
    ProblemError
        Before it listens: where `storage`, `policy` or `at` is something else, where the server
        sets an option itself or uvicorn has none of that name, or in a thread other than the main
        one, which alone gets signals.

    Examples
    --------
    The command `mislid serve` does the same, with a policy for its address:

    >>> policy = policy_for("127.0.0.1", 8600, write=False, token=None)
    >>> with listen("127.0.0.1", 0) as at:
    ...     serve("lab.db", policy, at)
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: storage must be an open one, as mislid.study.storage.as_storage
    gives it; got 'lab.db'
    """
    if not isinstance(at, socket.socket):
        raise ProblemError(f"at must be a socket, as `listen` gives it; got {shown(at)}")
    if threading.current_thread() is not threading.main_thread():
        raise ProblemError("serve must be called in the main thread, which alone gets signals")
    server = server_of(storage, policy, **options)
    allow_files()

    def end(number: int, _frame: object) -> None:
        # After the server has ended: the process ends by the signal, but with a closed storage.
        storage.close()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, end)
    with suppress(KeyboardInterrupt):
        server.run([at])
