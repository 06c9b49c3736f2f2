"""Studies that somebody looks at: one reader of each log, whoever listens.

A `Channel` keeps the last events of a study as they are sent, so that a stream can go on from any
number: from memory or, for one that was away for long, from the storage.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from mislid.errors import MislidError, StorageError, UnknownStudyError
from mislid.server.answers import LOG, packed
from mislid.server.views import SLOW, View, Views, failed
from mislid.study.events import Entry
from mislid.study.storage import Storage

# Seconds between looks at a log, between states that are sent, and between signs of life.
POLL, PAUSE, BEAT = 0.08, 0.25, 15.0
# Events that are read at once, and that are kept in memory.
AT_ONCE, KEPT = 2_000, 20_000
# Streams that may be open.
MOST_STREAMS = 1_000
# What may be computed without anybody waiting for it.
MOST_TASKS = 20


def event_json(entry: Entry) -> dict[str, object]:
    """An event as programs get it.

    >>> event_json(Entry(3, 12.5, "told", '{"trial":0,"value":0.7}'))
    {'number': 3, 'time': 12.5, 'kind': 'told', 'body': {'trial': 0, 'value': 0.7}}
    """
    body = json.loads(entry.body)
    return {"number": entry.sequence, "time": entry.time, "kind": entry.kind, "body": body}


def message(name: str, content: bytes, number: int | None = None) -> bytes:
    """A server-sent event.

    >>> message("told", b"{}", 7).splitlines()
    [b'id: 7', b'event: told', b'data: {}', b'']
    """
    first = b"" if number is None else b"id: %d\n" % number
    return first + b"event: %s\ndata: %s\n\n" % (name.encode(), content)


def logged(entry: Entry) -> bytes:
    """An event of the log as it is sent."""
    return message("logged", packed(event_json(entry)), entry.sequence)


class Channel:
    """One study as all who look at it see it."""

    def __init__(self, name: str, key: int, last: int) -> None:
        self.name, self.key, self.last = name, key, last
        self.listeners = 0
        self.version = 0
        self.is_gone = False
        self._events: list[bytes] = []  # the last of them, up to `last`
        self._messages: dict[str, tuple[int, bytes]] = {}
        self._changed = asyncio.Event()
        self.is_computing = False

    def take_in(self, entries: list[Entry]) -> None:
        """Keep new events, and wake all who wait."""
        self._events += map(logged, entries)
        self.last = entries[-1].sequence
        del self._events[: max(0, len(self._events) - KEPT)]
        self._wake()

    def say(self, name: str, content: bytes) -> None:
        """Something besides events; only the last of a name counts."""
        self._messages[name] = (self.version + 1, message(name, content))
        self._wake()

    def _wake(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def kept_after(self, number: int) -> bytes | None:
        """All events after a number; None where some of them are not in memory."""
        first = self.last - len(self._events)
        if number < first:
            return None
        return b"".join(self._events[number - first :])

    def said_after(self, version: int) -> bytes:
        """All that was said besides events since then."""
        return b"".join(text for at, text in self._messages.values() if at > version)

    async def change(self, version: int) -> bool:
        """Wait until something is newer than this version, but not for ever."""
        if self.version > version:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), BEAT)
            return True
        return False


class Hub:
    """All channels, and the task that reads their logs."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.views = storage, Views(storage)
        self.streams = 0
        self._channels: dict[int, Channel] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Hub]:
        """Read logs until the end of the block."""
        poll = asyncio.create_task(self._poll())
        try:
            yield self
        finally:
            poll.cancel()
            for task in self._tasks:
                task.cancel()
            self.views.close()

    async def read(self, key: int, after: int, most: int) -> list[Entry]:
        """Events of a log, which may wait for a disk."""
        return await asyncio.to_thread(self.storage.read, key, after, most)

    async def name_of(self, key: int) -> tuple[str, int]:
        """The name of a study, and the number of its events."""
        for line in await asyncio.to_thread(self.storage.lines):
            if line.key == key:
                return line.name, line.last
        raise UnknownStudyError(f"there is no study with the id {key} here")

    async def view(self, key: int, kind: str) -> View:
        """What is shown of a study now or, of what takes long, what was computed last."""
        name, last = await self.name_of(key)
        kept = self.views.kept(key, kind)
        if kind not in SLOW or kept is None or kept.events >= last:
            return await self.views.fresh(name, key, kind, last)
        self._begin(self._refresh(name, key, kind, last))
        return kept

    def share(self, name: str, key: int, last: int) -> float | None:
        """How much there is of the evidence that is needed, as far as that was computed.

        What is not known after the event `last` is computed for the next time.
        """
        kept = self.views.kept(key, "share")
        if (kept is None or kept.events < last) and len(self._tasks) < MOST_TASKS:
            self._begin(self._refresh(name, key, "share", last))
        found: float | None = None if kept is None else json.loads(kept.content)["share"]
        return found

    async def _refresh(self, name: str, key: int, kind: str, last: int) -> None:
        with suppress(MislidError):
            view = await self.views.fresh(name, key, kind, last)
            channel = self._channels.get(key)
            if channel is not None:
                channel.say("computed", packed({"kind": kind, "events": view.events}))

    @asynccontextmanager
    async def listening(self, key: int) -> AsyncIterator[Channel]:
        """The channel of a study, for as long as somebody listens."""
        channel = self._channels.get(key)
        if channel is None:
            name, last = await self.name_of(key)
            channel = self._channels.setdefault(key, Channel(name, key, last))
        channel.listeners += 1
        self.streams += 1
        try:
            yield channel
        finally:
            channel.listeners -= 1
            self.streams -= 1
            if channel.listeners == 0:
                self._channels.pop(key, None)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            for channel in list(self._channels.values()):
                try:
                    await self._look(channel)
                except UnknownStudyError:
                    channel.is_gone = True
                    channel.say("gone", b"{}")
                except StorageError as problem:
                    channel.say("trouble", failed(problem))
                    await asyncio.sleep(1.0)
                except Exception as problem:  # noqa: BLE001 - others are read on
                    LOG.error("a log cannot be read", exc_info=problem)
                    await asyncio.sleep(1.0)

    async def _look(self, channel: Channel) -> None:
        entries = await self.read(channel.key, channel.last, AT_ONCE)
        if entries:
            channel.take_in(entries)
            self._begin(self._say_state(channel))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say_state(self, channel: Channel) -> None:
        """Tell all how the study stands: once for many events, and not too often."""
        if channel.is_computing:
            return
        channel.is_computing = True
        begun = time.monotonic()
        try:
            view = None
            while channel.listeners and (view is None or view.events < channel.last):
                view = await self.views.fresh(channel.name, channel.key, "state", channel.last)
                channel.say("state", view.content)
                # As long a rest as it took: the processor is others' as well.
                await asyncio.sleep(max(PAUSE, time.monotonic() - begun))
                begun = time.monotonic()
        except MislidError as problem:
            channel.say("trouble", failed(problem))
        finally:
            channel.is_computing = False
