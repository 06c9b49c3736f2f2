"""The data directory: downloads with pooch, conversion of the authors' files, and checksums.

The layout is: instances/*.npz  lastfm/user_artists.dat  epilepsy/*.csv
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from mislid._formatting import shown
from mislid.errors import FileFormatError, MissingDataError, MissingPackageError, ProblemError
from mislid.io import as_path, write_whole
from mislid.paper.datasets.catalogue import CATALOGUE, DataFile

VARIABLE = "MISLID_DATA"
DOWNLOADS = "downloads"
RETRIES = 3
# Seconds without a byte.
PATIENCE = 30.0


def cache_directory() -> Path:
    """The user's cache directory of this package.

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
    try:
        from platformdirs import user_cache_path  # comes with pooch

        return user_cache_path("mislid", appauthor=False)
    except (ImportError, RuntimeError):  # not installed, or the user has no home
        raise MissingDataError(
            f"there is no cache directory to keep data in: name a folder for them in {VARIABLE}"
        ) from None


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
    """The path of a published file.

    Only the directory of `data_directory` is searched.

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
    place = as_path(folder / as_path(path))
    if place.is_file():
        return place
    option = "" if data is None else f" --data {os.fspath(data)}"
    holding = [name for name, each in CATALOGUE.items() for file in each.files if file.path == path]
    way = f"get it with `mislid data fetch {holding[0]}{option}`, or " if holding else ""
    raise MissingDataError(
        f"no {path} in {str(folder)!r}; {way}name a directory that has it with --data or {VARIABLE}"
    )


def published_file(path: str, data: str | os.PathLike[str] | None = None) -> Path:
    """The path of a published file with the right checksum."""
    place = locate(path, data)
    for name, collection in CATALOGUE.items():
        for file in collection.files:
            if file.path == path and not file.is_right(data_directory(data)):
                raise FileFormatError(
                    f"{str(place)!r} is not the published file; get it again with "
                    f"`mislid data fetch {name}`"
                )
    return place


def fetch(
    name: str,
    data: str | os.PathLike[str] | None = None,
    *,
    progress: bool = False,
) -> tuple[Path, ...]:
    """Download the files of a collection that the data directory does not have; give all paths.

    Files that are there with the right checksum are left alone, others are downloaded and checked.
    A file saved by hand as `downloads/NAME` is used in place of its download.

    Parameters
    ----------
    name
        Of the collection: instances, lastfm or epilepsy.
    data
        The data directory; by default that of MISLID_DATA, else the cache.
    progress
        Whether to show a bar for each download, on stderr; it needs tqdm.

    Returns
    -------
    tuple of Path
        The files of the collection.

    Raises
    ------
    ProblemError
        Where no collection has this name, or `data` is no path.
    MissingDataError
        Where a file cannot be downloaded, is not the published one, or cannot be saved; the
        message says how to get it by hand.
    MissingPackageError
        Where something must be downloaded, without pooch.

    Examples
    --------
    >>> fetch("movies")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: name must be one of instances, lastfm, epilepsy;
    got 'movies'
    """
    if name not in list(CATALOGUE):
        raise ProblemError(f"name must be one of {', '.join(CATALOGUE)}; got {shown(name)}")
    folder = data_directory(data)
    files = CATALOGUE[name].files
    for file in files:
        if not file.is_right(folder):
            _fetch_file(file, folder, progress)
    return tuple(folder / file.path for file in files)


def _fetch_file(file: DataFile, folder: Path, progress: bool) -> None:
    try:
        made = file.make(_downloaded(file, folder / DOWNLOADS, progress))
        if file.digest(made) != file.checksum:
            raise ValueError(f"its checksum is {file.digest(made)}, not {file.checksum}")
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, made)
    except ValueError as problem:  # of a checksum, or of a file in another format
        _remove_downloads(file, folder)
        found = f"the download is not the published file: {problem}"
        raise _failure(file, folder, found) from None
    except OSError as problem:  # of the connection or of the disk
        raise _failure(file, folder, " ".join(str(problem).split())) from None
    _remove_downloads(file, folder)


def _downloaded(file: DataFile, place: Path, progress: bool) -> list[bytes]:
    """The bytes of the downloads, or of files that were saved by hand in their place."""
    try:
        import pooch
    except ImportError:
        raise MissingPackageError("downloads need pooch (pip install 'mislid[cli]')") from None
    pooch.get_logger().setLevel("WARNING")
    store = pooch.Pooch(
        place,
        base_url="",
        registry={wanted.name: wanted.checksum for wanted in file.downloads},
        urls={wanted.name: wanted.url for wanted in file.downloads},
        retry_if_failed=RETRIES,
    )
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=PATIENCE)
    paths = [store.fetch(wanted.name, downloader=downloader) for wanted in file.downloads]
    return [Path(path).read_bytes() for path in paths]


def _failure(file: DataFile, folder: Path, problem: str) -> MissingDataError:
    """An error that says how to get a file by hand."""
    by_hand = ", ".join(
        f"{wanted.url} as {str(folder / DOWNLOADS / wanted.name)!r}" for wanted in file.downloads
    )
    return MissingDataError(
        f"{file.path} cannot be fetched: {problem}; by hand: save {by_hand} and make the same call "
        f"again, or name a directory that has {file.path} with --data or {VARIABLE}"
    )


def _remove_downloads(file: DataFile, folder: Path) -> None:
    with contextlib.suppress(OSError):
        for wanted in file.downloads:
            (folder / DOWNLOADS / wanted.name).unlink(missing_ok=True)
        (folder / DOWNLOADS).rmdir()
