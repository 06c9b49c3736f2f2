"""Paths from users, and files that are written whole or not at all."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mislid._formatting import shown
from mislid.errors import FileFormatError, ProblemError


def as_path(path: Any, name: str = "path") -> Path:
    """Check that an argument is a path that the system can have."""
    try:
        place = Path(path)
        os.lstat(place)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} must be a path; got {shown(path)}") from None
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise ProblemError(
                f"{name} must be a shorter path; got one of {len(str(place)):,} characters"
            ) from None
    return place


def with_ending(path: Any, name: str, *endings: str) -> Path:
    """Check that a path has one of these endings."""
    place = as_path(path, name)
    if endings and place.suffix.lower() not in endings:
        raise FileFormatError(f"{name} must end in {' or '.join(endings)}; got {str(place)!r}")
    return place


def new_place(path: Any, name: str = "path", *endings: str) -> Path:
    """Check, before anything is computed, that a file can be written to a path.

    Messages call the path by `name`; `endings` are those that it may have, if not all.

    Examples
    --------
    >>> new_place("no/such/directory/arms.npz", "--output")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: --output must name a file in an existing directory;
    got 'no/such/directory/arms.npz', whose directory does not exist
    """
    place = with_ending(path, name, *endings)
    reason = ""
    if place.is_dir():
        reason = "a directory"
    elif not place.parent.is_dir():
        reason = "whose directory does not exist"
    elif not os.access(place.parent, os.W_OK | os.X_OK):
        reason = "whose directory cannot be written to"
    if reason:
        raise ProblemError(
            f"{name} must name a file in an existing directory; got {str(place)!r}, {reason}"
        )
    return place


def read_content(place: Path, what: str) -> bytes:
    """The bytes of a file that is not empty; messages say `what` it should hold."""
    try:
        # Reading a pipe may never begin or end.
        if place.exists() and not place.is_file():
            raise FileFormatError(f"path must be a file; got {str(place)!r}, which is none")
        content = place.read_bytes()
    except OSError as problem:
        raise FileFormatError(
            f"path must be a readable file; got {str(place)!r} ({problem.strerror})"
        ) from None
    if not content:
        raise FileFormatError(f"path must be a file with {what}; got {str(place)!r}, empty")
    return content


def write_whole(place: Path, content: bytes) -> None:
    """Replace a file, or write a new one; readers see the old or the new content, never a part.

    A link is replaced, its target stays as it is. A device, such as /dev/null, or a pipe is written
    to.
    """
    if place.exists() and not place.is_file() and not place.is_dir():
        place.write_bytes(content)
        return
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def alone_in(folder: Path, refusal: Exception) -> Iterator[None]:
    """Lock a directory while the block runs; raise the refusal if another process has the lock.

    The system releases the lock of a process that is killed.
    """
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
