"""`mislid study status`: how far a study is."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import the_best
from mislid.cli.options import flag
from mislid.cli.output import listed, number, print_facts
from mislid.cli.study._opening import CONTRADICTED, NO_PROOF, UNDECIDED, study_command

if TYPE_CHECKING:
    from mislid.forecast import StudyProgress
    from mislid.forecast.overview import Overview
    from mislid.study import Study

# Corrections that are shown; the log has all.
MOST_CORRECTIONS = 5
pause = time.sleep


@study_command(
    "status",
    "mislid study status potency",
    "mislid study status potency --watch",
    "until mislid study status potency --exit-code; do measure-one-more; done",
)
@click.option(
    "--exit-code",
    is_flag=True,
    help=f"Exit status {UNDECIDED} while the study has not decided, {CONTRADICTED} where its data "
    "contradict what was declared.",
)
@click.option(
    "--watch",
    "seconds",
    metavar="[SECONDS]",
    is_flag=False,
    flag_value=5.0,
    type=click.FloatRange(0, min_open=True),
    help="Look again every so many seconds (5) until it has decided, or Ctrl-C.",
)
@flag(
    "--no-forecast",
    "Do not simulate the rest of the study; with many candidates that takes seconds.",
    "skipping",
)
def command(study: Study, exit_code: bool, seconds: float | None, skipping: bool, form: str) -> int:
    """Print how far study NAME is: measurements, the best by now, the pair that limits it, how much
    evidence it has and needs, how many more measurements that may take, and warnings.

    With --watch it is printed whenever something has changed. Ctrl-C ends that with exit status 0,
    or 3 with --exit-code.
    """
    seen = study.overview()
    _show(form, seen, skipping)
    try:
        while seconds is not None and not seen.decided:
            pause(seconds)
            now = study.overview()
            if now.events != seen.events:
                seen = now
                _show(form, seen, skipping)
    except KeyboardInterrupt:
        pass  # the way to end it
    if not exit_code or seen.decided:
        return 0
    return CONTRADICTED if seen.contradictions else UNDECIDED


def _show(form: str, seen: Overview, skipping: bool) -> None:
    facts = seen.to_dict(forecast=not skipping)
    progress = seen.standing if skipping else seen.progress
    if form == "csv":
        facts["warnings"] = [warning.message for warning in seen.warnings]
    print_facts(form, facts, _table(seen, facts, progress) if form == "table" else ())
    sys.stdout.flush()


def _table(seen: Overview, facts: dict[str, Any], progress: StudyProgress) -> list[tuple[str, str]]:
    unproven = not seen.proven and (seen.decided or seen.contradictions)
    rows = [
        ("study", seen.name),
        ("status", f"{facts['status']}{f', {NO_PROOF}' if unproven else ''}"),
        ("question", f"{the_best(seen.settings.m)} of {seen.K} candidates"),
        ("guarantee", facts["guarantee"]),
        ("measurements", f"{seen.samples:,}"),
        *_costs(facts),
        *(
            (name, listed(facts[key]))
            for name, key in (("added", "added"), ("left", "left"), ("not measured now", "retired"))
            if facts[key]
        ),
    ]
    if seen.settings.promised is not None:
        share = f"{facts['delta_left']:.3g} of {facts['delta']:g}"
        rows.append(("delta left", f"{share}; changes after a look took the rest"))
    rows.append(("pending trials", f"{facts['pending']:,}"))
    rows += _answer(seen) if seen.decided else _evidence(seen, progress)
    if seen.proved is not None:
        rows += [("proved for", _proved(*seen.proved))]
        rows += [("refuted", f"any below {number(seen.proved[1])}")]
    rows += [("CONTRADICTED", words) for words in seen.contradictions]
    for one in seen.withdrawn:
        answer = listed(seen.names(one.decision.answer, registered=True))
        after = f"after {one.decision.samples:,} measurements: {one.cause}"
        rows.append(("withdrawn", f"the decision for {answer} {after}"))
    for fixed in seen.corrections[-MOST_CORRECTIONS:]:
        label = seen.names((fixed.of.arm,), registered=True)[0]
        was, now = ("void" if value is None else f"{value:g}" for value in (fixed.was, fixed.value))
        why = "" if fixed.reason is None else f" ({fixed.reason})"
        rows.append(("corrected", f"{fixed.what}, {label}: {was} is now {now}{why}"))
    return rows + [("warning", warning.message) for warning in seen.warnings]


def _costs(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Budget and cost, where there are any."""
    rows, left = [], facts["budget_left"]
    if left is not None:
        used = "used up: `mislid study result --now` says what to report"
        rows.append(("budget", f"{facts['budget']:,}, {f'{left:,} left' if left else used}"))
    if facts["spent"] is not None:
        rows.append(("cost", number(facts["spent"])))
    return rows


def _proved(largest: float | None, smallest: float) -> str:
    """The misspecifications for which the answer is proved."""
    if largest is None:
        return "no misspecification"
    if largest < smallest:
        return "no misspecification that the data allow"
    up_to = f" up to {number(largest)}" if math.isfinite(largest) else ""
    return f"every misspecification{up_to}"


def _answer(seen: Overview) -> list[tuple[str, str]]:
    rows = [("answer", listed(seen.names(seen.leaders)))]
    best = seen.names(seen.best_now)
    if best and set(best) != set(seen.names(seen.leaders)):
        rows.append(("best now", f"{listed(best)}: later data disagree"))
    return rows


def _evidence(seen: Overview, progress: StudyProgress) -> list[tuple[str, str]]:
    from mislid.forecast.simulate import forecast_words

    rows, only = list[tuple[str, str]](), " (no answer yet)"
    if seen.decision is not None:  # which the data contradict
        rows, only = [("answer", f"{listed(seen.names(seen.leaders))}, {NO_PROOF}")], ""
    if progress.best_now:
        rows.append(("best now", f"{listed(progress.best_now)}{only}"))
    if progress.pair is not None:
        rows.append(("limiting pair", "{} against {}".format(*progress.pair)))
    if progress.statistic is not None:
        needed = number(progress.threshold or 0.0)
        rows.append(("evidence", f"{number(progress.statistic)} of {needed}"))
    rows.append(("forecast", forecast_words(progress)))
    if progress.lower_bound is not None and math.isfinite(progress.lower_bound):
        rows.append(("any method needs", f"about {number(progress.lower_bound)} in all"))
    return rows
