"""The cells of text files, parsed whenever they are looked at: a parsed file takes fifty times as
much memory as its bytes.

Everything has its bound, since a file may come from anywhere.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from mislid.errors import FileFormatError
from mislid.io.guards import bare

LONGEST_LINE = 1 << 22
"""Characters of a line, with the line breaks inside of its cells."""

_MOST_FACTS = 1000


@dataclass(frozen=True)
class Rows:
    """Line numbers and cells of the bytes of a file; `path` is for messages.

    So many lines at the top are `skipped`. What went through a spreadsheet program is `trimmed`:
    spaces around cells and empty rows do not count.
    """

    content: bytes
    path: str
    separator: str = ","
    skipped: int = 0
    trimmed: bool = False

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        lines = _Lines(self.content, self.path)
        for _ in range(self.skipped):
            next(lines)
        lines.begin()
        reader = csv.reader(lines, delimiter=self.separator, strict=True)
        try:
            for cells in reader:
                lines.begin()
                taken = _trimmed(cells) if self.trimmed else [_bare(cell) for cell in cells]
                if any(taken) if self.trimmed else taken:
                    yield self.skipped + reader.line_num, taken
        except csv.Error as problem:
            raise FileFormatError(
                f"{self.path!r} must be comma-separated; line {self.skipped + reader.line_num} is "
                f"not: {problem}"
            ) from None


def _bare(cell: str) -> str:
    return bare(cell) if cell[:1] == "'" else cell


def _trimmed(cells: list[str]) -> list[str]:
    return [_bare(cell.strip()).strip() for cell in cells]


class _Lines:
    """The lines of a text, without the mark that some programs put before it."""

    def __init__(self, content: bytes, path: str) -> None:
        self._stream = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
        self._path, self._number, self._left = path, 0, LONGEST_LINE

    def begin(self) -> None:
        """Begin another row of cells, which may go over several lines."""
        self._left = LONGEST_LINE

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._stream.readline(self._left + 1)
        except UnicodeDecodeError:
            raise FileFormatError(f"{self._path!r} must be UTF-8 text; it is not") from None
        if not line:
            raise StopIteration
        self._number += 1
        self._left -= len(line)
        if self._left < 0:
            raise FileFormatError(
                f"{self._path!r} must have lines of at most {LONGEST_LINE:,} characters; "
                f"line {self._number} has more (is a quotation mark missing?)"
            )
        return line


def leading_facts(content: bytes, path: str) -> tuple[dict[str, str], list[str], int]:
    """Facts that comments at the top state, as `# key=value`, and the two lines with text below.

    The number is that of the lines above these two.
    """
    facts: dict[str, str] = {}
    following: list[str] = []
    above = 0
    lines = _Lines(content, path)
    for line in lines:
        lines.begin()
        if line.strip("\r\n") and (following or not line.startswith("#")):
            following.append(line)
        elif not following:
            facts |= fact_of(line) if line.startswith("#") else {}
            above += 1
        if len(following) == 2:
            break
        if len(facts) > _MOST_FACTS:
            raise FileFormatError(
                f"{path!r} must have at most {_MOST_FACTS:,} comments above its headings; "
                "it has more"
            )
    return facts, following, above


def fact_of(comment: str) -> dict[str, str]:
    """What a comment states.

    >>> fact_of("# misspecification=0.2")
    {'misspecification': '0.2'}
    """
    key, _, value = comment.lstrip("#").partition("=")
    return {key.strip(): value.strip()}
