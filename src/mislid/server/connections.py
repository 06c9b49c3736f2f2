"""Connections: how many a client may hold, and how long it may take to write a request."""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mislid.server.answers import LONGEST_HEAD, PATIENCE, refusal

# Connections at once, fewer than the 1,024 files that a process may usually open.
MOST_CONNECTIONS = 900
# And those of one address.
MOST_OF_ADDRESS = 64


class Patient(H11Protocol):
    """HTTP that closes the connections of clients who hold too many, or write slowly."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS or self._of_address() > MOST_OF_ADDRESS:
            transport.abort()
        else:
            self._wait()

    def _of_address(self) -> int:
        """The number of connections of this address; those of a proxy are of many clients."""
        if self.client is None:
            return 0
        host = ip_address(self.client[0].partition("%")[0])
        if any(host in ip_network(proxy) for proxy in self.config.forwarded_allow_ips or ()):
            return 0
        clients = [one.client for one in self.connections if isinstance(one, Patient)]
        return sum(client is not None and client[0] == self.client[0] for client in clients)

    def data_received(self, data: bytes) -> None:
        """Take in data, unless a refusal was sent."""
        if self.conn.their_state is not h11.ERROR:
            super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        self._wait()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or has too long a head."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # it has been answered already
            return
        is_idle = self.conn.our_state is h11.IDLE
        problem, status = sys.exception(), 400
        if isinstance(problem, h11.RemoteProtocolError):
            status = problem.error_status_hint
        if status == 431:
            msg = f"the head of a request may have at most {LONGEST_HEAD} bytes"
        answer = refusal(status, msg, headers={"connection": "close"})
        phrase = HTTPStatus(status).phrase.encode()
        for event in (
            h11.Response(status_code=status, headers=answer.raw_headers, reason=phrase),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        if is_idle:  # closed before all of the head has come, the connection would lose the answer
            self.transport.write_eof()
        else:
            self.transport.close()

    def _wait(self) -> None:
        self.loop.call_later(PATIENCE, self._give_up, self.cycle)

    def _give_up(self, cycle: Any) -> None:
        if self.cycle is cycle and not self.transport.is_closing():
            self.transport.close()
