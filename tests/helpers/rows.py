"""The measurements of a study as plain rows."""

from __future__ import annotations

from typing import Any

from mislid.study import Study


def rows_of(study: Study) -> list[Any]:
    """Tuples (event, time, trial, arm, value, row); the trial is None where there is none."""
    table = study.observations().astype(object)
    return list(table.where(table.notna(), None).itertuples(index=False))
