"""Files of instances, sheets and workbooks, and values for JSON."""

import math
from typing import Any

from mislid.io.files import alone_in, as_path, new_place, write_whole
from mislid.io.instances import (
    Table,
    declared_misspecification,
    npz_bytes,
    npz_table,
    read_table,
    write_table,
)
from mislid.io.sheets import (
    Sheet,
    csv_sheet,
    decimal,
    guarded,
    read_sheet,
    require_workbooks,
    workbook_bytes,
)

__all__ = [
    "Sheet",
    "Table",
    "alone_in",
    "as_path",
    "as_plain",
    "csv_sheet",
    "decimal",
    "declared_misspecification",
    "guarded",
    "new_place",
    "npz_bytes",
    "npz_table",
    "read_sheet",
    "read_table",
    "require_workbooks",
    "workbook_bytes",
    "write_table",
    "write_whole",
]


def as_plain(value: Any) -> Any:
    """A value for JSON: infinity becomes the text "inf", NaN becomes None.

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
