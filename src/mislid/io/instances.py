"""Files of an instance: .npz with an array per field, or .csv with a line per arm."""

import contextlib
import csv
import io
import math
import os
import zipfile
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mislid._validation import (
    Labels,
    Matrix,
    Vector,
    as_array,
    as_labels,
    as_noise,
    as_number,
    as_vector,
)
from mislid.errors import FileFormatError, ProblemError
from mislid.io.archives import opened_archive
from mislid.io.files import new_place, read_content, with_ending
from mislid.io.sheets import Sheet, csv_sheet, guarded
from mislid.io.writing import write_whole

_ENDINGS = (".npz", ".csv")
_NOT_FEATURES = ("name", "mean", "noise")
_HEADINGS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Table(NamedTuple):
    """What a file says of an instance; None where it does not say."""

    features: Matrix
    means: Vector
    noise: Vector | None
    names: Labels | None
    misspecification: float | None


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read the arrays of an instance, as `mislid.load_instance` describes its files."""
    place = with_ending(path, "path", *_ENDINGS)
    content = read_content(place, "an instance")
    read = npz_table if place.suffix.lower() == ".npz" else _csv_table
    return read(content, str(place))


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write the arrays of an instance to a .npz or .csv file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> table = Table(np.eye(2), np.array([0.1, 0.2]), np.ones(2), ("a", "b"), 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder) / "arms.csv", table)
    ...     print((Path(folder) / "arms.csv").read_text().strip())
    # misspecification=0.5
    name,mean,noise,x0,x1
    a,0.1,1.0,1.0,0.0
    b,0.2,1.0,0.0,1.0
    """
    place = new_place(path, "path", *_ENDINGS)
    write_whole(place, npz_bytes(table) if place.suffix.lower() == ".npz" else _csv_bytes(table))


def npz_table(content: bytes, path: str) -> Table:
    """Give the table in the bytes of a .npz file; `path` is for messages."""
    arrays = _arrays(content, path)
    features = as_array(
        arrays["features"], f"features in {path!r}", 2, "one row per arm, one column per feature"
    )
    K = features.shape[0]
    noise, names, declared = (arrays.get(key) for key in ("noise", "names", "misspecification"))
    return Table(
        features=features,
        means=as_vector(arrays["means"], f"means in {path!r}", K),
        noise=None if noise is None else as_noise(noise, K, f"noise in {path!r}"),
        names=None if names is None else as_labels(names.tolist(), K, f"names in {path!r}"),
        misspecification=None if declared is None else _declared_misspecification(declared, path),
    )


def npz_bytes(table: Table) -> bytes:
    """Give the bytes of a .npz file with every field of the table that is not None."""
    arrays = {key: np.asarray(value) for key, value in table._asdict().items() if value is not None}
    if table.names is not None:
        _refuse_unsaved_names(arrays["names"], table.names)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the keys are never `allow_pickle`
    return buffer.getvalue()


def _arrays(content: bytes, path: str) -> dict[str, npt.NDArray[Any]]:
    broken = FileFormatError(f"{path!r} is not a complete .npz file; it may be truncated")
    with opened_archive(content, path, broken) as archive:
        present = [name.removesuffix(".npy") for name in archive.namelist()]
        _refuse_incomplete(present, path)
        wanted = [name for name in dict.fromkeys(present) if name in Table._fields]
        try:
            return {name: _array(archive, name, path) for name in wanted}
        except FileFormatError:
            raise
        except Exception:  # noqa: BLE001 - zipfile and NumPy raise a dozen types on damaged bytes
            raise broken from None


