"""Servers of studies: in a thread of this process, or as the command is run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import mislid
from helpers.command_line import ENVIRONMENT
from mislid.server.access import policy_for
from mislid.server.app import listen, server_of
from mislid.study import Study, load_study
from mislid.study.storage import Storage, as_storage

TOKEN = "a-token-of-twenty-four-ch"
FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [0.5, 0.2]}
MEANS = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.2}


def new_study(storage: Any, name: str = "assay", **changes: Any) -> Study:
    """A study of four candidates, the third of which is best."""
    settings = {"candidates": FEATURES, "m": 1, "misspecification": 0.1, "noise": 0.1}
    settings |= {"intercept": False, "study_name": name, "storage": storage}
    return mislid.create_study(**(settings | changes))


def tell_some(study: Study, n: int, shift: float = 0.0) -> None:
    """Ask and tell so many times: two events each."""
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, MEANS.get(str(trial.arm), 0.0) + shift)


def tell_at_rate(place: Path, tells: int, rate: float) -> int:
    """Tell the study of a storage so many values, at most `rate` a second; its number of events."""
    storage = as_storage(place)
    study = load_study(study_name="assay", storage=storage)
    begun = time.monotonic()
    for number, trial in enumerate(study.ask(tells)):
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        study.tell(trial, MEANS[str(trial.arm)])
    events = len(study.events())
    storage.close()
    return events


@dataclass
class Message:
    """What a stream brought."""

    name: str
    data: Any
    id: int | None


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """The messages of a stream, by the rules that browsers follow."""
    name, data, number = "message", "", None
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "id":
            number = int(value)
        elif field == "event":
            name = value
        elif field == "data":
            data = value
        elif line == "" and data:
            yield Message(name, json.loads(data), number)
            name, data, number = "message", "", None


def logged(told: Iterator[Message], n: int) -> list[Message]:
    """The next n events that a stream brings."""
    found = []
    while len(found) < n:
        one = next(told)
        found += [one] if one.name == "logged" else []
    return found


class Site:
    """A server that runs, and a client that knows its token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self.token = url, token
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        # One that does not look at the settings of proxies of this machine.
        self.client = httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False)
        self._clients = [self.client]

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.client.get(path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        content = json.dumps({} if body is None else body)  # halves of characters as well
        return self.client.post(path, content=content, **options)

    def json(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @property
    def stranger(self) -> httpx.Client:
        """A new client that knows nothing."""
        self._clients.append(httpx.Client(base_url=self.url, timeout=30, trust_env=False))
        return self._clients[-1]

    def close(self) -> None:
        """Close all clients."""
        for client in self._clients:
            client.close()

    @contextmanager
    def stream(self, key: int, **headers: str) -> Iterator[Iterator[Message]]:
        """The messages of a study; `after` and headers as keywords."""
        query = {"after": headers.pop("after")} if "after" in headers else {}
        headers["accept"] = "text/event-stream"
        path = f"/api/studies/{key}/events"
        with self.client.stream("GET", path, params=query, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            yield messages(answer.iter_lines())

    def numbers(self, key: int, last: int, **headers: str) -> list[int]:
        """The numbers of the events that a stream brings up to one."""
        found = []
        with self.stream(key, **headers) as told:
            for one in told:
                if one.name == "logged":
                    assert one.data["number"] == one.id
                    found.append(one.id)
                if found and found[-1] == last:
                    return found
        return found


@contextmanager
def running(
    storage: Storage, *, write: bool = False, token: str | None = None, **options: Any
) -> Iterator[Site]:
    """A server in a thread, on any port."""
    at = listen("127.0.0.1", 0)
    port = at.getsockname()[1]
    token = TOKEN if write and token is None else token
    policy = policy_for("127.0.0.1", port, write=write, token=token, **options)
    server = server_of(storage, policy)
    thread = threading.Thread(target=server.run, args=([at],))
    thread.start()
    site = Site(f"http://127.0.0.1:{port}", token)
    try:
        wait_for(lambda: server.started)
        yield site
    finally:
        server.should_exit = True
        thread.join(30)
        site.close()
        assert not thread.is_alive()


def wait_for(condition: Any, seconds: float = 30.0) -> Any:
    """What a condition gives once it holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


class Command:
    """`mislid serve` in another process, which can be killed and started again."""

    def __init__(self, storage: Path, *options: str, port: int = 0) -> None:
        self.storage, self.options, self.port = storage, options, port
        self.token: str | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = [sys.executable, "-m", "mislid", "serve", str(self.storage), *self.options]
        self.log = self.storage.with_name(f"serve-{time.monotonic_ns()}.log")
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [*words, "--port", str(self.port)],
                env=ENVIRONMENT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        match = wait_for(lambda: self._said(r"http://127\.0\.0\.1:(\d+)"))
        self.port = int(match[1])
        said = self._said(r"token: (\S+)")
        self.token = said[1] if said else None
        self.url = f"http://127.0.0.1:{self.port}"
        wait_for(self._answers)

    def _said(self, pattern: str) -> re.Match[str] | None:
        assert self.process.poll() is None, self.log.read_text()
        return re.search(pattern, self.log.read_text())

    def _answers(self) -> bool:
        try:
            httpx.get(f"{self.url}/login", trust_env=False)
        except httpx.TransportError:
            return False
        return True

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> str:
        """End it as Ctrl-C does; all that it said."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        return self.log.read_text()


@contextmanager
def serving(storage: Path, *options: str) -> Iterator[Command]:
    """The command, ended at the end."""
    command = Command(storage, *options)
    try:
        yield command
    finally:
        command.stop()
