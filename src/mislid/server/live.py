"""Studies that somebody looks at: one reader of each log, whoever listens.

A `Channel` keeps the last events of a study as they are sent, so that a stream can go on from any
number: from memory or, for one that was away for long, from the storage.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

from mislid.errors import CorruptStorageError, MislidError, StorageError, UnknownStudyError
from mislid.server.answers import LOG, packed
from mislid.server.revisions import Revisions
from mislid.server.views import SLOW, View, Views, failed
from mislid.server.workers import Worker
from mislid.study.events import Entry
from mislid.study.manage import summary_of_line
from mislid.study.result import StudySummary
from mislid.study.storage import Storage
from mislid.study.storage.interface import Line

# Seconds between looks at a log, between states that are sent, between other views, between signs
# of life, and before something that failed is tried again.
POLL, PAUSE, REST, BEAT, AGAIN = 0.08, 0.25, 1.5, 15.0, 1.0
# Events that are read or sent at once, and events and bytes that a channel keeps in memory.
AT_ONCE, KEPT, KEPT_BYTES = 2_000, 20_000, 2**24
# Streams that may be open, and changes of studies that may wait.
MOST_STREAMS, MOST_CHANGES = 1_000, 64
# What may be computed without anybody waiting for it.
MOST_TASKS = 20
# What streams bring besides events and the state, to those who want it.
SENT = ("estimates", "allocation", "evidence", "forecast", "sensitivity")
Found = TypeVar("Found")


def event_json(entry: Entry) -> dict[str, object]:
    """An event as programs get it.

    >>> event_json(Entry(3, 12.5, "told", '{"trial":0,"value":0.7}'))
    {'number': 3, 'time': 12.5, 'kind': 'told', 'body': {'trial': 0, 'value': 0.7}}
    """
    try:
        body = json.loads(entry.body)
    except (ValueError, RecursionError):
        raise CorruptStorageError(
            f"event {entry.sequence} of the study is not what was written: restore the storage "
            "from a backup"
        ) from None
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
        self.viewers = 0  # listeners who want all views
        self.version = 0
        self.is_gone = False
        self.is_computing = False
        self.is_viewing = False
        self.stated = 0  # events in the state that was said last
        self.viewed = dict.fromkeys(SENT, 0)  # and in the other views
        self.rests_until = 0.0  # after trouble; others do not wait for it
        self._events: list[bytes] = []  # the last of them, up to `last`
        self._bytes = 0
        self._messages: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._changed = asyncio.Event()

    def take_in(self, entries: list[Entry]) -> None:
        """Keep new events, and wake all who wait."""
        new = [logged(entry) for entry in entries]  # all of them, or none
        self._events += new
        self._bytes += sum(map(len, new))
        self.last = entries[-1].sequence
        forgotten = 0
        while len(self._events) - forgotten > KEPT or self._bytes > KEPT_BYTES:
            self._bytes -= len(self._events[forgotten])
            forgotten += 1
        del self._events[:forgotten]
        self.wake()

    def say(self, name: str, content: bytes, about: str = "") -> None:
        """Something besides events; only the last of a name and subject counts."""
        self._messages[name, about] = (self.version + 1, message(name, content))
        self.wake()

    def trouble(self, content: bytes, about: str) -> None:
        """Say once what goes wrong, and to all who come while it does."""
        _, said = self._messages.get(("trouble", about), (0, b""))
        if said != message("trouble", content):
            self._messages.pop(("recovered", about), None)
            self.say("trouble", content, about)

    def recover(self, about: str) -> None:
        """It went well; what was said of trouble holds no longer."""
        if self._messages.pop(("trouble", about), None):
            self.say("recovered", b"{}", about)

    def wake(self) -> None:
        """Let all who wait look."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def kept_after(self, number: int) -> tuple[bytes, int] | None:
        """Events after a number, and the last one's; None where they are not in memory."""
        first = self.last - len(self._events)
        if not first <= number < self.last:
            return None
        some = self._events[number - first : number - first + AT_ONCE]
        return b"".join(some), number + len(some)

    def said_after(self, version: int, *, views: bool = False) -> list[bytes]:
        """All that was said besides events since then."""
        return [
            text
            for (name, _), (at, text) in self._messages.items()
            if at > version and (views or name not in SENT)
        ]

    async def change(self, version: int) -> bool:
        """Wait until something is newer than this version, but not for ever."""
        if self.version > version:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), BEAT)
            return True
        return False


