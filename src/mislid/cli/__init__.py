"""The command line: parse, call, print. Data go to stdout, progress and errors to stderr."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `mislid`; the exit status is 0, 1 after an error, 2 after a wrong call."""
    try:
        import click
    except ImportError:
        sys.stderr.write("Error: the command line needs click (pip install 'mislid[cli]').\n")
        return 1
    from mislid.cli.app import app

    try:
        status = app.main(arguments, prog_name="mislid", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 1
    return status if isinstance(status, int) else 0
