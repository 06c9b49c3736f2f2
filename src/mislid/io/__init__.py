"""Read and write files: instances as .npz or .csv, sheets, workbooks; each whole or not at all."""

import math
from typing import Any

from mislid.io.files import as_path, new_place, read_content
from mislid.io.instances import (
    Table,
    declared_misspecification,
    npz_bytes,
    npz_table,
    read_table,
    write_table,
)
from mislid.io.sheets import Sheet, decimal, guarded, read_sheet
from mislid.io.workbooks import require_workbooks, workbook_bytes
from mislid.io.writing import Draft, alone_in, write_whole

__all__ = [
    "Draft",
    "Sheet",
    "Table",
    "alone_in",
    "as_path",
    "as_plain",
    "decimal",
    "declared_misspecification",
    "guarded",
    "new_place",
    "npz_bytes",
    "npz_table",
    "read_content",
    "read_sheet",
    "read_table",
    "require_workbooks",
    "workbook_bytes",
    "write_table",
    "write_whole",
]


def as_plain(value: Any) -> Any:
    """Values of JSON, which has no infinity: that is the text "inf"; what is no number is None.

    Examples
    --------
    >>> as_plain({"upper": float("inf"), "pair": (1, float("nan"))})
    {'upper': 'inf', 'pair': [1, None]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: as_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(entry) for entry in value]
    return value
