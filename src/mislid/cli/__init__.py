"""Command line: commands parse arguments, call the library and print results."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `mislid`; exit status 1 is an error, 2 a wrong call."""
    try:
        from mislid.cli.app import execute
    except ImportError as problem:
        if problem.name != "click":
            raise
        sys.stderr.write("Error: the command line needs click (pip install 'mislid[cli]').\n")
        return 1
    return execute(arguments)
