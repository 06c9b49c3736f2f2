"""Where data are kept: one directory, with the same layout wherever it is.

instances/*.npz  published/runs.csv  lastfm/user_artists.dat  epilepsy/*.csv
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mislid.datasets._catalogue import collection_of
from mislid.errors import MissingDataError, ProblemError

__all__ = ["cache_directory", "data_directory", "locate"]

VARIABLE = "MISLID_DATA"


def cache_directory() -> Path:
    """Where the system wants what can be fetched again to be kept."""
    home = Path.home()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "mislid" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "mislid"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a path that is not absolute.
    return (chosen if chosen.is_absolute() else home / ".cache") / "mislid"


def data_directory(data: str | os.PathLike[str] | None = None) -> Path:
    """The directory given, else the one that MISLID_DATA names, else the cache directory.

    >>> data_directory("/srv/data").as_posix()
    '/srv/data'
    """
    if data is None:
        named = os.environ.get(VARIABLE)
        return Path(named).expanduser() if named else cache_directory()
    try:
        return Path(data)
    except TypeError:
        raise ProblemError(f"data must be a directory's path; got {data!r}") from None


def locate(path: str, data: str | os.PathLike[str] | None = None) -> Path:
    """Find a published file, such as "instances/D.npz", or say how to get it.

    Only one directory is searched, that of `data_directory`: a file never comes from a place that
    nobody named.

    >>> locate("instances/D.npz", data="/nowhere")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no instances/D.npz in '/nowhere'; get it with
    `mislid data fetch instances --data /nowhere`, or name a directory that has it with --data or
    MISLID_DATA
    """
    folder = data_directory(data)
    place = folder / path
    if place.is_file():
        return place
    collection = collection_of(path)
    option = "" if data is None else f" --data {os.fspath(data)}"
    fetch = f"get it with `mislid data fetch {collection.name}{option}`, or " if collection else ""
    raise MissingDataError(
        f"no {path} in {str(folder)!r}; {fetch}name a directory that has it with --data or "
        f"{VARIABLE}"
    )
