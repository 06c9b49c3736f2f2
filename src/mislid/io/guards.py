"""Cells of text files that a spreadsheet program would run as formulas, and how to keep it from it.

A cell that begins with one of = + - @, a tab or a carriage return is a formula to such programs,
unless it is a number. It is written with an apostrophe before it, and read without.
"""

import re
from typing import Any

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# The apostrophes of a cell that has some of its own are kept.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def guarded(value: Any) -> Any:
    """A value as it is written to a cell.

    >>> guarded("=1+1"), guarded("-5"), guarded("-5+A1"), guarded(-5.0), guarded("'@")
    ("'=1+1", '-5', "'-5+A1", -5.0, "''@")
    """
    formula = isinstance(value, str) and _FORMULA.match(value) and not NUMBER.fullmatch(value)
    return f"'{value}" if formula else value


def bare(cell: str) -> str:
    """The value of a cell that was written so.

    >>> bare("'=1+1"), bare("''@"), bare("'tis"), bare("'"), bare("-5")
    ('=1+1', "'@", "'tis", "'", '-5')
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
