"""Live studies: one reader of each log for all who follow it, and streams of events.

A `Channel` keeps the newest events of a study as they are sent, for all who are up to date. Others
get theirs from the storage, so that a stream can go on from any number.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from mislid.errors import MislidError, StorageError, UnknownStudyError
from mislid.server.answers import event_json, packed, refused
from mislid.server.views import Views
from mislid.study.events import Entry
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line

# Seconds between looks at a log, between states that are sent, between other views, between signs
# of life, and before something that failed is tried again.
POLL, PAUSE, REST, BEAT, AGAIN = 0.08, 0.25, 1.5, 15.0, 1.0
# Events that are read or sent at once.
AT_ONCE = 2_000
# Streams that may be open.
MOST_STREAMS = 600
# Views that are sent soon, and those that may take a while; all but the state only to viewers.
SOON = ("state", "revisions")
LATER = ("estimates", "allocation", "evidence", "forecast", "sensitivity")


def message(name: str, content: bytes, number: int | None = None) -> bytes:
    """A server-sent event.

    >>> message("told", b"{}", 7).splitlines()
    [b'id: 7', b'event: told', b'data: {}', b'']
    """
    first = b"" if number is None else b"id: %d\n" % number
    return first + b"event: %s\ndata: %s\n\n" % (name.encode(), content)


def trouble(problem: Exception) -> bytes:
    """An error as a server-sent event."""
    return message("trouble", bytes(refused(problem).body))


def logged(entries: Iterable[Entry]) -> list[bytes]:
    """Events of the log as server-sent events."""
    return [message("logged", packed(event_json(one)), one.sequence) for one in entries]


class Channel:
    """A study that is followed: its newest events, and the last message about each subject."""

    def __init__(self, line: Line) -> None:
        self.line, self.last = line, line.last
        self.listeners = self.viewers = 0
        self.version = 0
        self.is_gone = False
        self.tasks: list[asyncio.Task[None]] = []
        self._newest: list[bytes] = []  # up to `last`
        self._said: dict[str, tuple[int, bytes]] = {}
        self._changed = asyncio.Event()

    def take_in(self, entries: list[Entry]) -> None:
        """Keep new events, and wake all who wait."""
        self._newest = logged(entries)
        self.last = entries[-1].sequence
        self.wake()

    def say(self, about: str, text: bytes) -> None:
        """Send a message, unless it is the last one about its subject."""
        if self._said.get(about, (0, b""))[1] != text:
            self._said[about] = (self.version + 1, text)
            self.wake()

    def wake(self) -> None:
        """Let all who wait look."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def newer(self, version: int, seconds: float = BEAT) -> bool:
        """Wait until there is something newer than this version, for some time."""
        if self.version == version:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
        return self.version > version

    def newest_after(self, number: int) -> tuple[bytes, int] | None:
        """Events after a number, and the number of the last; None if they are not in memory."""
        first = self.last - len(self._newest)
        return (b"".join(self._newest[number - first :]), self.last) if number >= first else None

    def said_after(self, version: int, *, views: bool) -> list[bytes]:
        """Messages that are newer than a version."""
        return [
            text
            for about, (at, text) in self._said.items()
            if at > version and (views or about in ("state", "log"))
        ]


