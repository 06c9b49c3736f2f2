"""Command line: commands parse, call the library and print."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `mislid`; the exit status is 0, 1 after an error, 2 after a wrong call."""
    try:
        from mislid.cli.app import execute
    except ImportError as problem:
        if problem.name != "click":
            raise
        sys.stderr.write("Error: the command line needs click (pip install 'mislid[cli]').\n")
        return 1
    return execute(arguments)
