"""`mislid study result`: the answer and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import as_json, as_table, number
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._words import guarantee, listed, many
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.study import Study
    from mislid.study.result import StudyResult


@click.command(
    "result",
    epilog=examples(
        "mislid study result potency",
        "mislid study result potency --certificate potency.json",
        "mislid study result potency --format csv",
    ),
)
@name_argument
@storage_option
@click.option(
    "--certificate",
    "place",
    metavar="FILE.json",
    type=click.Path(dir_okay=False),
    help="Write a certificate that `mislid study verify` checks.",
)
@format_option
@one_sentence_errors
def command(name: str, storage: str | None, place: str | None, form: str) -> None:
    """Print the answer of study NAME, best first, and the evidence for it.

    Before the study has decided there is no answer: that is an error (exit status 1).
    """
    with open_study(name, storage) as study:
        result = decided(study)
        if place is not None:
            save_certificate(result, place)
        click.echo(_printed(form, study, result))


def decided(study: Study) -> StudyResult:
    """The result, or an error that says how things stand."""
    result = study.result
    if result is not None:
        return result
    best = study.progress(simulations=1).best_now
    hint = f"; best now, which is no answer: {listed(best)}" if best else ""
    raise MislidError(
        f"study {study.study_name!r} has not decided and has no answer yet, after "
        f"{study.samples:,} measurements{hint}"
    )


def save_certificate(result: StudyResult, place: str) -> None:
    """Write the certificate, and say so."""
    result.certificate.save(place)
    click.echo(f"Certificate in {place}.", err=True)


def _facts(study: Study, result: StudyResult) -> dict[str, Any]:
    return {
        "study": study.study_name,
        "answer": list(result.answer),
        "proven": result.proven,
        "guarantee": guarantee(study.settings),
        "stopping": result.stopping,
        "delta": study.settings.delta,
        "samples": result.samples,
        "statistic": result.statistic,
        "threshold": result.threshold,
        "pair": list(result.pair),
        "observations": result.observations,
        "best_now": list(result.best_now),
        "agrees": result.agrees,
    }


def _printed(form: str, study: Study, result: StudyResult) -> str:
    facts = _facts(study, result)
    if form == "json":
        return as_json(facts)
    if form == "csv":
        rest = {name: value for name, value in facts.items() if name not in ("study", "answer")}
        rows = [
            {"study": study.study_name, "rank": rank, "arm": arm, **rest}
            for rank, arm in enumerate(result.answer, start=1)
        ]
        return many(form, rows, list(rows[0]))
    lines = [
        ("study", study.study_name),
        ("answer", listed(facts["answer"])),
        ("guarantee", facts["guarantee"]),
        ("measurements", f"{result.samples:,}"),
        ("evidence", f"{number(result.statistic)}, {number(result.threshold)} needed"),
        ("limiting pair", f"{result.pair[0]} against {result.pair[1]}"),
    ]
    if result.observations > result.samples:
        verdict = "the same" if result.agrees else f"{listed(facts['best_now'])}: they disagree"
        lines.append((f"with all {result.observations:,} by now", verdict))
    return as_table(lines)
