"""Tell a person what takes so long when kernels are compiled for the first time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MESSAGE = "mislid: compiling, once, about 15 s; later calls start at once"
UNKEPT = "mislid: compiling, about 15 s; every new process does, as compiled code cannot be kept"
# Small kernels take less than this.
PATIENCE = 1.0

_said = False


def _say(message: str) -> None:
    global _said  # noqa: PLW0603 - once a process
    if not _said and sys.stderr is not None:
        _said = True
        # A progress bar may stand in this line.
        sys.stderr.write(f"\r{message}\n")
        sys.stderr.flush()


@contextmanager
def compiling(are_kept: Callable[[], bool]) -> Iterator[Callable[[], None]]:
    """Say on stderr, once in a process, that kernels are compiled, if that takes a while.

    What it yields is called when compiling begins: what is loaded from disk is no reason.
    `are_kept` tells whether later processes load what is compiled now.
    """
    timer = threading.Timer(PATIENCE, lambda: _say(MESSAGE if are_kept() else UNKEPT))
    timer.daemon = True
    try:
        yield timer.start
    finally:
        timer.cancel()
