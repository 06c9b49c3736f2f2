"""One process at a time in a directory."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone_in(folder: Path, refusal: Exception) -> Iterator[None]:
    """Raise the refusal where another process is at work; a killed one leaves no trace."""
    try:
        import fcntl
    except ImportError:  # no such lock outside POSIX
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal from None
        yield
    finally:
        os.close(handle)
