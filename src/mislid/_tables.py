"""Tables for those who have pandas, which is loaded when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mislid.errors import MissingPackageError

if TYPE_CHECKING:
    from pandas import DataFrame


def require_pandas(what: str, instead: str) -> None:
    """Say what to install, or to use instead, where pandas is missing."""
    try:
        import pandas  # noqa: F401, ICN001 - whether it is there
    except ImportError:
        raise MissingPackageError(
            f"{what} needs pandas (pip install 'mislid[cli]'); {instead} without it"
        ) from None


def as_frame(
    rows: Sequence[Any] | Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    what: str = "to_frame",
    instead: str = "the fields say the same",
) -> DataFrame:
    """A table of rows, or of columns by their names."""
    require_pandas(what, instead)
    import pandas as pd

    return pd.DataFrame(rows, columns=None if columns is None else list(columns))
