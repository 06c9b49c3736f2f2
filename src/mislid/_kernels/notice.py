"""Tell a person what takes so long when kernels are compiled for the first time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MESSAGE = "mislid: compiling, once, about 15 s; later calls start at once"
# Small kernels take less than this.
PATIENCE = 1.0

_said = False


def _say() -> None:
    global _said  # noqa: PLW0603 - once a process
    if not _said and sys.stderr is not None:
        _said = True
        # A progress bar may stand in this line.
        sys.stderr.write(f"\r{MESSAGE}\n")
        sys.stderr.flush()


@contextmanager
def compiling() -> Iterator[Callable[[], None]]:
    """Say on stderr, once in a process, that kernels are compiled, if that takes a while.

    What it yields is called when compiling begins: what is loaded from disk is no reason.
    """
    timer = threading.Timer(PATIENCE, _say)
    timer.daemon = True
    try:
        yield timer.start
    finally:
        timer.cancel()
