"""The paper's data: published instances, drugs against epilepsy, and Last.fm.

A data directory holds instances/*.npz, lastfm/user_artists.dat and epilepsy/*.csv.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import zipfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from mislid._formatting import require_pandas, shown
from mislid._validation import Matrix, Vector, as_count
from mislid.errors import FileFormatError, MissingDataError, MissingPackageError, ProblemError
from mislid.io import Table, as_path, npz_bytes, npz_table, write_whole

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = [
    "CATALOGUE",
    "Collection",
    "Epilepsy",
    "LastFm",
    "data_directory",
    "epilepsy",
    "fetch",
    "lastfm",
    "listening",
    "locate",
]

VARIABLE = "MISLID_DATA"
DOWNLOADS = "downloads"
# Timeout of a download in seconds without data.
PATIENCE = 30.0
# The columns of the drugs' rewards. The file has no heading; the order is that of the authors'
# program, and the columns' averages are the means of instance D.
_REWARDED = (
    "Hydroxyzine",
    "Acetazolamide",
    "Pentobarbital",
    "Topiramate",
    "Diazepam",
    "Dmcm",
    "Brucine",
    "Fipronil",
    "Flumazenil",
    "Fg-7142",
)
# The only names in the authors' pickles; their modules depend on NumPy's version.
_NUMPY = {
    "_reconstruct": np.empty(0).__reduce__()[0],
    "ndarray": np.ndarray,
    "matrix": np.ndarray,
    "dtype": np.dtype,
}


class _Arrays(pickle.Unpickler):
    """Unpickler of plain values and NumPy arrays that refuses all other names."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "numpy" or name not in _NUMPY:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _NUMPY[name]


def instance_file(content: bytes, name: str) -> bytes:
    """Convert an instance pickled by the paper's authors to a .npz file of this name.

    The pickles have features as a (d, K) matrix `X` and means as `scores`. The misspecified version
    of A is the linear one with 5 added to the fourth best mean.
    """
    try:
        pickled = _Arrays(io.BytesIO(content)).load()
        features = np.array(np.asarray(pickled["X"], dtype=np.float64).T, order="C")
        means = np.array(pickled["scores"], dtype=np.float64).ravel()
        names = tuple(str(name) for name in pickled["names"])
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError) as problem:
        raise FileFormatError(f"the pickled instance cannot be read: {problem}") from None
    if name == "A_eps5.npz":
        means[np.argsort(-means, kind="stable")[3]] += 5.0
    return npz_bytes(Table(features, means, None, names, None))


def instance_digest(content: bytes) -> str:
    """SHA-256 of features and means in a .npz file; its other bytes depend on the writer."""
    table = npz_table(content, "the instance")
    arrays = [np.ascontiguousarray(one, dtype="<f8") for one in (table.features, table.means)]
    return sha256(b"".join(array.tobytes() for array in arrays))


def archive_member(content: bytes, name: str) -> bytes:
    """Extract the one file of this name from any folder of a .zip archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            places = [place for place in archive.namelist() if place.rpartition("/")[2] == name]
            if len(places) == 1:
                return archive.read(places[0])
    except Exception:  # noqa: BLE001 - zipfile raises many types on damaged bytes
        raise FileFormatError("what the server sent is no complete .zip archive") from None
    raise FileFormatError(f"the archive must hold one file {name}; it does not")


def sha256(content: bytes) -> str:
    """The SHA-256 checksum of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


class DataFile(NamedTuple):
    """A file of the data directory: `make` gives its bytes from those at `url` and its name.

    `digest` of these bytes must equal `checksum`; it is SHA-256 unless equal contents may have
    different bytes. If `downloaded`, the SHA-256 of the download, is known, a download with another
    one is never opened.
    """

    path: str
    checksum: str
    url: str
    downloaded: str = ""
    make: Callable[[bytes, str], bytes] = lambda content, name: content
    digest: Callable[[bytes], str] = sha256

    @property
    def download(self) -> str:
        """The file name of the stored download."""
        return unquote(self.url.rpartition("/")[2])

    def is_right(self, place: Path) -> bool:
        """Whether this is the published file."""
        try:
            return self.digest(place.read_bytes()) == self.checksum
        except (OSError, FileFormatError):
            return False


