"""`mislid study result`, `estimates`, `threshold`, `ranking` and `what-if`: what the data say."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import file_option, flag, question_options
from mislid.cli.output import (
    as_json,
    as_table,
    counted,
    listed,
    number,
    print_facts,
    rows_text,
)
from mislid.cli.study._opening import CONTRADICTED, as_value, study_command
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.forecast import ResultNow, Sensitivity, WhatIf
    from mislid.study import Study, StudyResult

# Open pairs that a table shows.
_PAIRS = 5
certificate_option = file_option(
    "--certificate", "Write a certificate that `mislid study verify` checks.", "FILE.json"
)


@study_command(
    "result",
    "mislid study result potency",
    "mislid study result potency --certificate potency.json",
    "mislid study result potency --now --format json",
)
@flag("--now", "The best answer so far with its anytime p-value, decided or not.")
@certificate_option
def result_command(study: Study, now: bool, certificate: str | None, form: str) -> int:
    """Print the answer of study NAME, best first, and the evidence for it.

    Before the study has decided there is no answer: that is an error (exit status 1), and --now
    gives what to report when measuring ends early. Where the data contradict what was declared,
    nothing is proven: exit status 4.
    """
    check_places(certificate=certificate)
    if now:
        _print_now(form, study.study_name, study.result_now())
        return 0
    result = decided(study)
    if certificate is not None:
        save_certificate(result, certificate)
    _print_result(form, study, result)
    return CONTRADICTED if result.contradictions else 0


def check_places(**places: str | None) -> None:
    """Refuse files that cannot be written, before anything is computed."""
    from mislid.io import new_place

    for option, place in places.items():
        if place is not None:
            new_place(place, f"--{option}")


def decided(study: Study) -> StudyResult:
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


def save_certificate(result: StudyResult, place: str) -> None:
    """Write the certificate."""
    result.certificate.save(place)
    click.echo(f"Certificate in {place}.", err=True)


def _print_result(form: str, study: Study, result: StudyResult) -> None:
    from mislid.forecast.overview import guarantee
    from mislid.io import as_plain

    settings = study.settings
    facts = {
        "study": study.study_name,
        "answer": list(result.answer),
        "proven": result.proven,
        "guarantee": guarantee(settings, contradicted=bool(result.contradictions)),
        "stopping": result.stopping,
        "delta": settings.error_rate,
        "samples": result.samples,
        "statistic": result.statistic,
        "threshold": result.threshold,
        "pair": None if result.pair is None else list(result.pair),
        "observations": result.observations,
        "best_now": list(result.best_now),
        "agrees": result.agrees,
        "misspecification": as_plain(settings.declared),
        "contradictions": list(result.contradictions),
        "corrections": result.corrections,
    }
    if form == "csv":
        head = {"study": study.study_name, "rank": 0, "arm": None}
        rest = {name: value for name, value in facts.items() if name not in ("study", "answer")}
        rows = [
            {**head, "rank": rank, "arm": arm, **rest}
            for rank, arm in enumerate(result.answer, start=1)
        ]
        click.echo(rows_text(form, rows, list(rows[0])))
        return
    lines = [("study", study.study_name), ("answer", listed(result.answer))]
    lines += [("guarantee", facts["guarantee"]), ("noise", settings.noise_words)]
    if study.candidates.features is not None:
        words = str(settings.declared)
        if settings.is_structured:
            words = "any" if words == "unknown" else f"up to {settings.misspecification:g}"
        lines.append(("misspecification", words))
    lines.append(("measurements", f"{result.samples:,}"))
    if result.pair is not None:
        needed = f"{number(result.statistic)}, {number(result.threshold)} needed"
        lines += [("evidence", needed), ("limiting pair", "{} against {}".format(*result.pair))]
    if result.observations > result.samples:
        verdict = "the same" if result.agrees else f"{listed(result.best_now)}: they disagree"
        lines.append((f"with all {result.observations:,} by now", verdict))
    if result.corrections:
        lines.append(("corrections", f"{result.corrections:,}, in the log"))
    lines += [("CONTRADICTED", words) for words in result.contradictions]
    print_facts(form, facts, lines)


def _print_now(form: str, name: str, found: ResultNow) -> None:
    facts = {"study": name, **found.to_dict()}
    pairs = [f"{one} against {other}" for one, other in found.pairs]
    if form == "csv":
        facts["pairs"] = pairs
    lines = [
        ("study", name),
        ("best so far", listed(found.answer)),
        ("p-value", f"{found.p_value:.3g}" if found.answer else "-"),
        ("measurements", f"{found.samples:,}"),
    ]
    lines += [("open", pair) for pair in pairs[:_PAIRS]]
    if len(pairs) > _PAIRS:
        lines.append(("", f"and {counted(len(pairs) - _PAIRS, 'more pair')}"))
    if found.contradicted:
        lines.append(("CONTRADICTED", "the data contradict what was declared: nothing is proven"))
    print_facts(form, facts, lines)


@study_command(
    "estimates",
    "mislid study estimates potency",
    "mislid study estimates potency --format csv",
)
def estimates_command(study: Study, form: str) -> None:
    """Print every candidate of study NAME: its mean with an interval, the model's estimate,
    whether it is in the answer, and the evidence for that, in nats.

    All intervals hold at once and at all times with probability 1 - delta.
    """
    from mislid.forecast import EstimateRow

    rows = [row.to_dict() for row in study.estimate_rows()]
    click.echo(rows_text(form, rows, [field.name for field in fields(EstimateRow)]))


@study_command(
    "threshold",
    "mislid study threshold potency 0.5",
    "mislid study threshold potency -1.5 --format csv",
    signed=True,
)
@click.argument("value")
def threshold_command(study: Study, value: str, form: str) -> None:
    """Print which candidates of study NAME are proved to have a mean above VALUE, which below, and
    which are open. It holds for all values at once and at all times with probability 1 - delta.
    """
    found = study.threshold(as_value(value))
    sides = {side: getattr(found, side) for side in ("above", "below", "open")}
    if form == "csv":
        rows = [
            {"candidate": label, "side": side} for side, some in sides.items() for label in some
        ]
        click.echo(rows_text(form, rows, ("candidate", "side")))
        return
    head = [("study", study.study_name), ("threshold", f"{found.threshold:g}")]
    table = [*head, *((side, listed(some)) for side, some in sides.items())]
    print_facts(form, {"study": study.study_name, **found.to_dict()}, table)


@study_command(
    "ranking", "mislid study ranking potency", "mislid study ranking potency --format csv"
)
def ranking_command(study: Study, form: str) -> None:
    """Print all candidates of study NAME, best first by their estimates, with the best and the
    worst place that each may have. It holds for all places at once and at all times with
    probability 1 - delta.
    """
    found = study.ranking()
    if form == "json":
        click.echo(as_json({"study": study.study_name, **found.to_dict()}))
        return
    rows = [
        {"candidate": label, "best": first, "worst": last}
        for label, (first, last) in zip(found.order, found.ranks, strict=True)
    ]
    click.echo(rows_text(form, rows, ("candidate", "best", "worst")))
    if form == "table":
        click.echo(f"\nproved: the n best are the first n of these, for n = {listed(found.tops)}")


@study_command(
    "what-if",
    "mislid study what-if potency",
    "mislid study what-if potency --delta 0.1",
    "mislid study what-if potency --m 2 --tolerance 0.05",
)
@question_options(changes=True)
def what_if_command(study: Study, form: str, **changes: Any) -> None:
    """Print up to which misspecification the measurements of study NAME prove its answer, which
    ones they refute, and the preferred answer for each of several.

    With another m, error rate, tolerance or misspecification: how many more measurements that
    question would take. Nothing is changed, and a question that is chosen by looking at this does
    not keep its error rate.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    if not given:
        _print_sensitivity(form, study.study_name, study.sensitivity())
        return
    found = study.what_if(**given)
    table = [
        ("study", study.study_name),
        *((key, f"{value:g}") for key, value in given.items()),
        ("forecast", _forecast(found)),
        ("best now", listed(found.answer_now)),
    ]
    print_facts(form, {"study": study.study_name, **found.to_dict()}, table)


def _forecast(found: WhatIf) -> str:
    from mislid.forecast.simulate import forecast_words

    return "would have decided" if found.decided_now else forecast_words(found)


def _print_sensitivity(form: str, name: str, found: Sensitivity) -> None:
    from mislid.forecast import SensitivityRow

    facts = {"study": name, **found.to_dict()}
    if form == "json":
        click.echo(as_json(facts))
        return
    columns = [field.name for field in fields(SensitivityRow)]
    table = rows_text(form, facts["table"], columns, texts=2)
    if form == "csv":
        click.echo(table)
        return
    head = [
        ("study", name),
        ("declared", number(found.declared)),
        ("answer", listed(found.answer)),
        (
            f"{'proved' if found.proven else 'decides'} up to",
            "nowhere" if found.largest is None else number(found.largest),
        ),
        ("refuted below", number(found.smallest)),
        ("level", number(found.level)),
    ]
    click.echo(f"{as_table(head)}\n\n{found.statement}\n\n{table}")
