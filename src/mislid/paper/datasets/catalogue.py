"""Catalogue of the published data: addresses, checksums, conversion, licences and citations."""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from mislid.errors import FileFormatError
from mislid.io import Table, npz_bytes, npz_table

_DRUGS = "https://raw.githubusercontent.com/clreda/linear-top-m/42f3eb327c8e4adcdc3f2a743f4d9971b7149324/"
_PAPER = "https://raw.githubusercontent.com/clreda/misspecified-top-m/1ba047f1746a3bf40cf57a1dc8ce5e72e605716a/"
_LASTFM = "https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip"
_PAPER_CITATION = (
    "C. Réda, A. Tirinzoni, R. Degenne: Dealing With Misspecification In Fixed-Confidence Linear "
    "Top-m Identification. NeurIPS 2021"
)


# The only names that the authors' pickles refer to; their modules depend on NumPy's version.
_NUMPY = {
    "_reconstruct": np.empty(0).__reduce__()[0],
    "ndarray": np.ndarray,
    "matrix": np.ndarray,
    "dtype": np.dtype,
}


class _Arrays(pickle.Unpickler):
    """Unpickles plain values and NumPy arrays; the pickle can name nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "numpy" or name not in _NUMPY:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _NUMPY[name]


def instance_file(contents: Sequence[bytes], bonus_of_fourth: float = 0.0) -> bytes:
    """Convert an instance that the paper's authors pickled to a .npz file.

    They kept features as a (d, K) matrix `X`, means as `scores`. `bonus_of_fourth` is added to the
    fourth best mean, as in the misspecified version of A.
    """
    (content,) = contents
    try:
        pickled = _Arrays(io.BytesIO(content)).load()
        features = np.array(np.asarray(pickled["X"], dtype=np.float64).T, order="C")
        means = np.array(pickled["scores"], dtype=np.float64).ravel()
        names = tuple(str(name) for name in pickled["names"])
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError) as problem:
        raise FileFormatError(f"the pickled instance cannot be read: {problem}") from None
    if bonus_of_fourth:
        means[np.argsort(-means, kind="stable")[3]] += bonus_of_fourth
    return npz_bytes(Table(features, means, None, names, None))


def instance_digest(content: bytes) -> str:
    """SHA-256 of features and means in a .npz file, whose other bytes depend on the writer."""
    table = npz_table(content, "the instance")
    arrays = [np.ascontiguousarray(one, dtype="<f8") for one in (table.features, table.means)]
    return sha256(b"".join(array.tobytes() for array in arrays))


def archive_member(contents: Sequence[bytes], name: str) -> bytes:
    """Extract the one file of this name from a .zip archive, whatever folder it is in."""
    (content,) = contents
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            last = [entry.filename.replace("\\", "/").rpartition("/")[2] for entry in entries]
            if last.count(name) == 1:
                return archive.read(entries[last.index(name)])
    except Exception:  # noqa: BLE001 - zipfile raises many types on damaged bytes
        raise FileFormatError("what the server sent is no complete .zip archive") from None
    raise FileFormatError(f"the archive must hold one file {name}; it does not")


class Download(NamedTuple):
    """A file on the web, and its name while it is kept here.

    Where `checksum`, its SHA-256, is known, a file with another one is never opened.
    """

    url: str
    name: str
    checksum: str | None = None


def _unchanged(contents: Sequence[bytes]) -> bytes:
    (content,) = contents
    return content


def sha256(content: bytes) -> str:
    """The checksum of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class DataFile:
    """A file of the data directory: `make` gives its bytes from the downloads.

    `digest` of those bytes must be `checksum`; it is SHA-256 unless the bytes of equal contents
    may differ.
    """

    path: str
    checksum: str
    downloads: tuple[Download, ...]
    make: Callable[[Sequence[bytes]], bytes] = _unchanged
    digest: Callable[[bytes], str] = sha256

    def is_right(self, folder: Path) -> bool:
        """Whether a data directory has the published file."""
        try:
            return self.digest((folder / self.path).read_bytes()) == self.checksum
        except (OSError, FileFormatError):
            return False


