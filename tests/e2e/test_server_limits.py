"""A real server under clients that hold connections, write slowly or ask for too much."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from helpers.serving import Command, new_study, serving
from mislid.server.answers import PATIENCE
from mislid.server.connections import MOST_OF_ADDRESS
from mislid.server.live import MOST_OF_CLIENT
from mislid.study.storage import as_storage

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere this computer has one address of its own"
)
HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
# Seconds in which all is answered that is answered at all.
PROMPT = 10.0
STREAM = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    lab = tmp_path_factory.mktemp("limits") / "lab.db"
    storage = as_storage(lab)
    new_study(storage)
    storage.close()
    with serving(lab, "--write") as found:
        yield found
        said = found.log.read_text()
    assert "Traceback" not in said
    assert "ERROR" not in said


def client(server: Command, address: str) -> httpx.Client:
    """A client at an address of this computer, which opens a connection for each request."""
    return httpx.Client(
        base_url=server.url,
        headers={"authorization": f"Bearer {server.token}", "connection": "close"},
        transport=httpx.HTTPTransport(local_address=address),
        timeout=PROMPT,
    )


def answered(server: Command, address: str, requests: int = 20) -> None:
    """Let all of these be answered, and promptly."""
    begun = time.monotonic()
    with client(server, address) as asking:
        for _ in range(requests):
            assert asking.get("/api/studies/1").status_code == 200
    assert time.monotonic() - begun < PROMPT


async def is_closed(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Whether the server closes a connection in this time."""
    try:
        return await asyncio.wait_for(reader.read(1), seconds) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


async def hold(server: Command, n: int) -> tuple[int, int]:
    """Hold connections while another address asks; how many the server closes, soon and later."""
    opened = [await asyncio.open_connection(HERE, server.port) for _ in range(n)]
    asking = asyncio.create_task(asyncio.to_thread(answered, server, ELSEWHERE))
    soon = await asyncio.gather(*(is_closed(reader, 2.0) for reader, _ in opened))
    await asking
    later = await asyncio.gather(*(is_closed(reader, PATIENCE + PROMPT) for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    return sum(soon), sum(later)


@pytest.mark.slow
def test_idle_connections_leave_room_to_others(server: Command) -> None:
    soon, later = asyncio.run(hold(server, 200))
    assert (soon, later) == (200 - MOST_OF_ADDRESS, 200)
    answered(server, HERE)


def test_a_burst_of_connections_leaves_files_to_others(server: Command) -> None:
    """They wait in line while the server is stopped, and come all at once."""
    process = server.process.pid
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE, (400, limit_of_files()))
    os.kill(process, signal.SIGSTOP)
    with ExitStack() as opened:
        for _ in range(500):
            line = opened.enter_context(socket.socket())
            line.setblocking(False)
            line.connect_ex((HERE, server.port))
        os.kill(process, signal.SIGCONT)
        answered(server, ELSEWHERE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    assert "out of system resource" not in server.log.read_text()


def limit_of_files() -> int:
    """The hard limit of open files, which the server has from this process."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.slow
def test_heads_that_come_byte_by_byte_end(server: Command) -> None:
    with ExitStack() as opened:
        lines = [
            opened.enter_context(socket.create_connection((HERE, server.port), timeout=PROMPT))
            for _ in range(MOST_OF_ADDRESS)
        ]
        begun, head = time.monotonic(), iter("GET / HTTP/1.1\r\nX: " + "x" * 1_000)
        while lines and time.monotonic() < begun + PATIENCE + PROMPT:
            byte = next(head).encode()
            lines = [line for line in lines if takes(line, byte)]
            time.sleep(0.25)
        assert not lines
    answered(server, HERE)


def takes(line: socket.socket, byte: bytes) -> bool:
    """Whether the server still reads from a connection."""
    try:
        line.sendall(byte)
    except OSError:
        return False
    return True


def raw(server: Command, content: bytes) -> bytes:
    """All that the server says to this."""
    with socket.create_connection((HERE, server.port), timeout=PROMPT) as line:
        line.sendall(content)
        found = b""
        while part := line.recv(65536):
            found += part
    return found


def test_long_heads_and_strange_methods_are_refused(server: Command) -> None:
    host = f"Host: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
    long = raw(server, f"GET / HTTP/1.1\r\n{host}X: {'x' * 33 * 1024}\r\n\r\n".encode())
    assert long.startswith(b"HTTP/1.1 431 ")
    traced = raw(server, f"TRACE / HTTP/1.1\r\n{host}X-Secret: echo\r\n\r\n".encode())
    assert traced.startswith(b"HTTP/1.1 405 ")
    assert b"echo" not in traced
    answered(server, HERE, 1)


def test_a_key_that_comes_twice_is_refused(server: Command) -> None:
    with client(server, HERE) as asking:
        trial = asking.post("/api/studies/1/ask", json={}).json()["trials"][0]["id"]
        content = f'{{"trial": {trial}, "value": 0.5, "value": 5}}'
        answer = asking.post("/api/studies/1/tell", content=content)
        assert answer.status_code == 422
        assert "got 'value' twice" in answer.json()["error"]["message"]
        assert json.loads(asking.get("/api/studies/1").content)["state"]["samples"] == 0


def test_streams_of_a_client_are_bounded(server: Command) -> None:
    path = "/api/studies/1/events?after=0"
    with client(server, HERE) as asking, client(server, ELSEWHERE) as other, ExitStack() as opened:
        for _ in range(MOST_OF_CLIENT):
            answer = opened.enter_context(asking.stream("GET", path, headers=STREAM))
            assert answer.status_code == 200
        assert asking.get(path, headers=STREAM).status_code == 503
        with other.stream("GET", path, headers=STREAM) as answer:
            assert answer.status_code == 200
            assert "retry: 1000" in next(answer.iter_lines())
        answered(server, HERE)
