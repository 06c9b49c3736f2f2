"""Commands that print, export, verify and serve the results of studies."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import moment, number, the_best
from mislid.cli.options import (
    FILE,
    app,
    examples,
    file_argument,
    flag,
    format_option,
    on_storage,
    on_study,
    open_storage,
    option,
    question_options,
    several,
    storage_argument,
    study_group,
)
from mislid.cli.output import NO_PROOF, is_proven, print_facts, print_rows, shown
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.forecast import StudyProgress
    from mislid.forecast.overview import Overview
    from mislid.study import Study
    from mislid.study.storage import Storage

# Exit statuses.
UNDECIDED, UNPROVEN, CONTRADICTED = 3, 3, 4


@on_storage("list", "mislid study list --storage lab.db --format json")
def list_command(storage: Storage, form: str) -> None:
    """List the studies in a storage."""
    from mislid.study import StudySummary, list_studies
    from mislid.study.results import DAMAGED

    lines = list_studies(storage=storage)
    if not lines:
        click.echo("There are no studies yet.", err=True)
    rows = []
    for line in lines:
        if line.status == DAMAGED:
            rows.append([line.name, line.status, *[None] * 7, NO_PROOF])
            continue
        times = {"created": moment(line.created), "updated": moment(line.updated)}
        guarantee = "proven" if is_proven(line.status, line.stopping) else NO_PROOF
        rows.append([*(asdict(line) | times).values(), guarantee])
    heading = [field.name for field in fields(StudySummary)]
    print_rows(form, [*heading, "guarantee"], rows, texts=2)


@on_study(
    "status",
    "mislid study status potency",
    "until mislid study status potency --exit-code; do measure-one-more; done",
)
@flag("--exit-code", "Exit status 3 while undecided, 4 where data contradict what was declared.")
@flag("--no-forecast", "Do not simulate the rest of the study, which can take seconds.")
def status_command(study: Study, exit_code: bool, no_forecast: bool, form: str) -> int:
    """Print the progress, the forecast and warnings."""
    seen = study.overview()
    facts = seen.to_dict(forecast=not no_forecast)
    progress = seen.standing if no_forecast else seen.progress
    lines = _status_lines(seen, facts, progress) if form == "table" else None
    if form == "csv":
        facts["warnings"] = [warning.message for warning in seen.warnings]
    print_facts(form, facts, lines)
    if not exit_code or seen.decided:
        return 0
    return CONTRADICTED if seen.contradictions else UNDECIDED


def _status_lines(
    seen: Overview, facts: dict[str, Any], progress: StudyProgress
) -> list[tuple[str, Any]]:
    left, promised = facts["budget_left"], seen.settings.promised
    lines = {
        "study": seen.name,
        "status": seen.status,
        "question": f"{the_best(seen.settings.m)} of {seen.K} candidates",
        "guarantee": facts["guarantee"],
        "measurements": f"{seen.samples:,}",
        "budget": None if left is None else f"{facts['budget']:,}, {left:,} left",
        "cost": facts["spent"],
        "added": facts["added"],
        "left": facts["left"],
        "not measured now": facts["retired"],
        "delta left": promised and f"{facts['delta_left']:.3g} of {facts['delta']:g}",
        "pending trials": f"{facts['pending']:,}",
        "answer": facts["answer"],
    }
    if seen.decision is None and progress.best_now:
        lines["best now"] = f"{shown(progress.best_now)} (no answer yet)"
    elif set(seen.best_now) != set(seen.leaders):
        lines["best now"] = facts["best_now"]
    if progress.pair is not None:
        lines["limiting pair"] = "{} against {}".format(*progress.pair)
    if progress.statistic is not None and not seen.contradictions:
        needed = number(progress.threshold or 0.0)
        lines["evidence"] = f"{number(progress.statistic)} of {needed}"
    if not seen.decided:
        lines["forecast"] = progress.statement
    if seen.proved is not None:
        largest, least = seen.proved
        up_to = "none" if largest is None else f"misspecifications up to {number(largest)}"
        lines["proved for"] = up_to
        lines["refuted"] = f"misspecifications below {number(least)}" if least else None
    if facts["corrections"]:
        lines["corrections"] = f"{facts['corrections']:,}, in the log"
    return [
        *lines.items(),
        *(("CONTRADICTED", words) for words in seen.contradictions),
        *(("withdrawn", f"a decision: {words}") for words in facts["withdrawn"]),
        *(("warning", warning.message) for warning in seen.warnings),
    ]


@on_study("result", "mislid study result potency", "mislid study result potency --now")
@flag("--now", "The best answer so far with its anytime p-value, decided or not.")
def result_command(study: Study, now: bool, form: str) -> int:
    """Print the answer, best first, and its evidence.

    Without a decision there is no answer (exit status 1); --now prints the present best candidates.
    If the data contradict a declaration, nothing is proven (exit status 4).
    """
    if now:
        found = study.result_now()
        facts = {"study": study.study_name, **found.to_dict()}
        lines = {**facts, "pairs": None, "open pairs": len(found.pairs)}
        print_facts(form, facts, lines.items())
        return 0
    from mislid.forecast.overview import guarantee

    result, settings = study.result, study.settings
    if result is None:
        seen = study.overview()
        best = shown(seen.names(seen.best_now))
        doubt = "; the data contradict what was declared, and nothing is proven"
        raise MislidError(
            f"study {seen.name!r} has not decided and has no answer yet, after {seen.samples:,} "
            f"measurements{doubt if seen.contradictions else ''}"
            f"{f'; best now, which is no answer: {best}' if seen.best_now else ''}"
        )
    facts = {
        "study": study.study_name,
        "answer": result.answer,
        "guarantee": guarantee(settings, contradicted=bool(result.contradictions)),
        "delta": settings.error_rate,
        "misspecification": settings.declared,
        "noise": settings.noise_words,
        **{one.name: getattr(result, one.name) for one in fields(result) if one.repr},
        "agrees": result.agrees,
    }
    lines = {**facts, "proven": None, "contradictions": None}  # the guarantee includes `proven`
    refuted = [("CONTRADICTED", words) for words in result.contradictions]
    print_facts(form, facts, [*lines.items(), *refuted])
    return CONTRADICTED if result.contradictions else 0


@on_study("estimates", "mislid study estimates potency --format csv")
def estimates_command(study: Study, form: str) -> None:
    """Print the mean of each candidate, with an interval.

    Also prints the model's estimate, whether the candidate is in the answer, and the evidence for
    that in nats. All intervals hold at once and at all times with probability 1 - delta.
    """
    from mislid.forecast.evidence import estimate_rows

    _print_records(form, [row.to_dict() for row in estimate_rows(study.overview())])


def _print_records(form: str, rows: list[dict[str, Any]], texts: int = 1) -> None:
    print_rows(form, list(rows[0]), [list(row.values()) for row in rows], texts)


@on_study("what-if", "mislid study what-if potency --m 2 --tolerance 0.05")
@question_options(changes=True)
def what_if_command(study: Study, form: str, **changes: Any) -> None:
    """Print what the data say about other questions.

    Without options: up to which misspecification the measurements prove the answer, and which ones
    they refute. With options: how many more measurements that question would take. Nothing is
    changed. If you choose a question by looking at this, its error rate does not hold.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    if given:
        found = study.what_if(**given)
        forecast = "would have decided" if found.decided_now else found.statement
        lines = {**given, "forecast": forecast, "best now": found.answer_now}
        print_facts(form, {"study": study.study_name, **found.to_dict()}, lines.items())
        return
    known = study.sensitivity()
    facts = {"study": study.study_name, **known.to_dict()}
    print_facts(form, facts, {**facts, "statement": known.statement}.items())


