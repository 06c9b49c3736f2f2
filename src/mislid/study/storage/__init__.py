"""Storages of studies; `as_storage` opens one by its address."""

from __future__ import annotations

import os
from typing import Any

from mislid._formatting import shown, without_password
from mislid.errors import MissingPackageError, ProblemError, StorageError
from mislid.study.events import Entry, Log, refuse_gap
from mislid.study.storage.interface import (
    Collision,
    Line,
    Storage,
    name_taken_error,
    study_deleted_error,
)
from mislid.study.storage.memory import MemoryStorage

__all__ = [
    "Collision",
    "Entry",
    "Line",
    "Log",
    "MemoryStorage",
    "Storage",
    "as_storage",
    "name_taken_error",
    "refuse_gap",
    "study_deleted_error",
]


def as_storage(storage: str | os.PathLike[str] | Storage | None) -> Storage:
    """Open a storage.

    Parameters
    ----------
    storage
        An address such as sqlite:///lab.db (sqlite:////absolute/path/lab.db) or
        postgresql://user:password@host/database; the path of an SQLite file; None for a new storage
        in memory; or an open storage, which is returned unchanged.

    Returns
    -------
    Storage
        The open storage.

    Raises
    ------
    ProblemError
        If the address is invalid.
    MissingPackageError
        If the address needs a package that is not installed.

    Examples
    --------
    >>> as_storage(None).names()
    {}
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    address = _as_address(storage)
    from sqlalchemy.exc import ArgumentError

    from mislid.study.storage.sql import SQLStorage

    try:
        return SQLStorage(address)
    except (ArgumentError, TypeError, ValueError) as problem:
        place = without_password(storage)
        raise StorageError(
            f"storage {place!r} cannot be opened: check the address ({problem})"
        ) from None


def _shown(address: Any) -> Any:
    return without_password(address) if isinstance(address, str) else address


def _as_address(storage: Any) -> str:
    """Convert an address or a path to an SQLAlchemy URL, and check that its driver is installed."""
    address = f"sqlite:///{os.fspath(storage)}" if isinstance(storage, os.PathLike) else storage
    scheme = address.partition("://")[0] if isinstance(address, str) and "://" in address else ""
    if scheme == "postgresql":
        address = address.replace("postgresql", "postgresql+psycopg", 1)
    elif scheme not in ("sqlite", "postgresql+psycopg"):
        raise ProblemError(
            "storage must be an address such as 'sqlite:///lab.db' or "
            "'postgresql://user@host/database', a path such as pathlib.Path('lab.db'), or None; "
            f"got {shown(_shown(address))}"
        )
    if address in ("sqlite://", "sqlite:///:memory:", "sqlite:///"):
        raise ProblemError(
            f"storage must name a file; got {address!r}: leave it out to keep a study in memory"
        )
    try:
        import sqlalchemy  # noqa: F401

        if scheme != "sqlite":
            import psycopg  # noqa: F401
    except ImportError as problem:
        extra = "study" if problem.name != "psycopg" else "postgresql"
        raise MissingPackageError(
            f"storage {scheme}:// needs {problem.name} (pip install 'mislid[{extra}]')"
        ) from None
    return str(address)
