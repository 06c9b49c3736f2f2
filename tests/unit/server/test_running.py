"""A server that cannot be is refused before it listens."""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mislid.errors import ProblemError
from mislid.server import new_app, serve
from mislid.server.running import listen, policy_for, server_of
from mislid.study.storage import Storage

POLICY = policy_for("127.0.0.1", 8600, write=False, token=None)


@pytest.fixture
def at() -> Iterator[Any]:
    with listen("127.0.0.1", 0) as place:
        yield place


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"storage": "lab.db"}, "storage must be an open one, .*; got 'lab.db'"),
        ({"policy": None}, "policy must be a mislid.server.access.Policy; got None"),
        ({"at": 8600}, "at must be a socket, .*; got 8600"),
        ({"colour": "red"}, "options must be those of uvicorn.Config .*; got 'colour'"),
        ({"http": "auto"}, "that the server does not set itself; got 'http'"),
        ({"app": None}, "that the server does not set itself; got 'app'"),
    ],
)
def test_arguments_that_are_something_else(
    storage: Storage, at: Any, changes: dict[str, Any], problem: str
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ProblemError, match=problem):
        serve(**({"storage": storage, "policy": POLICY, "at": at} | changes))
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_app_needs_a_hub(storage: Storage) -> None:
    with pytest.raises(ProblemError, match=r"hub must be a mislid\.server\.live\.Hub; got"):
        new_app(storage, POLICY)  # type: ignore[arg-type]


def test_other_threads_get_no_signals(storage: Storage, at: Any) -> None:
    found: list[str] = []

    def begin() -> None:
        try:
            serve(storage, POLICY, at)
        except ProblemError as problem:
            found.append(str(problem))

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert found == ["serve must be called in the main thread, which alone gets signals"]


def test_options_of_uvicorn_are_passed_on(storage: Storage) -> None:
    assert server_of(storage, POLICY, backlog=7).config.backlog == 7