class Collection(NamedTuple):
    """Files that are fetched together.

    Attributes
    ----------
    contents
        A description.
    licence, citation
        The terms, and the work to cite.
    files
        Each with its place, address and checksum.
    """

    contents: str
    licence: str
    citation: str
    files: tuple[DataFile, ...]

    def is_complete(self, folder: Path) -> bool:
        """Whether a data directory has all files, with the right checksums.

        Parameters
        ----------
        folder
            The data directory.

        Returns
        -------
        bool
            True if `mislid data fetch` would download nothing.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     [name for name, each in CATALOGUE.items() if not each.is_complete(Path(folder))]
        ['instances', 'lastfm', 'epilepsy']
        """
        return all(file.is_right(folder / file.path) for file in self.files)


def _files(name: str, *how: Any) -> tuple[DataFile, ...]:
    """The registered files in the folder of this name."""
    lines = files(__package__).joinpath("registry.csv").read_text(encoding="utf-8").splitlines()
    listed = [line.split(",") for line in lines if line.startswith(f"{name}/")]
    return tuple(DataFile(path, right, url, got, *how) for path, right, url, got in listed)


CATALOGUE = {
    "instances": Collection(
        "the instances of the published experiments",
        "MIT; E derives from Last.fm data, CC BY-SA 4.0",
        "C. Réda, A. Tirinzoni, R. Degenne: Dealing With Misspecification In Fixed-Confidence "
        "Linear Top-m Identification. NeurIPS 2021",
        _files("instances", instance_file, instance_digest),
    ),
    "lastfm": Collection(
        "how often 1,892 users listened to 17,632 artists (HetRec 2011)",
        "non-commercial use, says its readme; the paper says CC BY-SA 4.0",
        "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and "
        "Fusion in Recommender Systems (HetRec 2011). RecSys 2011; Last.fm, https://www.last.fm",
        _files("lastfm", archive_member),
    ),
    "epilepsy": Collection(
        "signatures and known effects of 509 drugs; rewards of 10 for 18 patients",
        "MIT",
        "C. Réda, E. Kaufmann, A. Delahaye-Duriez: Top-m identification for linear bandits. "
        "AISTATS 2021",
        _files("epilepsy"),
    ),
}
"""The collections of `fetch`, by name."""


def data_directory(data: str | os.PathLike[str] | None = None) -> Path:
    """The data directory: the given one, else that of MISLID_DATA, else the user's cache.

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
    MissingDataError
        Where no directory is given and the user has no cache directory.

    Examples
    --------
    >>> data_directory("/srv/data").as_posix()
    '/srv/data'
    """
    if data is not None:
        return as_path(data, "data")
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    try:
        from platformdirs import user_cache_path  # comes with pooch

        return user_cache_path("mislid", appauthor=False)
    except (ImportError, RuntimeError):  # not installed, or the user has no home
        raise MissingDataError(
            f"there is no cache directory to keep data in: name a folder for them in {VARIABLE}"
        ) from None


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
        Where the file is missing.
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
    name = str(path).partition("/")[0]
    way = f"get it with `mislid data fetch {name}{option}`, or " if name in CATALOGUE else ""
    raise MissingDataError(
        f"no {path} in {str(folder)!r}; {way}name a directory that has it with --data or {VARIABLE}"
    )


