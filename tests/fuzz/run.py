"""Try inputs, and report those that end in a traceback or hang."""

import contextlib
import faulthandler
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fuzz import commands, functions
from mislid.errors import MislidError

PATIENCE = 60  # seconds that an input may take; some of them compile first


class Hang(BaseException):
    """An input that takes too long; nothing that is tested catches it."""


class Fault(NamedTuple):
    number: int
    target: str
    words: str
    problem: str


def faults(numbers: range, patience: int = PATIENCE) -> Iterator[Fault]:
    """What goes wrong with these inputs; each is a function of its number alone."""
    targets = {**functions.targets(), **commands.targets()}
    names = list(targets)
    with _elsewhere():
        for number in numbers:
            name = names[number % len(names)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                words, action = targets[name](random.Random(number))
            try:
                with _limited(patience), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    action()
            except MislidError as problem:
                if not str(problem).strip():
                    yield Fault(number, name, words, f"{type(problem).__name__} without a word")
            except Hang:
                yield Fault(number, name, words, f"takes more than {patience} seconds")
            except Exception as problem:  # noqa: BLE001 - that is what is looked for
                yield Fault(number, name, words, _last_words(problem))


def _last_words(problem: Exception) -> str:
    frames = [
        frame for frame in traceback.extract_tb(problem.__traceback__) if "mislid" in frame.filename
    ]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(problem).__name__} at {where}: {str(problem)[:300]}"


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    # Compiled code hears no signals: the process ends, and says where.
    faulthandler.dump_traceback_later(10 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in an empty folder, because inputs name files."""
    os.environ.pop("MISLID_DATA", None)
    with tempfile.TemporaryDirectory() as folder, commands.inside(Path(folder)):
        yield
