"""Files of an instance: .npz with an array per field, or .csv with a line per arm."""

import contextlib
import csv
import io
import math
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

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
from mislid.io.files import new_place, read_content, with_ending, write_whole
from mislid.io.sheets import Sheet, csv_sheet, guarded

_ENDINGS = (".npz", ".csv")
_NOT_FEATURES = ("name", "mean", "noise")


class Table(NamedTuple):
    """The arrays of an instance; None for what a file does not have."""

    features: Matrix
    means: Vector
    noise: Vector | None
    names: Labels | None
    misspecification: float | None


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read the arrays of an instance, as `mislid.load_instance` describes its files."""
    place = with_ending(path, "path", *_ENDINGS)
    content = read_content(place, "an instance")
    return (npz_table if place.suffix.lower() == ".npz" else _csv_table)(content, str(place))


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
    write_whole(place, (npz_bytes if place.suffix.lower() == ".npz" else _csv_bytes)(table))


def npz_table(content: bytes, path: str) -> Table:
    """Read the bytes of a .npz file; `path` is for messages."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in Table._fields if name in file}
            present = ", ".join(file) or "none"
    except Exception as problem:  # noqa: BLE001 - NumPy raises a dozen types on damaged bytes
        raise FileFormatError(
            f"{path!r} must be a complete .npz file with numbers, and names saved with "
            f"names.astype(str); it cannot be read ({problem})"
        ) from None
    missing = [name for name in ("features", "means") if name not in arrays]
    if missing:
        raise FileFormatError(
            f"{path!r} must hold the arrays features and means; "
            f"it lacks {' and '.join(missing)} and holds {present}"
        )
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
        misspecification=None if declared is None else _as_misspecification(declared, path),
    )


def npz_bytes(table: Table) -> bytes:
    """The bytes of a .npz file with every field of the table that is not None."""
    arrays = {key: np.asarray(value) for key, value in table._asdict().items() if value is not None}
    if table.names is not None:
        stored = arrays["names"]
        # NumPy drops trailing NULs of text and makes objects of integers beyond 64 bits.
        if stored.dtype.kind not in "Uiu" or stored.tolist() != [*table.names]:
            raise ProblemError(
                "names saved to .npz must be text without NUL characters or 64-bit integers; "
                f"got {', '.join(map(repr, table.names[:3]))}, ..."
            )
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the keys are never `allow_pickle`
    return buffer.getvalue()


def _csv_table(content: bytes, path: str) -> Table:
    sheet = csv_sheet(content, path, "arm")
    features = [heading for heading in sheet.headings if heading not in _NOT_FEATURES]
    if not sheet.has("mean") or not features:
        raise FileFormatError(
            f"{path!r} must have a column 'mean' and at least one feature column; "
            f"got the headings {sheet.listed()}"
        )
    noise = sheet.numbers("noise") if sheet.has("noise") else None
    names = sheet.texts("name") if sheet.has("name") else None
    return Table(
        features=sheet.matrix(features),
        means=sheet.numbers("mean"),
        noise=None if noise is None else as_noise(noise, noise.size, f"noise in {path!r}"),
        names=None if names is None else as_labels(names, len(names), f"names in {path!r}"),
        misspecification=declared_misspecification(sheet),
    )


def declared_misspecification(sheet: Sheet) -> float | None:
    """The misspecification that a comment above the headings declares, if one does."""
    stated: Any = sheet.facts.get("misspecification")
    with contextlib.suppress(TypeError, ValueError):
        stated = float(stated)
    return None if stated is None else _as_misspecification(stated, sheet.path)


def _csv_bytes(table: Table) -> bytes:
    """The bytes of a .csv file that reads back as the same table, with names as text."""
    columns: dict[str, Iterable[Any]] = {}
    for name in table.names or ():
        if isinstance(name, str) and (set(name) & set("\r\n\0") or name != name.strip()):
            raise ProblemError(
                "names saved to .csv must be text without line breaks, NUL characters and spaces "
                f"around it; got {name!r}"
            )
    if table.names is not None:
        columns["name"] = [guarded(name) for name in table.names]
    # Python writes the shortest decimals that read back as the same floats.
    columns["mean"] = table.means.tolist()
    if table.noise is not None:
        columns["noise"] = table.noise.tolist()
    for column, feature in enumerate(table.features.T):
        columns[f"x{column}"] = feature.tolist()
    buffer = io.StringIO(newline="")
    if table.misspecification is not None:
        buffer.write(f"# misspecification={table.misspecification!r}\n")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue().encode()


def _as_misspecification(value: Any, path: str) -> float:
    name = f"misspecification in {path!r}"
    return as_number(value, name, low=0, high=math.inf, allow_inf=True)
