"""How a run is getting on: one line that is painted over on a terminal, else a line at its end."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mislid.simulation.progress import Progress

WIDTH = 24


class Live:
    """Called with a run's name and its progress; writes to stderr."""

    def __init__(self) -> None:
        self.stream = sys.stderr
        self.painting = self.stream.isatty()
        self.unfinished = False

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *problem: object) -> None:
        """Whatever is said next, after Ctrl-C for example, begins a line."""
        if self.unfinished:
            self.stream.write("\n")

    def __call__(self, name: str, progress: Progress) -> None:
        """Show it, where there is a terminal to show it on or the run has ended."""
        if self.painting:
            self.stream.write(f"\r\033[K{line(name, progress)}")
            self.unfinished = True
        if progress.finished:
            self.stream.write("\n" if self.painting else f"{line(name, progress)}\n")
            self.unfinished = False
        self.stream.flush()


def line(name: str, progress: Progress) -> str:
    """One line about a run.

    >>> from types import SimpleNamespace
    >>> line("mislid", SimpleNamespace(samples=1200, evidence=0.5))
    'mislid    ############------------  50%    1,200 measurements'
    """
    share = progress.evidence
    if math.isnan(share):
        gauge = " " * (WIDTH + 5)
    else:
        # A run that has not stopped has not got there, however close.
        filled = int(WIDTH * min(share, 1.0))
        percent = int(100 * min(share, 1.0))
        gauge = "#" * filled + "-" * (WIDTH - filled) + f"{percent:4d}%"
    return f"{name:<8}  {gauge}  {progress.samples:>7,} measurements"
