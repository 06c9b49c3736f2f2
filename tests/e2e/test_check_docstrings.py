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
PRIVATE = '''
class Hidden:
    """A class that only its package publishes."""

    def __init__(self, size: int) -> None: ...

    def grow(self) -> int:
        """Grow."""
        return 1
'''


def check(folder: Path, prefix: str = "sample", **files: str) -> tuple[int, list[str]]:
    (folder / "sample").mkdir(exist_ok=True)
    for name, text in ({"__init__": INIT, "part": COMPLETE} | files).items():
        (folder / "sample" / f"{name}.py").write_text(text)
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
        "sample.part.Record: fields ['size'] are not documented",
        "sample.part.Record: attributes ['weight'] do not exist",
        "sample.part.double: PR01 Parameters {'number'} not documented",
        "sample.part.double: PR02 Unknown parameters {'figure'}",
        "sample.part.double: RT01 No Returns section found",
        "sample.part.double: no Raises section",
        "sample.part.double: no Examples section",
        "2 public names, 7 problems",
    ]


def test_names_that_come_from_private_modules_are_checked_where_they_are_published(
    tmp_path: Path,
) -> None:
    shop = "from sample._private import Hidden\n__all__ = ['Hidden']\n"
    status, found = check(tmp_path, "sample.shop", shop=shop, _private=PRIVATE)
    assert status == 1
    assert found == [
        "sample.shop.Hidden: PR01 Parameters {'size'} not documented",
        "sample.shop.Hidden.grow: RT01 No Returns section found",
        "2 public names, 2 problems",
    ]
