"""200 viewers and up to 50 tells a second: every stream has every event once, memory stays flat.

MISLID_LOAD_TELLS=3000 tries it for a minute and longer.
"""

import asyncio
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from helpers.serving import Command, new_study, serving, tell_at_rate
from mislid.study.storage import as_storage

TELLS = int(os.environ.get("MISLID_LOAD_TELLS", "300"))
STREAMS, RATE = 200, 50.0


class Listener:
    """A viewer, of which every fourth hangs up now and then, and resumes."""

    def __init__(self, port: int, number: int) -> None:
        self.port, self.number = port, number
        self.seen: list[int] = []
        self.visits = 0

    async def listen(self, last: asyncio.Future[int]) -> None:
        """Until the last event has come."""
        while not (last.done() and self.seen and self.seen[-1] >= last.result()):
            self.visits += 1
            await self._visit(last)

    async def _visit(self, last: asyncio.Future[int]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        known = f"Last-Event-ID: {self.seen[-1]}\r\n" if self.seen else ""
        head = f"GET /api/studies/1/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        head += f"Accept: text/event-stream\r\nX-Forwarded-For: 203.0.113.{self.number % 50}\r\n"
        writer.write(f"{head}{known}\r\n".encode())
        begun, patience = time.monotonic(), 1.0 + self.number % 7
        try:
            async for line in reader:
                if line.startswith(b"id: "):
                    self.seen.append(int(line[4:]))
                if line == b"\n" and self._ends(last, time.monotonic() - begun, patience):
                    return
        finally:
            writer.close()

    def _ends(self, last: asyncio.Future[int], spent: float, patience: float) -> bool:
        if last.done() and self.seen and self.seen[-1] >= last.result():
            return True
        return self.number % 4 == 0 and spent > patience


async def measured(server: Command) -> tuple[list[Listener], int, list[float]]:
    """What all saw, the last event, and the memory of the server over time."""
    loop = asyncio.get_running_loop()
    last: asyncio.Future[int] = loop.create_future()
    listeners = [Listener(server.port, number) for number in range(STREAMS)]
    tasks = [asyncio.create_task(one.listen(last)) for one in listeners]
    await asyncio.sleep(1.0)
    process, memory = psutil.Process(server.process.pid), []
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        telling = loop.run_in_executor(pool, tell_at_rate, server.storage, TELLS, RATE)
        while not telling.done():
            await asyncio.sleep(0.5)
            memory.append(process.memory_info().rss / 2**20)
        last.set_result(await telling)
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    return listeners, last.result(), memory


@pytest.mark.slow
def test_no_event_is_lost_or_doubled_under_load(tmp_path: Path) -> None:
    lab = tmp_path / "lab.db"
    storage = as_storage(lab)
    new_study(storage, noise=100.0)
    storage.close()
    # Four viewers at each of 50 addresses, since one address may not have so many streams.
    with serving(lab, "--trusted-proxy", "127.0.0.1") as server:
        listeners, last, memory = asyncio.run(measured(server))
        said = server.log.read_text()
    for one in listeners:
        assert one.seen == list(range(1, last + 1)), one.number
    assert any(one.visits > 1 for one in listeners)
    # What is kept for each event is little, and nothing is kept for each viewer and event.
    third = len(memory) // 3
    grown = max(memory[-third:]) - max(memory[third : 2 * third])
    assert grown < 30.0, memory
    assert "Traceback" not in said
    assert "ERROR" not in said
