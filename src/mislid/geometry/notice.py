"""Tell a person what takes so long when kernels are compiled for the first time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

MESSAGE = "Compiling, once: about a minute; later calls start at once."


class _Watch(event.Listener):
    """Say so, once, when a compilation has gone on for a while; loading from disk is none."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.depth = 0
        self.said = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1 and not self.said:
            self.timer = threading.Timer(self.seconds, self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.stop()

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def say(self) -> None:
        self.said = True
        # A progress bar may stand in this line.
        sys.stderr.write(f"\r{MESSAGE}\n")
        sys.stderr.flush()


@contextmanager
def compiling_notice(seconds: float = 1.0) -> Iterator[None]:
    """Say on stderr that kernels are being compiled, if that takes longer than some seconds.

    Parameters
    ----------
    seconds
        How long a compilation goes on before anything is said.

    Yields
    ------
    None
        Compilations inside the block are watched.
    """
    watch = _Watch(seconds)
    with event.install_listener("numba:compile", watch):
        try:
            yield
        finally:
            watch.stop()
