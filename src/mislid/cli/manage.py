"""`mislid study list`, `copy`, `delete`, `check`, `verify` and `export`: logs and certificates."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import moment
from mislid.cli.options import FILE, examples, file_argument, flag, format_option, option
from mislid.cli.output import counted, known, print_facts, print_rows
from mislid.cli.study import NO_PROOF, is_proven, on_study, open_storage, storage_option
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.study import Study


@click.command("list", epilog=examples("mislid study list --storage lab.db --format json"))
@storage_option
@format_option()
def list_command(storage: str | None, form: str) -> None:
    """Print a line about every study in the storage."""
    from mislid.study import StudySummary, list_studies

    with open_storage(storage) as place:
        lines = list_studies(storage=place)
    if not lines:
        click.echo("There are no studies yet.", err=True)
    rows = []
    for line in lines:
        times = {"created": moment(line.created), "updated": moment(line.updated)}
        guarantee = "proven" if is_proven(line.status, line.stopping) else NO_PROOF
        rows.append([*(asdict(line) | times).values(), guarantee])
    heading = [field.name for field in fields(StudySummary)]
    print_rows(form, [*heading, "guarantee"], rows, texts=2)


@click.command("delete", epilog=examples("mislid study delete rehearsal --yes"))
@click.argument("name")
@storage_option
@flag("--yes", "Do not ask.")
@format_option()
def delete_command(name: str, storage: str | None, yes: bool, form: str) -> None:
    """Delete study NAME and its log, for good."""
    from mislid.study import delete_study

    with open_storage(storage) as place:
        size = len(place.read(place.find(name)))
        if not yes:
            question = f"Delete study {name!r} and its {counted(size, 'event')}, for good?"
            click.confirm(question, abort=True, err=True)
        delete_study(study_name=name, storage=place)
    print_facts(form, {"deleted": name, "events": size})


@click.command("check", epilog=examples("mislid study check potency --head 3f1c..."))
@click.argument("name")
@storage_option
@option("--head", str, "A seal that was written down: the log must have it.")
@format_option()
def check_command(name: str, storage: str | None, head: str | None, form: str) -> int:
    """Check every seal and every event in the log of study NAME, and its decision from the
    measurements. Exit status 1, and what is wrong, if anything does not hold.
    """
    from mislid.study import check_study

    with open_storage(storage) as place:
        found = check_study(study_name=name, storage=place, head=head)
    facts = found.to_dict()
    lines = known({**facts, "problems": None, "ok": "yes" if found.ok else "NO"})
    print_facts(form, facts, lines + [("problem", words) for words in found.problems])
    return 0 if found.ok else 1


@click.command("verify", epilog=examples("mislid study verify potency.json"))
@file_argument
@format_option()
def verify_command(file: str, form: str) -> int:
    """Re-derive everything in the certificate FILE.json from its numbers, and name the first thing
    that does not hold; then the exit status is 1. It is 3 where all holds but nothing is proven.
    """
    from mislid.verification import verify

    facts = verify(file).to_dict()
    failure = facts["failure"] or ""
    proven = facts["proven"] is not False
    lines = [("holds", check) for check in facts["checks"]]
    lines.append(("answer", facts["answer"]) if facts["ok"] else ("FAILS", failure))
    if not proven:
        lines.append(("guarantee", NO_PROOF))
        facts["guarantee"] = NO_PROOF
    print_facts(form, {"file": file, **facts}, lines)
    if not facts["ok"]:
        raise MislidError(f"{file!r} does not hold: {failure}")
    return 0 if proven else 3


@on_study(
    "export",
    "mislid study export potency > measurements.csv",
    "mislid study export potency --events --format json > log.json",
    "mislid study export potency --html report.html --certificate potency.json",
    form="csv",
)
@flag("--events", "Print the whole log instead of the measurements.")
@option("--html", FILE, "Write a report on one page.")
@option("--certificate", FILE, "Write a certificate that `mislid study verify` checks.")
def export_command(
    study: Study, events: bool, html: str | None, certificate: str | None, form: str
) -> None:
    """Print the measurements of study NAME or its log, or write a certificate or a report."""
    from mislid.io import new_place
    from mislid.study import ObservationRow

    for name, path in (("--html", html), ("--certificate", certificate)):
        if path is not None:
            new_place(path, name)  # before anything is computed
    if certificate is not None:
        if study.result is None:
            raise MislidError(f"study {study.study_name!r} has not decided: it has no certificate")
        study.result.certificate.save(certificate)
        click.echo(f"Certificate in {certificate}.", err=True)
    if html is not None:
        from mislid.report import write_report

        write_report(study, html)
        click.echo(f"Report in {html}.", err=True)
    if events:
        print_rows(form, ("sequence", "time", "kind", "fact"), _events(study), texts=4)
    elif not (html or certificate):
        rows = study.observation_rows()
        cells = [[row.event, moment(row.time, exact=True), *row[2:]] for row in rows]
        print_rows(form, ObservationRow._fields, cells)


def _events(study: Study) -> list[list[Any]]:
    """Events with the labels of candidates."""
    from mislid.study.events import entry_of

    labels, rows = study.register.labels, []
    for event in study.events():
        entry = entry_of(event)
        fact = json.loads(entry.body)
        for arms in {"arms", "answer", "pair", "proposed"} & set(fact):
            fact[arms] = [labels[arm] for arm in fact[arms]]
        if "arm" in fact:
            fact["arm"] = labels[fact["arm"]]
        rows.append([entry.sequence, moment(entry.time, exact=True), entry.kind, fact])
    return rows
