"""Conversion of files as their authors published them to files of the data directory.

Everything here is bytes in, bytes out: no name in an archive decides where anything is written.
"""

from __future__ import annotations

import csv
import hashlib
import io
import pickle
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from mislid.errors import FileFormatError
from mislid.io import Table, npz_bytes, npz_table
from mislid.io.archives import opened_archive

# What the authors' pickles consist of besides plain values, wherever NumPy keeps it.
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


def archive_member(contents: Sequence[bytes], name: str) -> bytes:
    """Give the one file of this name in a .zip archive, whatever folder it is in."""
    (content,) = contents
    broken = FileFormatError("what the server sent is no complete .zip archive")
    with opened_archive(content, "the archive", broken) as archive:
        found = [entry for entry in archive.infolist() if _last(entry.filename) == name]
        if len(found) != 1:
            raise FileFormatError(f"the archive must hold one file {name}; it does not")
        try:
            return archive.read(found[0])
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise broken from None


def instance_file(contents: Sequence[bytes], bonus_of_fourth: float = 0.0) -> bytes:
    """Give the .npz file of an instance that the paper's authors pickled.

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
    """SHA-256 of features and means in a .npz file, whatever wrote it."""
    table = npz_table(content, "the instance")
    digest = hashlib.sha256()
    for array in (table.features, table.means):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def run_table(contents: Sequence[bytes], labels: Sequence[tuple[str, str]]) -> bytes:
    """Give runs.csv, a line per run, from result files with an experiment and a method each."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["experiment", "method", "samples", "error", "seconds"])
    for content, label in zip(contents, labels, strict=True):
        try:
            writer.writerows([*label, *row] for row in _results(content))
        except (KeyError, TypeError, ValueError, csv.Error) as problem:
            raise FileFormatError(
                f"the results of {label[1]} on {label[0]} are not the table they should be: "
                f"{type(problem).__name__} {problem}"
            ) from None
    return text.getvalue().encode()


def _results(content: bytes) -> list[tuple[int, int, float]]:
    """Samples, error and seconds of each run in one of the authors' result files."""
    rows = [
        (int(row["complexity"]), int(row["regret"]), round(float(row["running time"]), 3))
        for row in csv.DictReader(io.StringIO(content.decode(), newline=""))
    ]
    if not rows:
        raise ValueError("no runs")
    return rows


def _last(filename: str) -> str:
    return filename.replace("\\", "/").rpartition("/")[2]