@study_group.command("verify", epilog=examples("mislid study verify potency.json"))
@file_argument
@format_option()
def verify_command(file: str, form: str) -> int:
    """Check a certificate, without the study.

    Everything in FILE.json is derived again from its numbers. The exit status is 1 if a statement
    does not hold, which is printed, and 3 if all hold but nothing is proven.
    """
    from mislid.verification import verify

    facts = verify(file).to_dict()
    failure = facts["failure"] or ""
    proven = facts["proven"] is not False
    lines = [("holds", check) for check in facts["checks"]]
    lines.append(("answer", facts["answer"]) if facts["ok"] else ("FAILS", failure))
    lines.append(("guarantee", None if proven else NO_PROOF))
    print_facts(form, {"file": file, **facts}, lines)
    if not facts["ok"]:
        raise MislidError(f"{file!r} does not hold: {failure}")
    return 0 if proven else UNPROVEN


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
    """Print measurements, or write a certificate or a report."""
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
        table = study.observations().astype(object)
        table["time"] = [moment(time, exact=True) for time in table.time]
        print_rows(form, list(table), table.where(table.notna(), None).to_numpy().tolist())


def _events(study: Study) -> list[list[Any]]:
    """Rows of events, with the labels of candidates."""
    from mislid.study.events import entry_of

    labels, rows = study.register.labels, []
    for event in study.events():
        entry = entry_of(event)
        fact = json.loads(entry.body)
        for name in {"arm", "arms", "answer", "pair", "proposed"} & set(fact):
            arms = fact[name]
            fact[name] = labels[arms] if name == "arm" else [labels[arm] for arm in arms]
        rows.append([entry.sequence, moment(entry.time, exact=True), entry.kind, fact])
    return rows


