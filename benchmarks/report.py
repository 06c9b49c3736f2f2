"""Numbers with units, Markdown tables, and the document that keeps them."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .tables import section

LIBRARIES = (
    "numpy", "scipy", "numba", "quadprog", "daqp", "piqp", "osqp", "clarabel",
)  # fmt: skip


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
        """The median in its unit, the quartiles after it in the same.

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


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its first column to the left and the others to the right.

    >>> print(table(["case", "time"], [["A", "1 s"]]))
    | case | time |
    |---|---:|
    | A | 1 s |
    """
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    joined = [" | ".join(line) for line in lines]
    joined[1] = joined[1].replace(" ", "")
    return "\n".join(f"|{line}|" if at == 1 else f"| {line} |" for at, line in enumerate(joined))


def machine() -> str:
    """Processor, Python and library versions in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{processor()}; {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}; {versions}; one thread."
    )


def processor() -> str:
    """The processor's model where the system tells."""
    file = Path("/proc/cpuinfo")
    if file.exists():
        named = re.search(r"model name\s*:\s*(.+)", file.read_text(encoding="utf-8"))
        if named:
            return named[1].strip()
    return platform.processor() or "unknown processor"


def version(library: str) -> str:
    """The version that is installed."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "missing"


def progress(line: str) -> None:
    """Say on stderr what is being measured."""
    print(line, file=sys.stderr, flush=True)


def with_section(document: str, name: str, body: str) -> str:
    """The document with what stands between the markers of a section replaced.

    >>> with_section("<!-- a:begin -->x<!-- a:end -->", "a", "y").split()
    ['<!--', 'a:begin', '-->', 'y', '<!--', 'a:end', '-->']
    """
    begin = f"<!-- {name}:begin -->"
    before = begin + section(document, name)
    return document.replace(before, f"{begin}\n{body}\n", 1)
