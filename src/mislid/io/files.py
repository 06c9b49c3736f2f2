"""Paths from users, and the content of their files."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

from mislid._formatting import shown
from mislid.errors import FileFormatError, ProblemError

LARGEST_FILE = 1 << 28
"""Bytes of a file that is read."""


def as_path(path: Any, name: str = "path") -> Path:
    """Check that something is a path, and one that can be."""
    try:
        place = Path(path)
        os.lstat(place)
    except TypeError:
        raise ProblemError(f"{name} must be a string or a path; got {shown(path)}") from None
    except ValueError:
        raise ProblemError(
            f"{name} must be a path that the system can have; got {shown(path)}"
        ) from None
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            raise ProblemError(
                f"{name} must be a shorter path; got one of {len(str(place)):,} characters"
            ) from None
    return place


def with_ending(path: Any, name: str, *endings: str) -> Path:
    """The path, whose name must end in one of these."""
    place = as_path(path, name)
    if endings and place.suffix.lower() not in endings:
        raise FileFormatError(f"{name} must end in {' or '.join(endings)}; got {str(place)!r}")
    return place


def new_place(path: Any, name: str = "path", *endings: str) -> Path:
    """Check, before anything is computed, that a file can be written to a place.

    Messages call the path by `name`; `endings` are those that its name may have, if not all.

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
    """The bytes of a regular file of bounded size; `what` it should hold is for messages."""
    try:
        about = place.stat()
        # Reading a pipe may never begin or end.
        if not stat.S_ISREG(about.st_mode):
            kind = "directory" if place.is_dir() else "pipe or device"
            raise FileFormatError(f"path must be a file; got the {kind} {str(place)!r}")
        if about.st_size > LARGEST_FILE:
            raise FileFormatError(
                f"path must be a file of at most {LARGEST_FILE:,} bytes; got {str(place)!r} with "
                f"{about.st_size:,}"
            )
        content = place.read_bytes()
    except OSError as problem:
        raise FileFormatError(
            f"path must be a readable file; got {str(place)!r} ({problem.strerror})"
        ) from None
    if not content:
        raise FileFormatError(f"path must be a file with {what}; got {str(place)!r}, empty")
    return content
