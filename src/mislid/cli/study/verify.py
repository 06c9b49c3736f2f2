"""`mislid study verify`: check a certificate, without the study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import as_csv, as_json, as_table
from mislid.cli.study._words import NO_PROOF, listed
from mislid.errors import FileFormatError, MislidError


@click.command(
    "verify",
    epilog=examples(
        "mislid study result potency --certificate potency.json",
        "mislid study verify potency.json",
    ),
)
@click.argument("file", type=click.Path())
@format_option
@one_sentence_errors
def command(file: str, form: str) -> None:
    """Re-derive everything in the certificate FILE.json from its numbers, and name the first thing
    that does not hold; then the exit status is 1.
    """
    _refuse_unreadable(file)
    from mislid.verification import verify

    found = verify(file).to_dict()
    click.echo(_printed(form, file, found))
    if not found["ok"]:
        raise MislidError(f"{file!r} does not hold: {found['failure']}")


def _refuse_unreadable(file: str) -> None:
    try:
        json.loads(Path(file).read_bytes())
    except OSError as problem:
        raise FileFormatError(f"FILE must be readable; got {file!r} ({problem.strerror})") from None
    except ValueError:
        raise FileFormatError(f"{file!r} must hold a certificate; it is not JSON") from None


def _printed(form: str, file: str, found: dict[str, Any]) -> str:
    label = NO_PROOF if found["proven"] is False else ""
    if form == "json":
        return as_json({"file": file, **found} | ({"guarantee": label} if label else {}))
    rows = [(check, "holds") for check in found["checks"]]
    if not found["ok"]:
        rows.append((str(found["failure"]), "FAILS"))
    if label:
        rows.append(("a stopping rule with a proof", NO_PROOF))
    if form == "csv":
        return as_csv(["check", "outcome"], rows)
    lines = [(outcome, check) for check, outcome in rows]
    if found["ok"]:
        lines.append(("answer", listed(found["answer"])))
    return as_table(lines)
