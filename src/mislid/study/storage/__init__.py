"""Where studies are kept: `as_storage` opens an address."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mislid.errors import MissingPackageError, ProblemError
from mislid.study.storage._interface import Collision, Log, Storage
from mislid.study.storage._memory import MemoryStorage

if TYPE_CHECKING:
    from mislid.study.storage._upgrade import UpgradeReport

__all__ = ["Collision", "Log", "MemoryStorage", "Storage", "as_storage", "upgrade_storage"]


def as_storage(storage: str | os.PathLike[str] | Storage | None) -> Storage:
    """The storage itself, the one at this address, or, for None, a new one in memory.

    Addresses are sqlite:///lab.db (sqlite:////absolute/path/lab.db) and
    postgresql://user:password@host/database. A path is the SQLite file there.
    """
    if storage is None:
        return MemoryStorage()
    if isinstance(storage, Storage):
        return storage
    address = _as_address(storage)
    from mislid.study.storage._sql import SQLStorage

    return SQLStorage(address)


def upgrade_storage(
    storage: str | os.PathLike[str], *, backup: str | os.PathLike[str] | None = None
) -> UpgradeReport:
    """Bring a storage that an older release made up to date, after a backup.

    Parameters
    ----------
    storage
        An address or path, as elsewhere.
    backup
        Where the backup goes. For SQLite a new file, otherwise the file's name with
        `.v1-backup` behind it; for PostgreSQL a new schema of the same database, otherwise
        `mislid_backup_v1_` and the time.

    It is one transaction: whatever happens, all is as before or up to date.
    """
    if isinstance(storage, Storage):
        raise ProblemError("storage must be an address: one that is open is up to date")
    address = _as_address(storage)
    from mislid.study.storage._database import Database
    from mislid.study.storage._upgrade import upgrade

    database = Database(address)
    try:
        return upgrade(database, None if backup is None else os.fspath(backup))
    finally:
        database.engine.dispose()


def _as_address(storage: Any) -> str:
    """One that SQLAlchemy knows; refuses others, and where a package is missing."""
    address = f"sqlite:///{os.fspath(storage)}" if isinstance(storage, os.PathLike) else storage
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
        import sqlalchemy  # noqa: F401  # the message below says what is missing

        if scheme != "sqlite":
            import psycopg  # noqa: F401
    except ImportError as problem:
        extra = "study" if problem.name != "psycopg" else "postgresql"
        raise MissingPackageError(
            f"storage {scheme}:// needs {problem.name} (pip install 'mislid[{extra}]')"
        ) from None
    return str(address)
