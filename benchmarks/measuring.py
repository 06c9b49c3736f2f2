"""Clocks, memory, and new processes to measure in."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import mislid

Found = TypeVar("Found")
ROOT = Path(__file__).resolve().parents[1]


class Timed(NamedTuple, Generic[Found]):
    """What a call returned, and its seconds by the clock and of the processor."""

    found: Found
    wall: float
    cpu: float


def timed(call: Callable[[], Found]) -> Timed[Found]:
    """Call it once.

    >>> timed(lambda: 2).found
    2
    """
    # The processor's clock takes longer to read, so it is read outside of the other.
    cpu, wall = time.process_time(), time.perf_counter()
    found = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Timed(found, wall, cpu)


def peak_bytes() -> int:
    """The most memory that this process ever held.

    Linux hands the peak of a parent down to its children in getrusage, but not in /proc.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
        if peak:
            return 1024 * int(peak[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_own_process(*arguments: object, **environment: str) -> Any:
    """What Python prints, in JSON, in a new process that sees this package first."""
    source = str(Path(mislid.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
