"""A proxy before a PostgreSQL server that loses commits, or their answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

COMMIT = b"COMMIT\x00"  # not that of READ COMMITTED


class Link:
    """A client and its connection to the server."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.muted, self.answered = threading.Event(), threading.Event()

    def close(self) -> None:
        if not (self.muted.is_set() and not self.answered.is_set()):
            _close(self.client, self.server)


class Proxy:
    """Passes bytes on. `lose` says what happens to the next commits, one word each.

    "answer": the server gets the commit, and its answer is dropped with the connection. "commit":
    the connection is dropped before the server gets it. "server": from then on all
    connections are refused.
    """

    def __init__(self, port: int) -> None:
        self.lose: list[str] = []
        self.lost = 0
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.closed:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._to))
                except OSError:  # it is down
                    client.close()
                    continue
                self._open += [client, server]
                link = Link(client, server)
                for work in (self._to_server, self._to_client):
                    threading.Thread(target=work, args=(link,), daemon=True).start()

    def _to_server(self, link: Link) -> None:
        with suppress(OSError):
            while data := link.client.recv(65536):
                if COMMIT in data and self.lose:
                    self._lose(self.lose.pop(0), data, link)
                    break
                link.server.sendall(data)
        link.close()

    def _lose(self, what: str, data: bytes, link: Link) -> None:
        self.lost += 1
        if what != "commit":
            link.muted.set()
            link.server.sendall(data)
            assert link.answered.wait(10)
        self.closed = what == "server"

    def _to_client(self, link: Link) -> None:
        with suppress(OSError):
            while data := link.server.recv(65536):
                if link.muted.is_set():
                    link.answered.set()
                    break
                link.client.sendall(data)
        link.answered.set()  # or nothing will come any more
        link.close()

    def close(self) -> None:
        self._listening.close()
        _close(*self._open)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def proxy_before(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
