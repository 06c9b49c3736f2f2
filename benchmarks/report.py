"""Numbers with units, and tables as CSV files."""

from __future__ import annotations

import csv
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

LIBRARIES = ("numpy", "scipy", "numba")
# Headings and rows; tables by the name of their file.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
Tables = Mapping[str, Table]


class Spread(NamedTuple):
    """Quartiles of repeated measurements."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The quartiles of some values.

        >>> Spread.of([1, 2, 3, 4, 5])
        Spread(low=2.0, median=3.0, high=4.0)
        """
        return cls(*(float(part) for part in np.quantile(list(values), (0.25, 0.5, 0.75))))

    def __str__(self) -> str:
        """The median in its unit, and the quartiles in the same.

        >>> str(Spread(1e-5, 1.234e-5, 2e-5))
        '12.3 µs (10.0 to 20.0)'
        """
        unit, size = unit_of(self.median)
        low, median, high = (digits(part / size) for part in self)
        return f"{median} {unit} ({low} to {high})"


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit that shows a time with few digits, and its length in seconds."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return unit, size
    return "µs", 1e-6


def digits(value: float) -> str:
    """Three significant digits, without an exponent.

    >>> digits(0.01234), digits(12.3), digits(12345.6)
    ('0.0123', '12.3', '12,346')
    """
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    places = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{places}f}"


def duration(seconds: float) -> str:
    """A time in its unit.

    >>> duration(0.0021)
    '2.10 ms'
    """
    unit, size = unit_of(seconds)
    return f"{digits(seconds / size)} {unit}"


def shown(table: Table) -> str:
    """A table with aligned columns.

    >>> print(shown((["case", "time"], [["A", "1 s"]])))
    case  time
    A     1 s
    """
    rows = [list(table[0]), *map(list, table[1])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def write(folder: Path, tables: Tables) -> None:
    """Write every table to a CSV file of its name."""
    for name, (header, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def machine() -> str:
    """Processor, Python and library versions in one line."""
    file = Path("/proc/cpuinfo")
    told = re.search(r"model name\s*:\s*(.+)", file.read_text()) if file.exists() else None
    processor = told[1].strip() if told else platform.processor()
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    return f"{processor}; Python {platform.python_version()}; {versions}; one thread"


def progress(line: str) -> None:
    """Say on stderr what is being measured."""
    print(line, file=sys.stderr, flush=True)
