"""What the readers of raw files share: rows with clear messages, and instances of what they hold.

Messages name the file, the line and the way out.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy.typing as npt

from mislid._validation import Vector, as_array
from mislid.errors import FileFormatError, ProblemError
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model

# The published files have about a megabyte.
_LARGEST = 1 << 26


class Rows:
    """The lines of a file of cells, each with its number; every line has equally many cells.

    Published files end with a line break; one that does not has lost its end.
    """

    def __init__(self, path: Path, separator: str, way_out: str) -> None:
        self.path, self._way_out, self._separator = path, way_out, separator
        self._content = self._read()
        self._headings = 0
        self._size = 0
        self.width = 0
        # Cells are not kept: they take fifty times as much memory as the file.
        for number, cells in self:
            self.width = self.width or len(cells)
            self._size += 1
            if len(cells) != self.width:
                self.refuse(
                    f"must have {self.width} cells in every line, as in the first; "
                    f"got {len(cells)} in line {number}"
                )
        if not self._size:
            self.refuse("must have rows; it is empty")

    def __len__(self) -> int:
        return self._size - self._headings

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        filled = (entry for entry in enumerate(io.BytesIO(self._content), 1) if entry[1].strip())
        for number, line in islice(filled, self._headings, None):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                self.refuse("must be UTF-8 text; it is not")
            yield number, text.rstrip("\r\n").split(self._separator)

    def heading(self) -> list[str]:
        """Take the first line off and give its cells."""
        _, cells = next(iter(self))
        self._headings += 1
        if not len(self):
            self.refuse("must have rows below its heading; it has none")
        return cells

    def real(self, cell: str, line: int) -> float:
        """A finite number."""
        try:
            number = float(cell)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.refuse(f"must hold finite numbers; got {cell!r} in line {line}")
        return number

    def integer(self, cell: str, line: int) -> int:
        """A whole number of 64 bits."""
        try:
            number = int(cell)
        except ValueError:
            number = 1 << 63
        if abs(number) >= 1 << 63:
            self.refuse(f"must hold whole numbers; got {cell!r} in line {line}")
        return number

    def refuse(self, what: str) -> NoReturn:
        """Complain of the file."""
        raise FileFormatError(f"{str(self.path)!r} {what}; {self._way_out}")

    def _read(self) -> bytes:
        # Reading a pipe may never begin.
        if self.path.is_fifo() or self.path.is_char_device():
            self.refuse("must be a file; it is a pipe or device")
        try:
            with self.path.open("rb") as file:
                content = file.read(_LARGEST + 1)
        except OSError as problem:
            self.refuse(f"must be readable ({problem.strerror})")
        if len(content) > _LARGEST:
            self.refuse(f"must have at most {_LARGEST:,} bytes; it has more")
        if not content:
            self.refuse("must have rows; it is empty")
        if not content.endswith(b"\n"):
            last = content.count(b"\n") + 1
            self.refuse(f"must end with a line break; it is truncated in line {last}")
        return content


def instance_of(
    features: npt.ArrayLike,
    means: Vector,
    misspecification: float | None,
    noise: float | npt.ArrayLike,
    names: Iterable[str] | Iterable[int],
) -> Instance:
    """The instance of a model; by default the smallest misspecification that holds the means."""
    rows = as_array(features, "features", 2, "one row per arm and one column per feature")
    if len(rows) != means.size:
        raise ProblemError(f"features must have {means.size} rows, one per arm; got {len(rows)}")
    if misspecification is None:
        misspecification = smallest_misspecification(features, means)
    return Instance(Model(features, misspecification), means, noise, names)
