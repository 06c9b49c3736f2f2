"""Where studies are kept: `as_storage` opens an address."""

from __future__ import annotations

import os
from typing import Any

from mislid.errors import MissingPackageError, ProblemError
from mislid.study.storage._interface import Collision, Log, Storage
from mislid.study.storage._memory import MemoryStorage

__all__ = ["Collision", "Log", "MemoryStorage", "Storage", "as_storage"]


def as_storage(storage: str | os.PathLike[str] | Storage | None) -> Storage:
    """The storage itself, the one at this address, or, for None, a new one in memory.

    Addresses are sqlite:///lab.db (sqlite:////absolute/path/lab.db) and
    postgresql://user:password@host/database. A path is the SQLite file there.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    if isinstance(storage, os.PathLike):
        storage = f"sqlite:///{os.fspath(storage)}"
    return _at(storage)


def _at(address: Any) -> Storage:
    scheme = address.partition("://")[0] if isinstance(address, str) and "://" in address else ""
    if scheme == "postgresql":
        address = address.replace("postgresql", "postgresql+psycopg", 1)
    elif scheme not in ("sqlite", "postgresql+psycopg"):
        raise ProblemError(
            "storage must be an address such as 'sqlite:///lab.db' or "
            f"'postgresql://user@host/database', or None; got {address!r}"
        )
    if address in ("sqlite://", "sqlite:///:memory:", "sqlite:///"):
        raise ProblemError(
            f"storage must name a file; got {address!r}: leave it out to keep a study in memory"
        )
    try:
        from mislid.study.storage._sql import SQLStorage

        if scheme != "sqlite":
            import psycopg  # noqa: F401  # the message below says what is missing
    except ImportError as problem:
        extra = "study" if problem.name != "psycopg" else "postgresql"
        raise MissingPackageError(
            f"storage {scheme}:// needs {problem.name} (pip install 'mislid[{extra}]')"
        ) from None
    return SQLStorage(address)
