"""Live studies: JSON views, one reader of each log, and event streams.

Clients share views, each computed once. A `Channel` keeps the newest events of a study in memory
for streams that are up to date. Other streams read the storage, so they can start at any event.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from mislid.errors import MislidError, StorageError, UnknownStudyError
from mislid.forecast.evidence import estimate_rows
from mislid.forecast.overview import Overview
from mislid.report import summary
from mislid.server.answers import event_json, packed, refused
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.session import Session
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line

# Seconds between reads of a log, and between keep-alive messages of a stream.
POLL, BEAT = 0.08, 15.0
# Most events read or sent at once, open streams, and studies in memory.
AT_ONCE, MOST_STREAMS, MOST_STUDIES = 2_000, 600, 32
# Streams that one client may have open.
MOST_OF_CLIENT = 16


# --- views ----------------------------------------------------------------------------------


def state_of(overview: Overview) -> Any:
    """The state of the study without a forecast, as numbers and as HTML."""
    found = None if overview.is_large else overview.sensitivity
    words = {"words": summary(overview, ahead=False), "proof": found and found.statement}
    return overview.to_dict(forecast=False) | words


def estimates_of(overview: Overview) -> Any:
    """A row for every candidate."""
    return [row.to_dict() for row in estimate_rows(overview)]


Look = Callable[[Overview], Any]
QUICK: dict[str, Look] = {"state": state_of, "estimates": estimates_of}
SLOW: dict[str, Look] = {
    "forecast": lambda overview: overview.progress.to_dict(),
}


@dataclass
class Seen:
    """A study in memory and its last views: the number of events covered, and the JSON."""

    study: Study
    views: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    @property
    def events(self) -> int:
        """The number of events that the newest view covers."""
        return max((events for events, _ in self.views.values()), default=0)

    def compute(self, kind: str) -> tuple[int, bytes]:
        """Compute a view of all events."""
        overview = self.study.overview()
        found = {"events": overview.events, kind: (QUICK | SLOW)[kind](overview)}
        return overview.events, packed(found)


# --- streams --------------------------------------------------------------------------------


def message(name: str, content: bytes, number: int | None = None) -> bytes:
    """A server-sent event.

    >>> message("told", b"{}", 7).splitlines()
    [b'id: 7', b'event: told', b'data: {}', b'']
    """
    first = b"" if number is None else b"id: %d\n" % number
    return first + b"event: %s\ndata: %s\n\n" % (name.encode(), content)


def trouble(problem: Exception) -> bytes:
    """An error as the last message of a stream."""
    return message("trouble", bytes(refused(problem).body))


def logged(entries: Iterable[Entry]) -> list[bytes]:
    """Events of the log as server-sent events."""
    return [message("logged", packed(event_json(one)), one.sequence) for one in entries]


class Channel:
    """A study whose log a task follows, with its newest events up to `last`.

    `end` is the last message of all streams, None while the log can be read. After it, clients
    request another stream.
    """

    task: asyncio.Task[None]

    def __init__(self, line: Line) -> None:
        self.key, self.last, self.newest = line.key, line.last, list[bytes]()
        self.end: bytes | None = None
        self.listeners = 0
        self.changed = asyncio.Event()

    def wake(self) -> None:
        """Wake the waiting streams."""
        self.changed.set()
        self.changed = asyncio.Event()


class Hub:
    """The views and channels of studies in a storage.

    At most one quick view, one slow view and one change are computed at a time.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage, self.writing = storage, asyncio.Lock()
        self._quick, self._slow = asyncio.Lock(), asyncio.Lock()
        self._seen: dict[tuple[str, int], Seen] = {}
        self._channels: dict[int, Channel] = {}
        self._is_ending = False
        # Open streams by client.
        self.streams = Counter[str]()

    def end(self) -> None:
        """End all streams."""
        self._is_ending = True
        for channel in self._channels.values():
            channel.wake()

    async def read(self, key: int, after: int, most: int) -> list[Entry]:
        """Events of a log, read in a thread."""
        return await asyncio.to_thread(self.storage.read, key, after, most)

    async def find(self, study: str) -> Line:
        """The study of an id (a number) or of a name."""
        # Taken before the storage is read: meanwhile, logs only grow.
        known = {place: seen.events for place, seen in self._seen.items()}
        for line in await asyncio.to_thread(self.storage.lines):
            if study == (str(line.key) if study.isdecimal() else line.name):
                if known.get((line.name, line.key), 0) > line.last:
                    self._seen.pop((line.name, line.key), None)  # restored from a backup
                return line
        raise UnknownStudyError(f"there is no study {study[:100]!r} here")

    def seen(self, line: Line) -> Seen:
        """A study, opened if it is not in memory."""
        place = line.name, line.key
        found = self._seen.pop(place, None) or Seen(Study(Session(*place, self.storage)))
        self._seen[place] = found
        if len(self._seen) > MOST_STUDIES:
            self._seen.pop(next(iter(self._seen)))
        return found

    async def view(self, line: Line, kind: str) -> bytes:
        """A view after all events of the study, computed once for all clients."""
        seen = self.seen(line)
        async with self._quick if kind in QUICK else self._slow:
            kept = seen.views.get(kind)
            if kept is None or kept[0] < line.last:
                kept = seen.views[kind] = await asyncio.to_thread(seen.compute, kind)
        return kept[1]

    async def stream(self, line: Line, after: int) -> AsyncIterator[bytes]:
        """Server-sent events after the last event that a client knows."""
        yield b"retry: 1000\n\n"
        if after > line.last:  # a backup with fewer events was restored
            after = line.last
            yield message("reset", b"{}", after)
        async with self._following(line) as channel:
            while not self._is_ending:
                changed = channel.changed
                while after < channel.last:
                    try:
                        texts, after = await self._after(channel, after)
                    except MislidError as problem:
                        yield trouble(problem)
                        return
                    yield b"".join(texts)
                if channel.end is not None:
                    yield channel.end
                    return
                try:
                    await asyncio.wait_for(changed.wait(), BEAT)
                except TimeoutError:
                    yield b": still here\n\n"

    async def _after(self, channel: Channel, after: int) -> tuple[list[bytes], int]:
        """Messages for events after a number, and the last number, from memory or the storage."""
        first = channel.last - len(channel.newest)
        if after >= first:
            return channel.newest[after - first :], channel.last
        entries = await self.read(channel.key, after, min(AT_ONCE, channel.last - after))
        if not entries:
            raise StorageError("the log has fewer events than before")
        return logged(entries), entries[-1].sequence

    @asynccontextmanager
    async def _following(self, line: Line) -> AsyncIterator[Channel]:
        """The channel of a study, which exists while it has streams."""
        channel = self._channels.get(line.key)
        if channel is None:
            channel = self._channels[line.key] = Channel(line)
            channel.task = asyncio.create_task(self._follow(channel))
        channel.listeners += 1
        try:
            yield channel
        finally:
            channel.listeners -= 1
            if channel.listeners == 0:
                self._channels.pop(line.key).task.cancel()

    async def _follow(self, channel: Channel) -> None:
        """Poll the log of a study."""
        while channel.end is None:
            await asyncio.sleep(POLL)
            news = list[bytes]()
            try:
                # Read from the last known event on: a log without it was restored from a backup.
                # The streams end then, and clients that reconnect are told to reset.
                entries = await self.read(channel.key, channel.last - 1, AT_ONCE + 1)
                news = logged(entries[1:])
            except UnknownStudyError:
                channel.end = message("gone", b"{}")
            except Exception as problem:  # noqa: BLE001 - reported to clients; it may be temporary
                channel.end = trouble(problem)
            else:
                if news:
                    channel.newest, channel.last = news, entries[-1].sequence
                if not entries:
                    channel.end = b""
            if channel.end is not None or news:
                channel.wake()
