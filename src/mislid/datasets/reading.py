"""What the readers of raw files share: rows with clear messages, and instances of what they hold.

Messages name the file, the line and the way out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mislid._validation import Vector
from mislid.errors import FileFormatError
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model


class Rows:
    """The lines of a file of cells, each with its number; every line has equally many cells.

    Published files end with a line break; one that does not has lost its end.
    """

    def __init__(self, path: Path, separator: str, way_out: str) -> None:
        self.path, self._way_out = path, way_out
        lines = self._text().splitlines()
        self._cells = [
            (number, line.split(separator)) for number, line in enumerate(lines, 1) if line.strip()
        ]
        if not self._cells:
            self.refuse("must have rows; it is empty")
        for number, cells in self._cells:
            if len(cells) != self.width:
                self.refuse(
                    f"must have {self.width} cells in every line, as in the first; "
                    f"got {len(cells)} in line {number}"
                )

    @property
    def width(self) -> int:
        """Number of cells in a line."""
        return len(self._cells[0][1])

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return iter(self._cells)

    def heading(self) -> list[str]:
        """Take the first line off and give its cells."""
        _, cells = self._cells[0]
        if len(self._cells) == 1:
            self.refuse("must have rows below its heading; it has none")
        self._cells = self._cells[1:]
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

    def _text(self) -> str:
        try:
            content = self.path.read_bytes()
        except OSError as problem:
            self.refuse(f"must be readable ({problem.strerror})")
        if not content:
            self.refuse("must have rows; it is empty")
        if not content.endswith(b"\n"):
            last = content.count(b"\n") + 1
            self.refuse(f"must end with a line break; it is truncated in line {last}")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.refuse("must be UTF-8 text; it is not")


def instance_of(
    features: npt.ArrayLike,
    means: Vector,
    misspecification: float | None,
    noise: float | npt.ArrayLike,
    names: Iterable[str] | Iterable[int],
) -> Instance:
    """The instance of a model; by default the smallest misspecification that holds the means."""
    if misspecification is None:
        misspecification = smallest_misspecification(features, means)
    return Instance(Model(features, misspecification), means, noise, names)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in row order, read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