def published_file(path: str, data: str | os.PathLike[str] | None = None) -> Path:
    """The path of a published file with the right checksum."""
    place = locate(path, data)
    name = path.partition("/")[0]
    (file,) = (file for file in CATALOGUE[name].files if file.path == path)
    if not file.is_right(place):
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
    """Download the missing files of a collection, and return the paths of all.

    Files with the right checksum are kept, others are downloaded and checked. A file saved by hand
    as `downloads/NAME` replaces its download.

    Parameters
    ----------
    name
        Name of the collection: instances, lastfm or epilepsy.
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
        Where a file cannot be downloaded or saved, or is not the published one; the message says
        how to get it by hand.
    MissingPackageError
        Where pooch is missing and a file must be downloaded.

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
        if not file.is_right(folder / file.path):
            _fetch_file(file, folder, progress)
    return tuple(folder / file.path for file in files)


def _fetch_file(file: DataFile, folder: Path, progress: bool) -> None:
    """Download a file, convert it, check it, and write it whole or not at all."""
    target, kept = folder / file.path, folder / DOWNLOADS / file.download
    try:
        made = file.make(_download(file, kept, progress), target.name)
        if file.digest(made) != file.checksum:
            raise ValueError(f"its checksum is {file.digest(made)}, not {file.checksum}")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, made)
    except (OSError, ValueError) as problem:
        said = " ".join(str(problem).split())
        if isinstance(problem, ValueError):  # of a checksum, or of a file in another format
            kept.unlink(missing_ok=True)
            said = f"the download is not the published file: {said}"
        raise MissingDataError(
            f"{file.path} cannot be fetched: {said}; by hand: save {file.url} as {str(kept)!r} and "
            f"make the same call again, or name a directory that has {file.path} with --data or "
            f"{VARIABLE}"
        ) from None
    with contextlib.suppress(OSError):
        kept.unlink()
        kept.parent.rmdir()


def _download(file: DataFile, place: Path, progress: bool) -> bytes:
    """The bytes of a download, or of a file saved by hand in its place."""
    try:
        import pooch
    except ImportError:
        raise MissingPackageError("downloads need pooch (pip install 'mislid[cli]')") from None
    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=PATIENCE)
    known = file.downloaded or None
    pooch.retrieve(file.url, known, place.name, place.parent, downloader=downloader)
    return place.read_bytes()


class Epilepsy(NamedTuple):
    """Drugs against epilepsy (Réda et al. 2021).

    Attributes
    ----------
    signatures
        Changes of the expression of 67 genes, a row for each drug.
    scores
        Known effects by drug: 1 antiepileptic, -1 proconvulsant, 0 unknown.
    rewards
        A row for each of 18 patients and a column for each of 10 drugs. The environment that
        resamples the rows is `mislid.simulation.Table(drugs.rewards)`.
    """

    signatures: DataFrame
    scores: Series
    rewards: DataFrame


def epilepsy(data: str | os.PathLike[str] | None = None) -> Epilepsy:
    """The drug-repurposing data: the 27 of 509 drugs whose effect is known.

    The paper reports 175 drugs of known effect; the published scores have 27 (see
    docs/reproduce.md).

    Parameters
    ----------
    data
        Directory with `epilepsy/*.csv`; by default that of MISLID_DATA, else the cache.

    Returns
    -------
    Epilepsy
        Signatures, scores and rewards.

    Raises
    ------
    MissingDataError
        Where the files are missing.
    FileFormatError
        Where a file is not the published one.
    MissingPackageError
        Without pandas.

    Examples
    --------
    >>> epilepsy(data="my-data")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no epilepsy/epilepsy_signatures_nonbinarized.csv in 'my-data';
    get it with `mislid data fetch epilepsy --data my-data`, or name a directory that has it with
    --data or MISLID_DATA
    """
    signatures = published_file("epilepsy/epilepsy_signatures_nonbinarized.csv", data)
    scores = published_file("epilepsy/epilepsy_scores.csv", data)
    rewards = published_file("epilepsy/rewards_cosine_10drugs_18samples.csv", data)
    require_pandas("epilepsy", "read the files")
    import pandas as pd

    effects = pd.read_csv(scores, index_col="drug_name")["score"]
    genes = pd.read_csv(signatures, index_col=0).T
    genes.index = effects.index  # the same drugs in the same order, by their PubChem ids
    known = effects != 0
    patients = pd.DataFrame(np.loadtxt(rewards), columns=list(_REWARDED))
    return Epilepsy(genes[known], effects[known], patients)


class LastFm(NamedTuple):
    """Rewards and features of users and artists; `lastfm` makes it from the published file.

    Attributes
    ----------
    rewards
        How often each user listened to each artist, on a log scale from 0 to 1: a row for each
        user and a column for each artist, both by their ids.
    user_features, artist_features
        Shapes (U, r) and (A, r); their inner products are the best approximation of the rewards by
        a matrix of rank r. The singular values are factors of the users' features.
    """

    rewards: DataFrame
    user_features: Matrix
    artist_features: Matrix

    def pairs(self) -> tuple[Matrix, Vector]:
        """Features and rewards of all pairs of a user and an artist, to learn from.

        Returns
        -------
        features : numpy.ndarray
            Shape (U A, 2 r): the user's beside the artist's; the pairs of the first user come
            first. With 1,020 users, 103 artists and rank 80 they take 134 MB.
        rewards : numpy.ndarray
            Shape (U A,).
        """
        U, A = self.rewards.shape
        users = np.repeat(self.user_features, A, axis=0)
        artists = np.tile(self.artist_features, (U, 1))
        return np.hstack([users, artists]), self.rewards.to_numpy().ravel()


def listening(
    counts: DataFrame, *, min_listeners: int = 120, min_artists: int = 10, rank: int = 80
) -> LastFm:
    """Prepare listening counts as the paper does: filter, log scale, singular value decomposition.

    Parameters
    ----------
    counts
        A row for each user and artist, with the columns userID, artistID and weight.
    min_listeners, min_artists
        Least number of an artist's listeners, then least number of a user's remaining artists.
        Each filter is applied once, so some artists have fewer listeners in the end.
    rank
        Number of features, at most the number of users and of artists.

    Returns
    -------
    LastFm
        Rewards and features.

    Raises
    ------
    ProblemError
        Where the remaining users or artists are fewer than the rank.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame(
    ...     {"userID": [7, 7, 9, 9, 9], "artistID": [1, 2, 1, 2, 3], "weight": [50, 1, 9, 30, 4]}
    ... )
    >>> music = listening(counts, min_listeners=2, min_artists=2, rank=2)
    >>> music.rewards.round(2).loc[9].to_dict()
    {1: 0.59, 2: 0.87}
    >>> bool(np.allclose(music.user_features @ music.artist_features.T, music.rewards))
    True
    """
    listeners = counts.groupby("artistID")["userID"].transform("size")
    kept = counts[listeners >= as_count(min_listeners, "min_listeners", 0)]
    artists = kept.groupby("userID")["artistID"].transform("size")
    kept = kept[artists >= as_count(min_artists, "min_artists", 0)]
    table = kept.pivot_table("weight", "userID", "artistID", aggfunc="sum", fill_value=0)
    if kept.empty or as_count(rank, "rank", 1) > min(table.shape):
        raise ProblemError(
            "min_listeners, min_artists and rank must leave as many users and artists as the rank; "
            f"got {min_listeners}, {min_artists} and {rank}, which leave {len(table)} users and "
            f"{len(table.columns)} artists"
        )
    logarithms = np.log1p(table)
    rewards = logarithms / logarithms.to_numpy().max()
    left, values, right = np.linalg.svd(rewards.to_numpy(), full_matrices=False)
    # Signs are free in a decomposition: choose them so that the largest entries are positive.
    largest = np.abs(right).argmax(axis=1)
    signs = np.sign(right[np.arange(right.shape[0]), largest])
    return LastFm(rewards, (left * values * signs)[:, :rank], (right.T * signs)[:, :rank])


def lastfm(data: str | os.PathLike[str] | None = None) -> LastFm:
    """The paper's Last.fm data (HetRec 2011), prepared by `listening`.

    The published file gives 1,020 users and 103 artists; the paper prints 1,322 and 103 (see
    docs/reproduce.md).

    Parameters
    ----------
    data
        Directory with lastfm/user_artists.dat; by default that of MISLID_DATA, else the cache.

    Returns
    -------
    LastFm
        Rewards and features.

    Raises
    ------
    MissingDataError
        Where the file is missing.
    FileFormatError
        Where the file is not the published one.
    MissingPackageError
        Without pandas.

    Examples
    --------
    >>> lastfm(data="my-data")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no lastfm/user_artists.dat in 'my-data'; get it with
    `mislid data fetch lastfm --data my-data`, or name a directory that has it with --data or
    MISLID_DATA
    """
    place = published_file("lastfm/user_artists.dat", data)
    require_pandas("lastfm", "read the file")
    import pandas as pd

    return listening(pd.read_csv(place, sep="\t"))
