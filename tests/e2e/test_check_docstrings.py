"""The check of docstrings, on a package that has what it should find."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_docstrings.py"
INIT = """
from sample.part import Record, double
__all__ = ["Record", "double"]
"""
COMPLETE = '''
from typing import NamedTuple

class Record(NamedTuple):
    """A number with a name.

    Attributes
    ----------
    name, size
        What it is called, and how large it is.

    Examples
    --------
    >>> Record("one", 1).size
    1
    """

    name: str
    size: int

def double(number: float, _digits: int = 3) -> float:
    """Give twice a number.

    Parameters
    ----------
    number
        Any number.

    Returns
    -------
    float
        Twice the number.

    Raises
    ------
    OverflowError
        The number is too large.

    Examples
    --------
    >>> double(2)
    4
    """
    return 2 * number

def _helper(x):
    return x
'''
SHOP = '''
from functools import cache

class Shelf:
    """Where things are kept.

    Examples
    --------
    >>> Shelf(3).grow()
    1
    """

    def __init__(self, size: int) -> None: ...

    @property
    def room(self) -> int:
        """What is left."""
        return 1

    def grow(self) -> int:
        """Grow."""
        return 1

    def shrink(self) -> None:
        """Shrink."""

    def fill(self, what: str) -> None:
        """Fill it.

        Parameters
        ----------
        what
            Any thing.

        Examples
        --------
        >>> Shelf(3).fill("books")
        """

    def empty(self) -> None:
        """Take all away.

        Examples
        --------
        >>> Shelf(3).empty()
        """
        raise ValueError("it is empty")

    def label(self, words: str) -> None:
        raise NotImplementedError

class Deep(Shelf):
    """A shelf on which more is kept."""

    def grow(self) -> int:
        return 2

    def shrink(self) -> int:
        """Shrink by two."""
        return 2

    def fill(self, what: str, slowly: bool) -> None: ...

class TestShelf:
    """Tests of a shelf."""

    def test_room(self) -> None:
        """It has room."""

@cache
def sell(thing: str) -> None:
    """Sell a thing.

    Parameters
    ----------
    thing
        What is sold.
    """

class Box:
    """What is sold together."""

def packed() -> Box | None:
    """Pack all.

    Returns
    -------
    Box
        All of it.

    Examples
    --------
    >>> packed()
    """

def unpublished(x): ...
'''


def check(folder: Path, prefix: str = "sample", **files: str) -> tuple[int, list[str]]:
    (folder / "sample").mkdir(exist_ok=True)
    for name, text in ({"__init__": INIT, "part": COMPLETE} | files).items():
        place = folder / "sample" / f"{name.replace('__shop', 'shop/__init__')}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    places = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, SCRIPT, prefix],
        env=os.environ | {"PYTHONPATH": places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_complete_docstrings_pass(tmp_path: Path) -> None:
    assert check(tmp_path) == (0, ["2 public names, 0 problems"])


def test_what_is_missing_is_listed(tmp_path: Path) -> None:
    part = COMPLETE.replace("    name, size\n", "    name, weight\n")
    part = part.replace("    number\n        Any number.\n", "    figure\n        Any number.\n")
    part = part.replace("    Returns\n    -------\n    float\n        Twice the number.\n\n", "")
    part = part.replace("    Raises\n    ------\n", "    Notes\n    -----\n")
    part = part.replace("    Examples\n    --------\n    >>> double", "    >>> double")
    status, found = check(tmp_path, part=part)
    assert status == 1
    assert found == [
        "sample.Record: fields ['size'] are not documented",
        "sample.Record: attributes ['weight'] do not exist",
        "sample.double: PR01 Parameters {'number'} not documented",
        "sample.double: PR02 Unknown parameters {'figure'}",
        "sample.double: RT01 No Returns section found",
        "sample.double: no Raises section",
        "sample.double: no Examples section",
        "2 public names, 7 problems",
    ]


def test_what_other_packages_publish_is_checked_and_nothing_else(tmp_path: Path) -> None:
    publish = "__all__ = ['Deep', 'Shelf', 'TestShelf', 'double', 'packed', 'sell']\n"
    shop = f"from sample.part import double\n{publish}{SHOP}"
    status, found = check(tmp_path, "sample.shop", __shop=shop, unread=SHOP)
    assert status == 1
    # `double` is checked as a name of the package itself; `grow` of the deep shelf has the
    # docstring of the other's, which its class shows.
    assert found == [
        "sample.shop.Deep: PR01 Parameters {'size'} not documented",
        "sample.shop.Deep.grow: RT01 No Returns section found",
        "sample.shop.Deep.shrink: RT01 No Returns section found",
        "sample.shop.Deep.shrink: no Examples section",
        "sample.shop.Deep.fill: GL08 The object does not have a docstring",
        "sample.shop.Deep.fill: no Raises section",
        "sample.shop.Deep.empty: no Raises section",
        "sample.shop.Deep.label: GL08 The object does not have a docstring",
        "sample.shop.Deep.label: no Examples section",
        "sample.shop.Shelf: PR01 Parameters {'size'} not documented",
        "sample.shop.Shelf.shrink: no Examples section",
        "sample.shop.Shelf.fill: no Raises section",
        "sample.shop.packed: returns Box, which is not public",
        "sample.shop.sell: no Raises section",
        "sample.shop.sell: no Examples section",
        "14 public names, 15 problems",
    ]


def test_packages_that_publish_nothing_are_left_alone(tmp_path: Path) -> None:
    assert check(tmp_path, __shop=SHOP) == (0, ["2 public names, 0 problems"])