def _array(archive: zipfile.ZipFile, name: str, path: str) -> npt.NDArray[Any]:
    """One array, of which the file has as many bytes as its heading says."""
    entry = archive.getinfo(f"{name}.npy")
    with archive.open(entry) as file:
        shape, _, dtype = _HEADINGS[np.lib.format.read_magic(file)](file)
        if dtype.hasobject:
            raise FileFormatError(
                f"array {name} in {path!r} holds Python objects, which are never unpickled; "
                "save it as numbers or, for names, with names.astype(str)"
            )
        told, held = math.prod(shape) * dtype.itemsize, entry.file_size - file.tell()
        # Any number of entries without bytes would fit.
        if min(shape, default=0) < 0 or told != held or not dtype.itemsize:
            raise FileFormatError(
                f"array {name} in {path!r} must have {told:,} bytes for its shape {shape}; "
                f"it has {held:,}"
            )
    with archive.open(entry) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _refuse_incomplete(present: list[str], path: str) -> None:
    missing = [name for name in ("features", "means") if name not in present]
    if missing:
        raise FileFormatError(
            f"{path!r} must hold the arrays features and means; "
            f"it lacks {' and '.join(missing)} and holds {', '.join(present) or 'none'}"
        )


def _refuse_unsaved_names(stored: npt.NDArray[Any], names: Labels) -> None:
    # NumPy drops trailing NULs of text and makes objects of integers beyond 64 bits.
    if stored.dtype.kind in "Uiu" and stored.tolist() == [*names]:
        return
    raise ProblemError(
        "names saved to .npz must be text without NUL characters or 64-bit integers; "
        f"got {', '.join(map(repr, names[:3]))}, ..."
    )


def _csv_table(content: bytes, path: str) -> Table:
    """Give the table in the bytes of a .csv file; `path` is for messages."""
    sheet = csv_sheet(content, path, "arm", trimmed=False)
    features = [heading for heading in sheet.headings if heading not in _NOT_FEATURES]
    if not sheet.has("mean") or not features:
        raise FileFormatError(
            f"{path!r} must have a column 'mean' and at least one feature column; "
            f"got the headings {', '.join(map(repr, sheet.headings))}"
        )
    noise = sheet.numbers("noise") if sheet.has("noise") else None
    return Table(
        features=sheet.matrix(features),
        means=sheet.numbers("mean"),
        noise=None if noise is None else as_noise(noise, noise.size, f"noise in {path!r}"),
        names=_sheet_labels(sheet) if sheet.has("name") else None,
        misspecification=declared_misspecification(sheet),
    )


def declared_misspecification(sheet: Sheet) -> float | None:
    """Give the misspecification that the first lines of a sheet state, if they do."""
    stated: Any = sheet.facts.get("misspecification")
    with contextlib.suppress(TypeError, ValueError):
        stated = float(stated)
    return None if stated is None else _declared_misspecification(stated, sheet.path)


def _csv_bytes(table: Table) -> bytes:
    """Give the bytes of a .csv file that reads back as the same table."""
    columns: dict[str, Iterable[str | int]] = {}
    if table.names is not None:
        _refuse_broken_names(table.names)
        columns["name"] = [guarded(name) for name in table.names]
    columns["mean"] = _digits(table.means)
    if table.noise is not None:
        columns["noise"] = _digits(table.noise)
    for column, feature in enumerate(table.features.T):
        columns[f"x{column}"] = _digits(feature)
    buffer = io.StringIO(newline="")
    if table.misspecification is not None:
        buffer.write(f"# misspecification={table.misspecification!r}\n")
    if table.names is not None and isinstance(table.names[0], int):
        buffer.write("# names=integers\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue().encode()


def _sheet_labels(sheet: Sheet) -> Labels:
    labels: list[str] | list[int] = sheet.texts("name")
    if sheet.facts.get("names") == "integers":
        try:
            labels = [int(label) for label in labels]
        except ValueError as problem:
            raise FileFormatError(
                f"names in {sheet.path!r} must be integers, as its first lines say: {problem}"
            ) from None
    return as_labels(labels, len(labels), f"names in {sheet.path!r}")


def _digits(numbers: Vector) -> list[str]:
    """Shortest decimals that read back as the same floats."""
    return [repr(number) for number in numbers.tolist()]


def _refuse_broken_names(names: Labels) -> None:
    for name in names:
        if isinstance(name, str) and set(name) & set("\r\n\0"):
            raise ProblemError(
                "names saved to .csv must be text without line breaks or NUL characters; "
                f"got {name!r}"
            )


def _declared_misspecification(value: Any, path: str) -> float:
    """Give the misspecification that a file states, in [0, inf]."""
    name = f"misspecification in {path!r}"
    return as_number(value, name, low=0, high=math.inf, allow_inf=True)
