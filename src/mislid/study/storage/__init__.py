"""Where studies are kept: `as_storage` opens an address."""

from __future__ import annotations

import os
from typing import Any

from mislid._words import shown, without_password
from mislid.errors import MissingPackageError, ProblemError
from mislid.study.events import Entry, Log, refuse_gap
from mislid.study.storage.interface import (
    Collision,
    Line,
    Storage,
    UpgradeReport,
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
    "UpgradeReport",
    "as_storage",
    "name_taken_error",
    "refuse_gap",
    "study_deleted_error",
    "upgrade_storage",
]


def as_storage(storage: str | os.PathLike[str] | Storage | None) -> Storage:
    """The storage itself, the one at this address, or a new one in memory.

    Parameters
    ----------
    storage
        An open storage; an address, sqlite:///lab.db (sqlite:////absolute/path/lab.db) or
        postgresql://user:password@host/database; a path, of an SQLite file; None for memory.

    Returns
    -------
    Storage
        Open.

    Raises
    ------
    ProblemError
        If it is no address.
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
    from mislid.study.storage.sql import SQLStorage

    return SQLStorage(address)


def upgrade_storage(
    storage: str | os.PathLike[str], *, backup: str | os.PathLike[str] | None = None
) -> UpgradeReport:
    """Bring a storage that an older release made up to date, after a backup.

    It is one transaction: whatever happens, all is as before or up to date.

    Parameters
    ----------
    storage
        An address or path, as elsewhere.
    backup
        Where the backup goes. For SQLite a new file, otherwise the file's name with
        `.v1-backup` behind it; for PostgreSQL a new schema of the same database, otherwise
        `mislid_backup_v1_` and the time.

    Returns
    -------
    UpgradeReport
        What was done, and where the backup is.

    Raises
    ------
    ProblemError
        If `storage` is no address or `backup` cannot be there.
    StorageError
        If the storage is not there, damaged, full, or of another release.

    Examples
    --------
    >>> upgrade_storage("sqlite:///missing.db")
    Traceback (most recent call last):
    ...
    mislid.errors.StorageError: storage 'sqlite:///missing.db' is not there: check the address
    """
    if isinstance(storage, Storage):
        raise ProblemError("storage must be an address: one that is open is up to date")
    address = _as_address(storage)
    from mislid.study.storage.database import Database
    from mislid.study.storage.upgrade import upgrade

    database = Database(address)
    try:
        return upgrade(database, None if backup is None else os.fspath(backup))
    finally:
        database.close()


def _shown(address: Any) -> Any:
    return without_password(address) if isinstance(address, str) else address


def _as_address(storage: Any) -> str:
    """One that SQLAlchemy knows; refuses others, and where a package is missing."""
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
        import sqlalchemy  # noqa: F401  # the message below says what is missing

        if scheme != "sqlite":
            import psycopg  # noqa: F401
    except ImportError as problem:
        extra = "study" if problem.name != "psycopg" else "postgresql"
        raise MissingPackageError(
            f"storage {scheme}:// needs {problem.name} (pip install 'mislid[{extra}]')"
        ) from None
    return str(address)
