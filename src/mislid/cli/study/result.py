"""`mislid study result`, `estimates`, `verify` and `export`: the answer, its proof, the data."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._words import moment
from mislid.cli.options import examples, file_argument, file_option, printed
from mislid.cli.output import aligned, as_csv, as_json, as_table, number
from mislid.cli.study._opening import open_study, study_command
from mislid.cli.study._words import NO_PROOF, listed, rows_text, shown
from mislid.errors import FileFormatError, MislidError, ProblemError

if TYPE_CHECKING:
    from mislid.study import Study
    from mislid.study.result import StudyResult

_HEADINGS = {
    "observations": ("event", "time", "trial", "arm", "value", "row"),
    "events": ("sequence", "time", "kind", "fact"),
}
# Exit status.
CONTRADICTED = 4
certificate_option = file_option(
    "--certificate", "Write a certificate that `mislid study verify` checks.", "FILE.json"
)


@study_command(
    "result",
    "mislid study result potency",
    "mislid study result potency --certificate potency.json",
    "mislid study result potency --format csv",
)
@certificate_option
@printed()
def result_command(name: str, storage: str | None, certificate: str | None, form: str) -> int:
    """Print the answer of study NAME, best first, and the evidence for it.

    Before the study has decided there is no answer: that is an error (exit status 1). Where the
    data contradict what was declared, nothing is proven: exit status 4.
    """
    _refuse_places(certificate=certificate)
    with open_study(name, storage) as study:
        result = _decided(study)
        if certificate is not None:
            _save_certificate(result, certificate)
        click.echo(_answer(form, study, result))
    return CONTRADICTED if result.contradictions else 0


@study_command(
    "estimates",
    "mislid study estimates potency",
    "mislid study estimates potency --format csv",
)
@printed()
def estimates_command(name: str, storage: str | None, form: str) -> None:
    """Print what is known of every candidate of study NAME: its mean with an interval, what the
    model says, whether it is in the answer, and the evidence for that, in nats.

    All intervals hold at once and at all times with probability 1 - delta.
    """
    from mislid.forecast import EstimateRow

    with open_study(name, storage) as study:
        rows = [row.to_dict() for row in study.estimate_rows()]
    click.echo(rows_text(form, rows, [field.name for field in fields(EstimateRow)]))


def _decided(study: Study) -> StudyResult:
    """The result, or an error that says how things stand."""
    result = study.result
    if result is not None:
        return result
    seen = study.overview()
    best = seen.names(seen.best_now)
    hint = f"; best now, which is no answer: {listed(best)}" if best else ""
    raise MislidError(
        f"study {seen.name!r} has not decided and has no answer yet, after {seen.samples:,} "
        f"measurements{hint}"
    )


def _save_certificate(result: StudyResult, place: str) -> None:
    """Write the certificate, and say so."""
    result.certificate.save(place)
    click.echo(f"Certificate in {place}.", err=True)


def _facts(study: Study, result: StudyResult) -> dict[str, Any]:
    from mislid.forecast.overview import guarantee
    from mislid.io import as_plain

    return {
        "study": study.study_name,
        "answer": list(result.answer),
        "proven": result.proven,
        "guarantee": guarantee(study.settings, contradicted=bool(result.contradictions)),
        "stopping": result.stopping,
        "delta": study.settings.error_rate,
        "samples": result.samples,
        "statistic": result.statistic,
        "threshold": result.threshold,
        "pair": None if result.pair is None else list(result.pair),
        "observations": result.observations,
        "best_now": list(result.best_now),
        "agrees": result.agrees,
        "misspecification": as_plain(study.settings.declared),
        "contradictions": list(result.contradictions),
        "corrections": result.corrections,
    }


def _declared(study: Study) -> list[tuple[str, str]]:
    """What the proof assumes."""
    settings = study.settings
    rows = [("noise", settings.noise_words)]
    if study.candidates.features is not None:
        words = str(settings.declared)
        if settings.is_structured:
            words = "any" if words == "unknown" else f"up to {settings.misspecification:g}"
        rows.append(("misspecification", words))
    return rows


def _evidence(result: StudyResult) -> list[tuple[str, str]]:
    if result.pair is None:
        return [("evidence", "none told by the stopping rule, which was written in Python")]
    return [
        ("evidence", f"{number(result.statistic)}, {number(result.threshold)} needed"),
        ("limiting pair", "{} against {}".format(*result.pair)),
    ]


def _answer(form: str, study: Study, result: StudyResult) -> str:
    facts = _facts(study, result)
    if form == "json":
        return as_json(facts)
    if form == "csv":
        rest = {name: value for name, value in facts.items() if name not in ("study", "answer")}
        rows = [
            {"study": study.study_name, "rank": rank, "arm": arm, **rest}
            for rank, arm in enumerate(result.answer, start=1)
        ]
        return rows_text(form, rows, list(rows[0]))
    lines = [
        ("study", study.study_name),
        ("answer", listed(facts["answer"])),
        ("guarantee", facts["guarantee"]),
        *_declared(study),
        ("measurements", f"{result.samples:,}"),
        *_evidence(result),
    ]
    if result.observations > result.samples:
        verdict = "the same" if result.agrees else f"{listed(facts['best_now'])}: they disagree"
        lines.append((f"with all {result.observations:,} by now", verdict))
    if result.corrections:
        lines.append(("corrections", f"{result.corrections:,}, in the log"))
    return as_table([*lines, *(("CONTRADICTED", words) for words in result.contradictions)])


@click.command(
    "verify",
    epilog=examples(
        "mislid study result potency --certificate potency.json",
        "mislid study verify potency.json",
    ),
)
@file_argument
@printed()
def verify_command(file: str, form: str) -> None:
    """Re-derive everything in the certificate FILE.json from its numbers, and name the first thing
    that does not hold; then the exit status is 1.
    """
    from mislid.verification import verify

    found = verify(file).to_dict()
    _refuse_unreadable(file, found["failure"])
    click.echo(_checks(form, file, found))
    if not found["ok"]:
        raise MislidError(f"{file!r} does not hold: {found['failure']}")


def _refuse_unreadable(file: str, failure: str | None) -> None:
    """Refuse what is no certificate at all."""
    unreadable, no_json = "the file cannot be read: ", "the file is not JSON"
    if failure is not None and failure.startswith(unreadable):
        why = failure.removeprefix(unreadable)
        raise FileFormatError(f"FILE must be readable; got {file!r} ({why})")
    if failure is not None and failure.startswith(no_json):
        raise FileFormatError(f"{file!r} must hold a certificate; it is not JSON")


def _checks(form: str, file: str, found: dict[str, Any]) -> str:
    label = NO_PROOF if found["proven"] is False else ""
    if form == "json":
        return as_json({"file": file, **found} | ({"guarantee": label} if label else {}))
    rows = [(check, "holds") for check in found["checks"]]
    if found["ok"] and found["proven"] and found.get("tested") is False:
        rows.append(("what was declared, by a file of an earlier version", "not tested"))
    if not found["ok"]:
        rows.append((str(found["failure"]), "FAILS"))
    if label:
        refuted = found["rule"] == "guaranteed"
        missing = "a declaration that stands" if refuted else "a stopping rule with a proof"
        rows.append((missing, NO_PROOF))
    if form == "csv":
        return as_csv(["check", "outcome"], rows)
    lines = [(outcome, check) for check, outcome in rows]
    if found["ok"]:
        lines.append(("answer", listed(found["answer"])))
    return as_table(lines)


@study_command(
    "export",
    "mislid study export potency > measurements.csv",
    "mislid study export potency --events --format json --output log.json",
    "mislid study export potency --html report.html --certificate potency.json",
)
@click.option("--observations", "what", flag_value="observations", help="The default.")
@click.option("--events", "what", flag_value="events", help="The whole log.")
@file_option("--html", "Write a report on one page.", "FILE.html")
@certificate_option
@file_option("--output", "Where data go; by default standard output.")
@printed("csv")
def export_command(
    name: str,
    storage: str | None,
    what: str | None,
    html: str | None,
    certificate: str | None,
    output: str | None,
    form: str,
) -> None:
    """Write the measurements of study NAME, its log, a certificate or a report."""
    _refuse_places(html=html, certificate=certificate, output=output)
    _refuse_workbook(output, form)
    with open_study(name, storage) as study:
        if certificate is not None:
            _save_certificate(_decided(study), certificate)
        if html is not None:
            from mislid.report import write_report

            write_report(study, html)
            click.echo(f"Report in {html}.", err=True)
        if what or output or not (html or certificate):
            _export(study, what or "observations", form, output)


def _refuse_places(**places: str | None) -> None:
    """Refuse files that cannot be written, before anything is computed."""
    from mislid.io import new_place

    for option, place in places.items():
        if place is not None:
            new_place(place, f"--{option}")


def _refuse_workbook(output: str | None, form: str) -> None:
    """Refuse a workbook that cannot be written, or is asked for in another format."""
    from mislid.cli.study._sheets import is_workbook
    from mislid.io import require_workbooks

    if output is not None and is_workbook(output):
        if form != "csv":
            raise ProblemError(
                f"--format must be left out for a workbook, {output!r}; got {form!r}"
            )
        require_workbooks(f"--output {output}")


def _export(study: Study, what: str, form: str, output: str | None) -> None:
    rows = _observations(study) if what == "observations" else _events(study)
    heading = _HEADINGS[what]
    flat = [[as_json(cell) if isinstance(cell, dict) else cell for cell in row] for row in rows]
    if form == "json":
        text = as_json([dict(zip(heading, row, strict=True)) for row in rows])
    elif form == "csv":
        text = as_csv(heading, flat)
    else:
        text = aligned([heading, *map(_cells, rows)], len(heading))
    if output is None:
        click.echo(text)
        return
    from mislid.cli.study._sheets import is_workbook
    from mislid.io import workbook_bytes, write_whole

    workbook = is_workbook(output)
    content = workbook_bytes(heading, flat) if workbook else f"{text}\n".encode()
    write_whole(Path(output), content)
    click.echo(f"{len(rows):,} {what} in {output}.", err=True)


def _observations(study: Study) -> list[list[Any]]:
    return [[row[0], moment(row[1], exact=True), *row[2:]] for row in study.observation_rows()]


def _events(study: Study) -> list[list[Any]]:
    """Arms by the user's labels, and nothing that has to be known besides."""
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


def _cells(row: list[Any]) -> list[str]:
    """For people: long facts are cut."""
    texts = [as_json(cell) if isinstance(cell, dict) else shown(cell) for cell in row]
    return [text if len(text) <= 80 else f"{text[:77]}..." for text in texts]
