"""The data directory: where it is, where its files are, and how they get there.

It has the same layout wherever it is:

instances/*.npz  published/runs.csv  lastfm/user_artists.dat  epilepsy/*.csv
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from mislid._words import shown
from mislid.errors import DownloadError, FileFormatError, MissingDataError, ProblemError
from mislid.io import alone_in, as_path, write_whole
from mislid.paper.datasets.catalogue import (
    Collection,
    DataFile,
    Download,
    collection_named,
    collection_of,
    sha256,
)
from mislid.paper.datasets.download import ByteListener, disk_errors, download

VARIABLE = "MISLID_DATA"
DOWNLOADS = "downloads"


def cache_directory() -> Path:
    """Where the system wants files to be kept that can be fetched again.

    Returns
    -------
    Path
        A directory that need not exist yet.

    Raises
    ------
    MissingDataError
        The user has no home directory, and no variable names another place: set MISLID_DATA, or
        XDG_CACHE_HOME.

    Examples
    --------
    Data are looked for there, unless MISLID_DATA names another directory:

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, MISLID_DATA=""):
    ...     data_directory() == cache_directory()
    True
    """
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG rules say to ignore a path that is not absolute.
    if sys.platform not in ("win32", "darwin") and chosen.is_absolute():
        return chosen / "mislid"
    try:
        home = Path.home()
    except RuntimeError:
        raise MissingDataError(
            f"there is no home directory to keep data in: name a folder for them in {VARIABLE}"
        ) from None
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "mislid" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "mislid"
    return home / ".cache" / "mislid"


def data_directory(data: str | os.PathLike[str] | None = None) -> Path:
    """The directory given, else the one that MISLID_DATA names, else the cache directory.

    Parameters
    ----------
    data
        A directory's path, or None.

    Returns
    -------
    Path
        The directory, which need not exist yet.

    Raises
    ------
    ProblemError
        Where `data` is no path.

    Examples
    --------
    >>> data_directory("/srv/data").as_posix()
    '/srv/data'
    """
    if data is None:
        named = os.environ.get(VARIABLE)
        return Path(named).expanduser() if named else cache_directory()
    return as_path(data, "data")


def locate(path: str, data: str | os.PathLike[str] | None = None) -> Path:
    """Find a published file, or say how to get it.

    Only one directory is searched, that of `data_directory`: a file never comes from a place that
    nobody named.

    Parameters
    ----------
    path
        The file's place in the data directory, such as "instances/D.npz".
    data
        The data directory; by default that of MISLID_DATA, else the cache.

    Returns
    -------
    Path
        The file, which exists.

    Raises
    ------
    MissingDataError
        Where the directory does not have it.
    ProblemError
        Where `path` or `data` is no path.

    Examples
    --------
    >>> locate("instances/D.npz", data="/nowhere")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no instances/D.npz in '/nowhere'; get it with
    `mislid data fetch instances --data /nowhere`, or name a directory that has it with --data or
    MISLID_DATA
    """
    folder = data_directory(data)
    place = folder / as_path(path)
    as_path(place)
    if place.is_file():
        return place
    collection = collection_of(path)
    option = "" if data is None else f" --data {os.fspath(data)}"
    fetch = f"get it with `mislid data fetch {collection.name}{option}`, or " if collection else ""
    raise MissingDataError(
        f"no {path} in {str(folder)!r}; {fetch}name a directory that has it with --data or "
        f"{VARIABLE}"
    )


def fetch(
    name: str,
    data: str | os.PathLike[str] | None = None,
    *,
    progress: ByteListener | None = None,
) -> tuple[Path, ...]:
    """Make sure that the files of a collection are in the data directory; give their paths.

    Files that are there with the right checksum are left alone, others are downloaded and checked.
    What was saved by hand as `downloads/NAME` is used as if it had been downloaded.

    Parameters
    ----------
    name
        Of the collection: instances, published, lastfm or epilepsy.
    data
        The data directory; by default that of MISLID_DATA, else the cache.
    progress
        Called with a file's name, the bytes that have come, and all bytes or None.

    Returns
    -------
    tuple of Path
        The files of the collection.

    Raises
    ------
    ProblemError
        Where no collection has this name, or `data` is no path.
    DownloadError
        Where a file cannot be downloaded, is not the published one, or cannot be saved; the
        message says how to get it by hand.

    Examples
    --------
    >>> fetch("movies")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: name must be one of instances, published, lastfm, epilepsy;
    got 'movies'
    """
    collection = collection_named(name)
    folder = data_directory(data)
    for file in collection.files:
        if not _is_right(file, folder):
            with _no_other_process(file, folder):
                _download_and_convert(file, folder, progress)
    _remove_downloads(collection, folder)
    return tuple(folder / file.path for file in collection.files)


def is_complete(collection: Collection, folder: str | os.PathLike[str]) -> bool:
    """Whether a directory has all files of a collection, with the right checksums.

    Parameters
    ----------
    collection
        An entry of `CATALOGUE`.
    folder
        A data directory.

    Returns
    -------
    bool
        Whether nothing is left to fetch.

    Raises
    ------
    ProblemError
        Where `collection` is no entry of `CATALOGUE`, or `folder` is no path.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mislid.paper.datasets import CATALOGUE
    >>> with TemporaryDirectory() as folder:
    ...     [name for name, each in CATALOGUE.items() if not is_complete(each, folder)]
    ['instances', 'published', 'lastfm', 'epilepsy']
    """
    if not isinstance(collection, Collection):
        raise ProblemError(f"collection must be an entry of CATALOGUE; got {shown(collection)}")
    place = as_path(folder, "folder")
    return all(_is_right(file, place) for file in collection.files)


def _is_right(file: DataFile, folder: Path) -> bool:
    try:
        return file.digest((folder / file.path).read_bytes()) == file.checksum
    except (OSError, FileFormatError):
        return False


@contextlib.contextmanager
def _no_other_process(file: DataFile, folder: Path) -> Iterator[None]:
    """Two processes must not append to the same download."""
    wanted = file.downloads[0]
    place = _place(wanted, folder)
    with _way_out(file, wanted, folder), disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    refusal = DownloadError(f"another process is fetching into {str(folder)!r}; wait for its end")
    with alone_in(place.parent, refusal):
        yield


def _download_and_convert(file: DataFile, folder: Path, progress: ByteListener | None) -> None:
    contents = []
    for wanted in file.downloads:
        place = _place(wanted, folder)
        with _way_out(file, wanted, folder):
            download(wanted.url, place, progress, largest=wanted.largest)
            contents.append(_content(place, wanted, file, folder))
    with _way_out(file, file.downloads[0], folder):
        made = _converted(file, contents, folder)
        target = folder / file.path
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, made)


def _converted(file: DataFile, contents: list[bytes], folder: Path) -> bytes:
    try:
        made = file.make(contents)
        got = file.digest(made)
        if got == file.checksum:
            return made
        problem = f"its checksum is {got}, not {file.checksum}"
    except FileFormatError as wrong:
        problem = str(wrong)
    raise _refusal(file, folder, problem)


def _content(place: Path, wanted: Download, file: DataFile, folder: Path) -> bytes:
    """What was downloaded, or saved by hand, if it may be looked at."""
    with disk_errors(place), place.open("rb") as saved:
        content = saved.read(wanted.largest + 1)
    if len(content) > wanted.largest:
        raise _refusal(file, folder, f"it has more than {wanted.largest:,} bytes")
    got = sha256(content)
    if wanted.checksum not in (None, got):
        raise _refusal(file, folder, f"its checksum is {got}, not {wanted.checksum}")
    return content


def _refusal(file: DataFile, folder: Path, problem: str) -> DownloadError:
    """Delete what was downloaded, and say so."""
    for wanted in file.downloads:
        _place(wanted, folder).unlink(missing_ok=True)
    return DownloadError(
        f"what was downloaded for {file.path} is not the published file, and was deleted: {problem}"
    )


@contextlib.contextmanager
def _way_out(file: DataFile, wanted: Download, folder: Path) -> Iterator[None]:
    try:
        yield
    except DownloadError as problem:
        raise DownloadError(
            f"{problem}; by hand: save {wanted.url} as {str(_place(wanted, folder))!r} and make "
            f"the same call again, or name a directory that has {file.path} with --data or "
            "MISLID_DATA"
        ) from None


def _remove_downloads(collection: Collection, folder: Path) -> None:
    """Remove what was downloaded, now that files are made of it."""
    for file in collection.files:
        for wanted in file.downloads:
            with contextlib.suppress(OSError):
                _place(wanted, folder).unlink()
    with contextlib.suppress(OSError):
        (folder / DOWNLOADS).rmdir()


def _place(wanted: Download, folder: Path) -> Path:
    return folder / DOWNLOADS / wanted.name