class Shared(Generic[Found]):
    """Work that is done once for all who ask while it is under way, after they asked."""

    def __init__(self, work: Callable[[], Found]) -> None:
        self._work = work
        self._running: asyncio.Future[Found] | None = None
        self._next: asyncio.Future[Found] | None = None

    async def __call__(self) -> Found:
        """The result of work that begins after this call."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._running))
        return await asyncio.shield(self._next)

    async def _after(self, before: asyncio.Future[Found] | None) -> Found:
        if before is not None:
            await asyncio.wait([before])
        self._running, self._next = self._next, None
        return await asyncio.to_thread(self._work)


def listed(storage: Storage) -> list[tuple[Line, StudySummary | None]]:
    """All studies, with None for one whose log is damaged, which does not hide the others."""
    found: list[tuple[Line, StudySummary | None]] = []
    for line in storage.lines():
        try:
            found.append((line, summary_of_line(storage, line)))
        except UnknownStudyError:
            continue  # deleted meanwhile
        except CorruptStorageError:
            found.append((line, None))
    return found


class Hub:
    """All channels, and the task that reads their logs."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.views = storage, Views(storage)
        self._revisions = Revisions(storage)
        self.lines = Shared(storage.lines)
        self.listed = Shared(lambda: listed(storage))
        self.streams = 0
        self.is_ending = False
        # Warnings are kept for a whole process, so one thread makes all changes.
        busy = "too many changes are waiting: try again in a second"
        self.writer = Worker("mislid-writer", MOST_CHANGES, busy)
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
            self.writer.pool.shutdown(wait=False)

    def end(self) -> None:
        """Let all streams end: the server does."""
        self.is_ending = True
        for channel in self._channels.values():
            channel.wake()

    async def read(self, key: int, after: int, most: int) -> list[Entry]:
        """Events of a log, which may wait for a disk."""
        return await asyncio.to_thread(self.storage.read, key, after, most)

    async def revisions_before(
        self, key: int, number: int | None, most: int
    ) -> tuple[list[Entry], int]:
        """Corrections and other changes before an event, and how many there are of all."""
        return await asyncio.to_thread(self._revisions.before, key, number, most)

    async def name_of(self, key: int) -> tuple[str, int]:
        """The name of a study, and the number of its events."""
        known = self.views.known(key)  # before the storage is asked: logs only grow meanwhile
        for line in await self.lines():
            if line.key == key:
                if known > line.last or self.views.is_of_another(line.name, key):
                    self.views.forget(key)  # the storage was put back, or is another one
                    self._revisions.forget(key)
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
        with suppress(MislidError):  # who asks next is told of it
            view = await self.views.fresh(name, key, kind, last)
            channel = self._channels.get(key)
            if channel is not None and kind != "share":
                channel.say("computed", packed({"kind": kind, "events": view.events}), kind)

    @asynccontextmanager
    async def listening(self, key: int, *, views: bool = False) -> AsyncIterator[Channel]:
        """The channel of a study, for as long as somebody listens."""
        channel = self._channels.get(key)
        if channel is None:
            name, last = await self.name_of(key)
            channel = self._channels.setdefault(key, Channel(name, key, last))
        channel.listeners += 1
        channel.viewers += views
        self.streams += 1
        self._begin(self._say_state(channel))
        if channel.stated:  # otherwise after the state, which is what people wait for
            self._begin(self._say_views(channel))
        try:
            yield channel
        finally:
            channel.listeners -= 1
            channel.viewers -= views
            self.streams -= 1
            if channel.listeners == 0:
                self._channels.pop(key, None)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            for channel in list(self._channels.values()):
                if time.monotonic() < channel.rests_until:
                    continue
                try:
                    await self._look(channel)
                except UnknownStudyError:
                    channel.is_gone = True
                    channel.say("gone", b"{}")
                except Exception as problem:  # noqa: BLE001 - other logs are read on
                    channel.trouble(failed(problem), "log")
                    channel.rests_until = time.monotonic() + AGAIN

    async def _look(self, channel: Channel) -> None:
        # The last one that is known as well: where it is missing, the log was put back. Streams
        # end, and who comes again is told so.
        known = min(channel.last, 1)
        entries = await self.read(channel.key, channel.last - known, AT_ONCE + known)
        if known and not entries:
            channel.is_gone = True
            channel.wake()
            return
        entries = entries[known:]
        if entries:
            channel.take_in(entries)
            self._begin(self._say_state(channel))
        channel.recover("log")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            LOG.error("something failed besides requests", exc_info=task.exception())

    async def _say_state(self, channel: Channel) -> None:
        """Tell all how the study stands: once for many events, and not too often."""
        if channel.is_computing:
            return
        channel.is_computing = True
        try:
            while channel.listeners and not channel.is_gone and channel.stated < channel.last:
                begun = time.monotonic()
                await self._say_once(channel, "state")
                # As long a rest as it took: the processor is others' as well.
                await asyncio.sleep(max(PAUSE, time.monotonic() - begun))
        finally:
            channel.is_computing = False

    async def _say_views(self, channel: Channel) -> None:
        """The same for what else viewers see, each as soon as it is computed."""
        if channel.is_viewing:
            return
        channel.is_viewing = True
        try:
            while channel.viewers and not channel.is_gone:
                late = [kind for kind in SENT if channel.viewed[kind] < channel.last]
                if not late:
                    return
                begun = time.monotonic()
                for kind in late:
                    await self._say_once(channel, kind)
                await asyncio.sleep(max(REST, time.monotonic() - begun))
        finally:
            channel.is_viewing = False

    async def _say_once(self, channel: Channel, kind: str) -> None:
        last = channel.last
        try:
            view = await self.views.fresh(channel.name, channel.key, kind, last)
        except UnknownStudyError:
            return  # who reads the log says so
        except Exception as problem:  # noqa: BLE001 - it may pass, and everybody is told of it
            channel.trouble(failed(problem), kind)
            if kind in SENT and not isinstance(problem, StorageError):
                channel.viewed[kind] = last  # it is tried again after the next event
            await asyncio.sleep(AGAIN)
        else:
            if kind == "state":
                channel.stated = view.events
                self._begin(self._say_views(channel))
            else:
                channel.viewed[kind] = view.events
            channel.recover(kind)
            channel.say(kind, view.content)
