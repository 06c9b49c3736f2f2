"""The command `mislid`, its errors and its exit status."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import click

from mislid._formatting import visible, without_password
from mislid.cli import answers, paper, question, run, trials  # noqa: F401 - define commands
from mislid.cli.options import app
from mislid.cli.output import complain, sentence
from mislid.errors import Interrupted, MislidError

__all__ = ["app", "execute"]


def execute(arguments: Sequence[str] | None) -> int:
    """Run a command; each warning or error is one sentence on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: complain(f"Warning: {message}.")
        try:
            status = app.main(arguments, prog_name="mislid", standalone_mode=False)
            return status if isinstance(status, int) else 0
        except click.ClickException as problem:
            problem.message = visible(problem.message)  # type: ignore[misc]  # final
            problem.show()
            return problem.exit_code
        except click.Abort as ended:
            cause = ended.__cause__
            interrupted = isinstance(cause, Interrupted)
            complain(f"Error: {cause}." if interrupted else "Aborted.")
            return 1
        except Exception as problem:
            message = _explain(problem)
            if message is None:
                raise
            complain(f"Error: {message}")
            return 1


def _explain(problem: Exception) -> str | None:
    """The message for an expected exception; None for a bug in this package."""
    if isinstance(problem, MislidError | OSError):
        return sentence(problem)
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this: ask about fewer candidates or less data."
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        return f"this needs {problem.name} (pip install 'mislid[all]')."
    packages = {kind.__module__.partition(".")[0] for kind in type(problem).__mro__}
    if packages & {"sqlalchemy", "sqlite3", "psycopg"}:
        said = without_password(str(problem).partition("\n")[0])
        return f"the storage does not work: {said}; check it, or restore a copy."
    from mislid.engine.view import BLAME

    if any(note.startswith(BLAME) for note in getattr(problem, "__notes__", ())):
        return f"{type(problem).__name__}: {sentence(problem)}"
    return None