@on_storage("check", "mislid study check potency --head 3f1c...")
@click.argument("name")
@option("--head", str, "A seal that was written down: the log must have it.")
def check_command(storage: Storage, name: str, head: str | None, form: str) -> int:
    """Check the seals and events of the log, and the decision.

    Problems are printed; the exit status is then 1.
    """
    from mislid.study import check_study

    found = check_study(study_name=name, storage=storage, head=head)
    facts = found.to_dict()
    lines = {**facts, "problems": None, "ok": "yes" if found.ok else "NO"}
    problems = [("problem", words) for words in found.problems]
    print_facts(form, facts, [*lines.items(), *problems])
    return 0 if found.ok else 1


@app.command(
    "serve",
    epilog=examples(
        "mislid serve lab.db",
        "mislid serve lab.db --write --token-file token.txt",
        "mislid serve postgresql://lab@db/studies --host 0.0.0.0 --name lab.example.org "
        "--token-file token.txt",
    ),
)
@storage_argument
@option("--host", str, "The address to listen to.", "127.0.0.1")
@option("--port", click.IntRange(0, 65535), "The port to listen to; 0 is any free one.", 8600)
@flag("--write", "Let clients with the token change studies.")
@option("--token-file", FILE, "A file with the token; by default a random token is printed.")
@several("--name", "names", "Another name of the server in browsers, with a port unless usual.")
@several("--trusted-proxy", "proxies", "Address of a proxy whose X-Forwarded-... are believed.")
def serve_command(
    storage: str | Path, host: str, port: int, write: bool, token_file: str | None, **policy: Any
) -> None:
    """Show studies in a browser, and to programs over HTTP.

    Pages are at http://127.0.0.1:8600. Other computers need --host, and changes need --write; both
    need a token.
    """
    from mislid.server import access, app

    token = None if token_file is None else access.read_token(token_file)
    if token is None and (write or host not in access.LOCAL):
        token = secrets.token_urlsafe(24)
        click.echo(f"token: {token}")
    with open_storage(storage, new=write) as opened, app.listen(host, port) as at:
        port = at.getsockname()[1]
        rules = access.policy_for(host, port, write=write, token=token, **policy)
        local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - as asked
        changed = "; studies may be changed" if write else ""
        click.echo(f"http://{local}:{port} (Ctrl-C ends it{changed})", err=True)
        app.serve(opened, rules, at)