@dataclass(frozen=True)
class Collection:
    """Files that are fetched together.

    Attributes
    ----------
    name, contents
        Its name for `mislid data fetch`, and a description.
    licence, citation
        The terms, and the work to cite.
    files
        Each with its place, address and checksum.
    """

    name: str
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
            True if `mislid data fetch` has nothing to do.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     [name for name, each in CATALOGUE.items() if not each.is_complete(Path(folder))]
        ['instances', 'lastfm', 'epilepsy']
        """
        return all(file.is_right(folder) for file in self.files)


def _drug_file(name: str, checksum: str) -> DataFile:
    original = Download(f"{_DRUGS}DR_Data/{name}", name, checksum)
    return DataFile(f"epilepsy/{name}", checksum, (original,))


def _instance(name: str, checksum: str, pickled: str, data: str, bonus: float = 0.0) -> DataFile:
    """An instance, with the checksums of its numbers and of the file that the authors pickled."""
    kind, _, settings = data.partition(" ")
    original = f"DATA_type={kind}_omega=1.0471975511965976_{settings}.pck"
    return DataFile(
        f"instances/{name}.npz",
        checksum,
        (Download(_PAPER + quote(f"data/{original}"), original, pickled),),
        partial(instance_file, bonus_of_fourth=bonus),
        instance_digest,
    )


_PICKLED_A = "cdfcc606742c3c62901c8495ba59ab7c155b1c66f9984980280f0f0cbe448c30"
_INSTANCES = (
    _instance(
        "A_eps0",
        "f1a5d33cf00e607fac4ae226475ad7c751d01532053be26a6cb4ad7ba2c5360a",
        _PICKLED_A,
        "misspecified_linear K=10_N=5_c=0.0_M=1.0",
    ),
    _instance(
        "A_eps5",
        "392cdad03e77c38246894402b9e8b4cbcbf2abe7cf16fbf1480c3eec031424cc",
        _PICKLED_A,
        "misspecified_linear K=10_N=5_c=0.0_M=1.0",
        bonus=5.0,
    ),
    _instance(
        "B",
        "e51d3e88e0d0a93a2ca4586c8adfd1b061ab8e3cc37684ed7c631ebd89ff9754",
        "6f15305e0812750d3a1b6513be491ed25bc6f8e95031e58417043c01d70c7ada",
        "deviation_Linf K=15_N=8_c=1.0_m=3_M=2.0",
    ),
    _instance(
        "D",
        "35c32e72f9a6721422371897dcd3899f524c4685eb245658c4fd25b26184b7ed",
        "22983569b9d3fff8bb219a18d2f39b06909dcca01d7c81b0371902713159f560",
        "linearized_dr K=10_N=5_c=0.02_M=1.0",
    ),
    _instance(
        "E",
        "e224195962931ef89dde4539578d468c75bdde275d1af1839e7e451c2161a7ad",
        "cb299b7698ef68c559f2a7ff1f065c6d77a738e207d3debca3e42fbf29ebe7c5",
        "linearized_lastfm K=103_N=8_c=0.206_M=1.0",
    ),
)

CATALOGUE = {
    collection.name: collection
    for collection in (
        Collection(
            "instances",
            "the instances of the published experiments",
            "MIT; E derives from Last.fm data, CC BY-SA 4.0",
            _PAPER_CITATION,
            _INSTANCES,
        ),
        Collection(
            "lastfm",
            "how often 1,892 users listened to 17,632 artists (HetRec 2011)",
            "non-commercial use, says its readme; the paper says CC BY-SA 4.0",
            "I. Cantador, P. Brusilovsky, T. Kuflik: 2nd Workshop on Information Heterogeneity and "
            "Fusion in Recommender Systems (HetRec 2011). RecSys 2011; Last.fm, https://www.last.fm",
            (
                DataFile(
                    "lastfm/user_artists.dat",
                    "001400dc3c7d2667fca6e4ea6dc6acc31a9dd28ad5cd0f74cea988c019934d3b",
                    (Download(_LASTFM, "hetrec2011-lastfm-2k.zip"),),
                    partial(archive_member, name="user_artists.dat"),
                ),
            ),
        ),
        Collection(
            "epilepsy",
            "signatures and known effects of 509 drugs; rewards of 10 for 18 patients",
            "MIT",
            "C. Réda, E. Kaufmann, A. Delahaye-Duriez: Top-m identification for linear bandits. "
            "AISTATS 2021",
            (
                _drug_file(
                    "epilepsy_signatures_nonbinarized.csv",
                    "ebe3b01abca543e1a43ca52d4395a4b491ce8b9663424510eb8c3d1196ee100e",
                ),
                _drug_file(
                    "epilepsy_scores.csv",
                    "ccc53a8a50d6669154e35d350100137fefa657f114c69c94d32cf1bd1cf7d5ad",
                ),
                _drug_file(
                    "rewards_cosine_10drugs_18samples.csv",
                    "04d9a6ff1c32e886fdff4ca4a3adef6ec7de63cc409e24871a6ee777101989c5",
                ),
            ),
        ),
    )
}
"""The collections that `fetch` knows, by their names."""
