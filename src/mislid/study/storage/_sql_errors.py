"""From a database's complaint to a sentence with a way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from mislid.errors import (
    CorruptStorageError,
    FullStorageError,
    LockedStorageError,
    ReadOnlyStorageError,
    StorageError,
)
from mislid.study.storage._interface import Collision

_LOCKED = (LockedStorageError, "has been held by another process for too long: try again later")
_READ_ONLY = (
    ReadOnlyStorageError,
    "cannot be written to: allow it (for SQLite in its directory too), or copy it elsewhere",
)
_FULL = (FullStorageError, "has no room left, and nothing was added: make room and try again")
_CORRUPT = (CorruptStorageError, "is damaged or no database: restore it from a backup")
_CLOSED = (StorageError, "cannot be opened: check the address, and that its directory exists")
_COLLIDED = (Collision, "undid a transaction because of another one: try again")

Complaint = tuple[type[StorageError], str]

# Names of SQLite's result codes begin with these.
_SQLITE: dict[str, Complaint] = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_CORRUPT": _CORRUPT,
    "SQLITE_NOTADB": _CORRUPT,
    "SQLITE_CANTOPEN": _CLOSED,
}
# PostgreSQL's SQLSTATE codes begin with these.
_POSTGRESQL: dict[str, Complaint] = {
    "40001": _COLLIDED,
    "40P01": _COLLIDED,
    "55P03": _LOCKED,
    "25006": _READ_ONLY,
    "42501": _READ_ONLY,
    "53100": _FULL,
    "53300": (LockedStorageError, "has too many connections: close some, or try again later"),
    "XX001": _CORRUPT,
    "XX002": _CORRUPT,
    "08": _CLOSED,
    "28": (StorageError, "refuses the user or password: check them in the address"),
    "3D000": (StorageError, "does not exist on the server: create the database first"),
    "57": (StorageError, "ended the connection: try again when the server is back"),
}


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn the database's complaints into the package's errors about `place`."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as problem:
        original = getattr(problem, "orig", problem)
        kind, advice = _complaint(original)
        said = (str(original).strip() or type(original).__name__).splitlines()[0]
        raise kind(f"storage {place!r} {advice} ({said})") from problem


def _complaint(original: BaseException) -> Complaint:
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return _matching(_POSTGRESQL, state)
    name = getattr(original, "sqlite_errorname", None)
    if isinstance(name, str):
        return _matching(_SQLITE, name)
    return _CLOSED  # no server was there to give a code


def _matching(complaints: dict[str, Complaint], code: str) -> Complaint:
    for start, complaint in complaints.items():
        if code.startswith(start):
            return complaint
    return StorageError, "has failed: see what the database says"