class Hub:
    """All channels of a storage."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.views = storage, Views(storage)
        self.streams = 0
        self._channels: dict[int, Channel] = {}
        self._is_ending = False

    def end(self) -> None:
        """Let all streams end."""
        self._is_ending = True
        for channel in self._channels.values():
            channel.wake()

    async def read(self, key: int, after: int, most: int) -> list[Entry]:
        """Events of a log, read by a thread."""
        return await asyncio.to_thread(self.storage.read, key, after, most)

    async def find(self, study: str) -> Line:
        """The study of an id or, if that is no number, of a name."""
        known = self.views.events()  # before the storage is asked: logs only grow meanwhile
        for line in await asyncio.to_thread(self.storage.lines):
            if study == (str(line.key) if study.isdecimal() else line.name):
                if known.get((line.name, line.key), 0) > line.last:
                    self.views.forget(line)  # a backup took the place of the log
                return line
        raise UnknownStudyError(f"there is no study {study[:100]!r} here")

    async def stream(self, line: Line, after: int, *, views: bool) -> AsyncIterator[bytes]:
        """Server-sent events for somebody who knows the log up to a number."""
        yield b"retry: 1000\n\n"
        if after > line.last:  # the log was longer before a backup took its place
            after = line.last
            yield message("reset", b"{}", after)
        try:
            async with self._following(line, views=views) as channel:
                async for text in self._news(channel, after, views=views):
                    yield text
        except MislidError as problem:
            yield trouble(problem)  # and the client tries again

    async def _news(self, channel: Channel, after: int, *, views: bool) -> AsyncIterator[bytes]:
        version = 0
        while not self._is_ending:
            said = channel.said_after(version, views=views)
            version = channel.version
            while after < channel.last:
                text, after = channel.newest_after(after) or await self._old(channel, after)
                yield text
            for text in said:
                yield text
            if channel.is_gone:
                return
            if not await channel.newer(version):
                yield b": still here\n\n"

    async def _old(self, channel: Channel, after: int) -> tuple[bytes, int]:
        """Events that are no longer in memory."""
        most = min(AT_ONCE, channel.last - after)
        entries = await self.read(channel.line.key, after, most)
        if not entries:
            raise StorageError("the log has fewer events than before")
        return b"".join(logged(entries)), entries[-1].sequence

    @asynccontextmanager
    async def _following(self, line: Line, *, views: bool) -> AsyncIterator[Channel]:
        """The channel of a study, which lives as long as somebody listens."""
        channel = self._channels.get(line.key)
        if channel is None:
            channel = self._channels[line.key] = Channel(line)
            for work in (
                self._follow(channel),
                self._tell(channel, SOON, PAUSE),
                self._tell(channel, LATER, REST),
            ):
                channel.tasks.append(asyncio.create_task(work))
        channel.listeners += 1
        channel.viewers += views
        self.streams += 1
        channel.wake()
        try:
            yield channel
        finally:
            channel.listeners -= 1
            channel.viewers -= views
            self.streams -= 1
            if channel.listeners == 0:
                del self._channels[line.key]
                for task in channel.tasks:
                    task.cancel()

    async def _follow(self, channel: Channel) -> None:
        """Read the log of a study."""
        is_well = True
        while not channel.is_gone:
            await asyncio.sleep(POLL if is_well else AGAIN)
            try:
                await self._look(channel)
            except UnknownStudyError:
                channel.is_gone = True
                channel.say("log", message("gone", b"{}"))
            except Exception as problem:  # noqa: BLE001 - it may pass, and is told
                is_well = False
                channel.say("log", trouble(problem))
            else:
                if not is_well:
                    channel.say("log", message("recovered", b"{}"))
                is_well = True

    async def _look(self, channel: Channel) -> None:
        # The last event that is known is read again: a log without it was replaced by a backup.
        # Streams end then, and clients who come back are told to reset.
        entries = await self.read(channel.line.key, channel.last - 1, AT_ONCE + 1)
        if not entries:
            channel.is_gone = True
            channel.wake()
        elif entries[1:]:
            channel.take_in(entries[1:])

    async def _tell(self, channel: Channel, kinds: tuple[str, ...], pause: float) -> None:
        """Send views whenever there are new events: once for many, and not too often."""
        told = dict.fromkeys(kinds, 0)
        while not channel.is_gone:
            version, last = channel.version, channel.last
            late = [kind for kind in kinds if told[kind] < last]
            if not late or (kinds == LATER and not channel.viewers):
                await channel.newer(version)
                continue
            begun = time.monotonic()
            for kind in late:
                try:
                    line = channel.line._replace(last=last)
                    view = await self.views.view(line, kind)
                except UnknownStudyError:
                    return  # `_follow` says so
                except Exception as problem:  # noqa: BLE001 - it may pass, and is told
                    channel.say(kind, trouble(problem))
                    if not isinstance(problem, StorageError):
                        told[kind] = last  # the next event may be the cure
                    await asyncio.sleep(AGAIN)
                else:
                    channel.say(kind, message(kind, view.content))
                    told[kind] = view.events
            # As long a rest as it took leaves half of a processor to others.
            await asyncio.sleep(max(pause, time.monotonic() - begun))
