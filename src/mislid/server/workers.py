"""Threads that do one thing after another, for so many who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mislid.server.answers import BusyError

Found = TypeVar("Found")


class Worker:
    """One thread; who comes when many wait is refused in the words `busy`."""

    def __init__(self, name: str, most: int, busy: str) -> None:
        self.pool = ThreadPoolExecutor(1, name)
        self._most, self._busy, self._waiting = most, busy, 0

    async def do(self, work: Callable[[], Found]) -> Found:
        """Do this in its turn."""
        if self._waiting >= self._most:
            raise BusyError(self._busy)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, work)
        finally:
            self._waiting -= 1
