"""Instances as .npz files: one array for each field of the table."""

import io
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from mislid._validation import Labels, as_array, as_labels, as_noise, as_vector
from mislid.errors import FileFormatError, ProblemError
from mislid.files._table import Table, declared_misspecification


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
        misspecification=None if declared is None else declared_misspecification(declared, path),
    )


def npz_bytes(table: Table) -> bytes:
    """Give the bytes of a .npz file with every field of the table that is not None."""
    arrays = {key: np.asarray(value) for key, value in table._asdict().items() if value is not None}
    if table.names is not None:
        _refuse_unwritable(arrays["names"], table.names)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the keys are never `allow_pickle`
    return buffer.getvalue()


def _arrays(content: bytes, path: str) -> dict[str, npt.NDArray[Any]]:
    broken = FileFormatError(f"{path!r} is not a complete .npz file; it may be truncated")
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise broken
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            _refuse_incomplete(archive.files, path)
            wanted = [name for name in archive.files if name in Table._fields]
            return {name: _array(archive, name, path) for name in wanted}
    except FileFormatError:
        raise
    except Exception:  # noqa: BLE001 - zipfile and NumPy raise a dozen types on damaged bytes
        raise broken from None


def _array(archive: Any, name: str, path: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(archive[name])
    except ValueError as problem:
        if "Object arrays" not in str(problem):
            raise
        raise FileFormatError(
            f"array {name} in {path!r} holds Python objects, which are never unpickled; "
            "save it as numbers or, for names, with names.astype(str)"
        ) from None


def _refuse_incomplete(present: list[str], path: str) -> None:
    missing = [name for name in ("features", "means") if name not in present]
    if missing:
        raise FileFormatError(
            f"{path!r} must hold the arrays features and means; "
            f"it lacks {' and '.join(missing)} and holds {', '.join(present) or 'none'}"
        )


def _refuse_unwritable(stored: npt.NDArray[Any], names: Labels) -> None:
    # NumPy drops trailing NULs of text and makes objects of integers beyond 64 bits.
    if stored.dtype.kind in "Uiu" and stored.tolist() == [*names]:
        return
    raise ProblemError(
        "names saved to .npz must be text without NUL characters or 64-bit integers; "
        f"got {', '.join(map(repr, names[:3]))}, ..."
    )
