"""`mislid study list`, `copy`, `delete`, `check`, `verify` and `export`: logs and certificates."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import moment, without_password
from mislid.cli.options import examples, file_argument, file_option, flag, format_option
from mislid.cli.output import (
    as_csv,
    as_json,
    as_table,
    counted,
    listed,
    print_facts,
    rows_text,
)
from mislid.cli.study._opening import (
    NO_PROOF,
    as_address,
    open_storage,
    storage_option,
    study_command,
)
from mislid.cli.study.answers import certificate_option, check_places, decided, save_certificate
from mislid.errors import FileFormatError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.study import Study

_COLUMNS = (
    "study", "status", "candidates", "m", "measurements", "pending", "stopping", "guarantee",
    "created", "updated",
)  # fmt: skip
_HEADINGS = {
    "observations": ("event", "time", "trial", "arm", "value", "row"),
    "events": ("sequence", "time", "kind", "fact"),
}


@click.command(
    "list",
    epilog=examples(
        "mislid study list --storage lab.db",
        "mislid study list --storage postgresql://lab@server/studies --format json",
    ),
)
@storage_option
@format_option()
def list_command(storage: str | None, form: str) -> None:
    """Print a line about every study in the storage."""
    from mislid.stopping.rules import stopping_rule_called

    with open_storage(storage) as place:
        from mislid.study import list_studies

        rows = [
            {
                "study": line.name,
                "status": line.status,
                "candidates": line.candidates,
                "m": line.m,
                "measurements": line.observations,
                "pending": line.pending,
                "stopping": line.stopping,
                "guarantee": "proven"
                if line.status != "contradicted" and stopping_rule_called(line.stopping).guaranteed
                else NO_PROOF,
                "created": moment(line.created),
                "updated": moment(line.updated),
            }
            for line in list_studies(storage=place)
        ]
    if not rows:
        click.echo("There are no studies yet.", err=True)
    click.echo(rows_text(form, rows, _COLUMNS, texts=2))


@click.command(
    "copy",
    epilog=examples(
        "mislid study copy potency --to backup.db", "mislid study copy potency --as rehearsal"
    ),
)
@click.argument("name")
@storage_option
@click.option("--to", "target", metavar="ADDRESS", help="Storage; by default the same.")
@click.option("--as", "new_name", metavar="NAME", help="Its new name; by default the same.")
@format_option()
def copy_command(
    name: str, storage: str | None, target: str | None, new_name: str | None, form: str
) -> None:
    """Copy study NAME with its whole log, to another storage, under another name, or both. The two
    are independent from then on.
    """
    if target is None and new_name is None:
        raise click.UsageError("give --to, --as or both")
    copied = new_name or name
    with open_storage(storage) as source:
        from mislid.study import copy_study

        source.find(name)  # before a file is made
        with open_storage(target or storage, new=True) as place:
            copy_study(
                from_study_name=name, from_storage=source, to_storage=place, to_study_name=copied
            )
    facts = {"study": copied, "storage": without_password(as_address(target or storage))}
    print_facts(form, facts, list(facts.items()))


@click.command(
    "delete",
    epilog=examples("mislid study delete rehearsal", "mislid study delete rehearsal --yes"),
)
@click.argument("name")
@storage_option
@flag("--yes", "Do not ask.")
@format_option()
def delete_command(name: str, storage: str | None, yes: bool, form: str) -> None:
    """Delete study NAME and its log, for good. On a terminal you are asked first; elsewhere it
    takes --yes.
    """
    with open_storage(storage) as place:
        from mislid.study import delete_study

        size = len(place.read(place.find(name)))
        if not yes and not sys.stdin.isatty():
            raise MislidError(f"study {name!r} was not deleted: --yes says that you mean it")
        question = f"Delete study {name!r} and its {counted(size, 'event')}, for good?"
        if not yes and not click.confirm(question, err=True):
            raise MislidError(f"study {name!r} was not deleted")
        delete_study(study_name=name, storage=place)
    facts = {"deleted": name, "events": size}
    print_facts(form, facts, [("deleted", f"{name}, {counted(size, 'event')}")])


@click.command(
    "check",
    epilog=examples("mislid study check potency", "mislid study check potency --head 3f1c..."),
)
@click.argument("name")
@storage_option
@click.option("--head", metavar="SEAL", help="One that was written down: the log must have it.")
@format_option()
def check_command(name: str, storage: str | None, head: str | None, form: str) -> int:
    """Check every seal and every event in the log of study NAME, and its decision from the
    measurements. Exit status 1, and what is wrong, if anything does not hold.
    """
    with open_storage(storage) as place:
        from mislid.study import check_study

        found = check_study(study_name=name, storage=place, head=head)
    table = [
        ("study", found.study),
        ("events", found.events),
        ("measurements", found.samples),
        ("decision", found.decision),
        ("head", found.head),
        ("log", "holds" if found.ok else "DOES NOT HOLD"),
        *(("problem", words) for words in found.problems),
    ]
    print_facts(form, found.to_dict(), table)
    return 0 if found.ok else 1


@click.command(
    "verify",
    epilog=examples(
        "mislid study result potency --certificate potency.json",
        "mislid study verify potency.json",
    ),
)
@file_argument
@format_option()
def verify_command(file: str, form: str) -> int:
    """Re-derive everything in the certificate FILE.json from its numbers, and name the first thing
    that does not hold; then the exit status is 1. It is 3 where all holds but nothing is proven.
    """
    from mislid.verification import verify

    found = verify(file).to_dict()
    failure = found["failure"] or ""
    if failure.startswith("the file cannot be read: "):
        raise FileFormatError(f"FILE must be readable; got {file!r} ({failure[25:]})")
    if failure.startswith("the file is not JSON"):
        raise FileFormatError(f"{file!r} must hold a certificate; it is not JSON")
    label = NO_PROOF if found["proven"] is False else ""
    rows = [("holds", check) for check in found["checks"]]
    if not found["ok"]:
        rows.append(("FAILS", failure))
    if label:
        refuted = found["rule"] == "guaranteed"
        rows.append(
            (label, "a declaration that stands" if refuted else "a stopping rule with a proof")
        )
    if form == "json":
        click.echo(as_json({"file": file, **found} | ({"guarantee": label} if label else {})))
    elif form == "csv":
        click.echo(as_csv(["check", "outcome"], [row[::-1] for row in rows]))
    else:
        answer = [("answer", listed(found["answer"]))] if found["ok"] else []
        click.echo(as_table([*rows, *answer]))
    if not found["ok"]:
        raise MislidError(f"{file!r} does not hold: {failure}")
    return 3 if label else 0


@study_command(
    "export",
    "mislid study export potency > measurements.csv",
    "mislid study export potency --events --format json --output log.json",
    "mislid study export potency --html report.html --certificate potency.json",
    form="csv",
)
@click.option("--observations", "what", flag_value="observations", help="The default.")
@click.option("--events", "what", flag_value="events", help="The whole log.")
@file_option("--html", "Write a report on one page.", "FILE.html")
@certificate_option
@file_option("--output", "Where data go; by default standard output.")
def export_command(
    study: Study,
    what: str | None,
    html: str | None,
    certificate: str | None,
    output: str | None,
    form: str,
) -> None:
    """Write the measurements of study NAME, its log, a certificate or a report."""
    from mislid.cli.study._sheets import is_workbook
    from mislid.io import require_workbooks

    check_places(html=html, certificate=certificate, output=output)
    if output is not None and is_workbook(output):
        if form != "csv":
            raise ProblemError(
                f"--format must be left out for a workbook, {output!r}; got {form!r}"
            )
        require_workbooks(f"--output {output}")
    if certificate is not None:
        save_certificate(decided(study), certificate)
    if html is not None:
        from mislid.report import write_report

        write_report(study, html)
        click.echo(f"Report in {html}.", err=True)
    if what or output or not (html or certificate):
        _export(study, what or "observations", form, output)


def _export(study: Study, what: str, form: str, output: str | None) -> None:
    from mislid.cli.study._sheets import as_file
    from mislid.io import write_whole

    rows = _observations(study) if what == "observations" else _events(study)
    heading = _HEADINGS[what]
    if form == "json":
        text = as_json([dict(zip(heading, row, strict=True)) for row in rows])
    elif form == "csv":
        text = as_csv(heading, rows)
    else:
        short = [[_short(as_json(c) if isinstance(c, dict) else c) for c in row] for row in rows]
        text = as_table([heading, *short], len(heading))
    if output is None:
        click.echo(text)
        return
    flat = [[as_json(cell) if isinstance(cell, dict) else cell for cell in row] for row in rows]
    content = as_file(output, heading, flat) if form == "csv" else f"{text}\n".encode()
    write_whole(Path(output), content)
    click.echo(f"{len(rows):,} {what} in {output}.", err=True)


def _short(cell: Any) -> Any:
    return f"{cell[:77]}..." if isinstance(cell, str) and len(cell) > 80 else cell


def _observations(study: Study) -> list[list[Any]]:
    return [[row[0], moment(row[1], exact=True), *row[2:]] for row in study.observation_rows()]


def _events(study: Study) -> list[list[Any]]:
    """Events with the candidates' labels."""
    from mislid.study.events import entry_of

    labels = study.register.labels
    rows = []
    for event in study.events():
        entry = entry_of(event)
        fact = json.loads(entry.body)
        for arms in {"arms", "answer", "pair", "proposed"} & set(fact):
            fact[arms] = [labels[arm] for arm in fact[arms]]
        if "arm" in fact:
            fact["arm"] = labels[fact["arm"]]
        if fact.get("expires") is not None:
            fact["expires"] = moment(fact["expires"], exact=True)
        rows.append([entry.sequence, moment(entry.time, exact=True), entry.kind, fact])
    return rows
