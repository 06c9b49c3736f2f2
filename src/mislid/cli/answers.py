"""`mislid study status`, `result`, `estimates` and `what-if`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import the_best
from mislid.cli.options import flag, question_options
from mislid.cli.output import known, listed, number, print_facts, print_rows
from mislid.cli.study import NO_PROOF, on_study
from mislid.errors import MislidError

if TYPE_CHECKING:
    from mislid.forecast import StudyProgress
    from mislid.forecast.overview import Overview
    from mislid.study import Study

# Exit statuses.
UNDECIDED, CONTRADICTED = 3, 4


@on_study(
    "status",
    "mislid study status potency",
    "until mislid study status potency --exit-code; do measure-one-more; done",
)
@flag(
    "--exit-code",
    f"Exit status {UNDECIDED} while the study has not decided, {CONTRADICTED} where its data "
    "contradict what was declared.",
)
@flag("--no-forecast", "Do not simulate the rest of the study, which can take seconds.")
def status_command(study: Study, exit_code: bool, no_forecast: bool, form: str) -> int:
    """Print how far study NAME is: measurements, the best so far, the pair that limits it, how much
    evidence it has and needs, how many more measurements that may take, and warnings.
    """
    seen = study.overview()
    facts = seen.to_dict(forecast=not no_forecast)
    progress = seen.standing if no_forecast else seen.progress
    lines = _status_lines(seen, facts, progress) if form == "table" else ()
    if form == "csv":
        facts["warnings"] = [warning.message for warning in seen.warnings]
    print_facts(form, facts, [(name, value) for name, value in lines if value])
    if not exit_code or seen.decided:
        return 0
    return CONTRADICTED if seen.contradictions else UNDECIDED


def _status_lines(
    seen: Overview, facts: dict[str, Any], progress: StudyProgress
) -> Iterator[tuple[str, Any]]:
    from mislid.forecast.simulate import forecast_words

    unproven = not seen.proven and (seen.decided or seen.contradictions)
    left = facts["budget_left"]
    yield "study", seen.name
    yield "status", f"{facts['status']}{f', {NO_PROOF}' if unproven else ''}"
    yield "question", f"{the_best(seen.settings.m)} of {seen.K} candidates"
    yield "guarantee", facts["guarantee"]
    yield "measurements", f"{seen.samples:,}"
    if left is not None:
        used = "used up: `mislid study result --now` says what to report"
        yield "budget", f"{facts['budget']:,}, {f'{left:,} left' if left else used}"
    yield "cost", facts["spent"]
    yield "added", facts["added"]
    yield "left", facts["left"]
    yield "not measured now", facts["retired"]
    if seen.settings.promised is not None:
        share = f"{facts['delta_left']:.3g} of {facts['delta']:g}"
        yield "delta left", f"{share}; changes after a look took the rest"
    yield "pending trials", f"{facts['pending']:,}"
    if seen.decision is not None:
        yield "answer", listed(facts["answer"]) + ("" if seen.decided else f", {NO_PROOF}")
        if set(seen.best_now) != set(seen.leaders):
            yield "best now", facts["best_now"]
    elif progress.best_now:
        yield "best now", f"{listed(progress.best_now)} (no answer yet)"
    if progress.pair is not None:
        yield "limiting pair", "{} against {}".format(*progress.pair)
    if progress.statistic is not None and not seen.contradictions:
        needed = number(progress.threshold or 0.0)
        yield "evidence", f"{number(progress.statistic)} of {needed}"
    if not seen.decided:
        yield "forecast", forecast_words(progress)
        if progress.lower_bound is not None and math.isfinite(progress.lower_bound):
            yield "any method needs", f"about {number(progress.lower_bound)} in all"
    if seen.proved is not None:
        largest, smallest = seen.proved
        up_to = "none" if largest is None else f"all up to {number(largest)}"
        yield "proved for", f"misspecifications: {up_to}; refuted: any below {number(smallest)}"
    for words in seen.contradictions:
        yield "CONTRADICTED", words
    for words in facts["withdrawn"]:
        yield "withdrawn", f"a decision: {words}"
    if facts["corrections"]:
        yield "corrections", f"{facts['corrections']:,}, in the log"
    for warning in seen.warnings:
        yield "warning", warning.message


@on_study("result", "mislid study result potency", "mislid study result potency --now")
@flag("--now", "The best answer so far with its anytime p-value, decided or not.")
def result_command(study: Study, now: bool, form: str) -> int:
    """Print the answer of study NAME, best first, and the evidence for it.

    Before the study has decided there is no answer: that is an error (exit status 1), and --now
    gives what to report when measuring ends early. Where the data contradict what was declared,
    nothing is proven: exit status 4.
    """
    if now:
        found = study.result_now()
        facts = {"study": study.study_name, **found.to_dict()}
        shown = {"pairs": None, "open pairs": len(found.pairs)}
        print_facts(form, facts, known(facts | shown))
        return 0
    from mislid.forecast.overview import guarantee

    result, settings = study.result, study.settings
    if result is None:
        seen = study.overview()
        best = listed(seen.names(seen.best_now))
        raise MislidError(
            f"study {seen.name!r} has not decided and has no answer yet, after {seen.samples:,} "
            f"measurements{f'; best now, which is no answer: {best}' if seen.best_now else ''}"
        )
    facts = {
        "study": study.study_name,
        "answer": result.answer,
        "proven": result.proven,
        "guarantee": guarantee(settings, contradicted=bool(result.contradictions)),
        "stopping": result.stopping,
        "delta": settings.error_rate,
        "misspecification": settings.declared,
        "noise": settings.noise_words,
        "samples": result.samples,
        "statistic": result.statistic,
        "threshold": result.threshold,
        "pair": result.pair,
        "observations": result.observations,
        "best_now": result.best_now,
        "agrees": result.agrees,
        "contradictions": result.contradictions,
        "corrections": result.corrections,
    }
    lines = known({**facts, "proven": None, "contradictions": None})  # the guarantee says it
    print_facts(form, facts, lines + [("CONTRADICTED", words) for words in result.contradictions])
    return CONTRADICTED if result.contradictions else 0


@on_study("estimates", "mislid study estimates potency --format csv")
def estimates_command(study: Study, form: str) -> None:
    """Print every candidate of study NAME: its mean with an interval, the model's estimate,
    whether it is in the answer, and the evidence for that, in nats.

    All intervals hold at once and at all times with probability 1 - delta.
    """
    rows = [row.to_dict() for row in study.estimate_rows()]
    print_rows(form, list(rows[0]), [list(row.values()) for row in rows])


@on_study("what-if", "mislid study what-if potency --m 2 --tolerance 0.05")
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
        _print_sensitivity(form, study)
        return
    from mislid.forecast.simulate import forecast_words

    found = study.what_if(**given)
    forecast = "would have decided" if found.decided_now else forecast_words(found)
    lines = [*given.items(), ("forecast", forecast), ("best now", found.answer_now)]
    print_facts(form, {"study": study.study_name, **found.to_dict()}, lines)


def _print_sensitivity(form: str, study: Study) -> None:
    found = study.sensitivity()
    facts = {"study": study.study_name, **found.to_dict()}
    if form == "json":
        print_facts(form, facts)
        return
    if form == "table":
        print_facts(form, facts, known(facts | {"table": None, "statement": found.statement}))
        click.echo()
    rows = facts["table"]
    print_rows(form, list(rows[0]), [list(row.values()) for row in rows], texts=2)
