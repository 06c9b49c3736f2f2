"""`mislid study status`: how far a study is."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from mislid._words import moment, the_best
from mislid.cli.options import flag, printed
from mislid.cli.output import as_table, number
from mislid.cli.study._opening import open_study, study_command
from mislid.cli.study._words import NO_PROOF, facts_text, listed

if TYPE_CHECKING:
    from mislid.forecast import StudyProgress, WhatIf
    from mislid.forecast.overview import Overview
    from mislid.study import Study
    from mislid.study.state import Correction, Withdrawal

UNDECIDED, CONTRADICTED = 3, 4
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
@printed()
def command(
    name: str,
    storage: str | None,
    exit_code: bool,
    seconds: float | None,
    skipping: bool,
    form: str,
) -> int:
    """Print how far study NAME is: measurements, the best by now, the pair that limits it, how much
    evidence it has and needs, how many more measurements that may take, and warnings.

    With --watch a terminal shows it live; elsewhere every change is a line. Ctrl-C ends that with
    exit status 0, or 3 with --exit-code.
    """
    with open_study(name, storage) as study:
        seen = study.overview()
        if seconds is None:
            _look_ahead(seen, skipping)
            click.echo(_whole(form, seen))
        else:
            seen = watch(study, seen, seconds, View(form, skipping))
    if not exit_code or seen.decided:
        return 0
    return CONTRADICTED if seen.contradictions else UNDECIDED


def watch(
    study: Study, seen: Overview, seconds: float, show: Callable[[Overview], None]
) -> Overview:
    """Show the study whenever its log has grown, until it has decided; gives what was seen last."""
    try:
        show(seen)
        while not seen.decided:
            pause(seconds)
            now = study.overview()
            if now.events != seen.events:
                seen = now
                show(seen)
    except KeyboardInterrupt:
        pass  # the way to end it
    return seen


class View:
    """A table that is painted over on a terminal, else a line each time."""

    def __init__(self, form: str, skipping: bool = False) -> None:
        self.form, self.skipping, self.height, self.begun = form, skipping, 0, False
        self.painting = form == "table" and sys.stdout.isatty()

    def __call__(self, seen: Overview) -> None:
        """Show the study as it is now."""
        _look_ahead(seen, self.skipping)
        if self.painting:
            text = f"{_table(seen)}\n\nat {moment(time.time())}; Ctrl-C to end"
            above = f"\033[{self.height}A\033[J" if self.height else ""
            self.height = text.count("\n") + 1
            click.echo(above + text, color=True)
        else:
            click.echo(self._line(seen))
        sys.stdout.flush()

    def _line(self, seen: Overview) -> str:
        if self.form == "table":
            return _line(seen)
        text = _whole(self.form, seen)
        if self.form == "csv" and self.begun:
            text = text.partition("\n")[2]
        self.begun = True
        return text


def _on_terminal() -> bool:
    return sys.stderr.isatty()


def _look_ahead(seen: Overview, skipping: bool) -> None:
    """Simulate the rest of the study under a bar on stderr, if that is a terminal; or skip it."""
    if skipping:
        seen.without_forecast()
    elif _on_terminal() and not seen.decided and seen.forecaster is not None:
        from tqdm import tqdm

        count = seen.forecaster.simulations()
        with tqdm(total=count, desc="forecast", unit="run", leave=False, delay=0.5) as bar:
            seen.forecast(bar.update)


def _whole(form: str, seen: Overview) -> str:
    if form == "table":
        return _table(seen)
    facts = seen.to_dict()
    if form == "csv":
        facts["warnings"] = [warning.message for warning in seen.warnings]
    return facts_text(form, facts)


def _line(seen: Overview) -> str:
    """One line about a study."""
    parts = [
        f"{seen.summary.status}{'' if seen.proven else f' ({NO_PROOF})'}",
        f"{seen.samples:,} measurements",
        f"{seen.summary.pending:,} pending",
    ]
    if seen.decided:
        parts.append(f"answer {listed(seen.names(seen.leaders))}")
    elif seen.progress.statistic is not None:
        parts += [f"evidence {_evidence(seen.progress)}", forecast_words(seen.progress)]
    parts += list(seen.contradictions)
    parts += [f"warning: {warning.message}" for warning in seen.warnings]
    return "  ".join([moment(time.time()), *parts])


def _table(seen: Overview) -> str:
    from mislid.forecast.overview import guarantee

    label = "" if seen.proven or not (seen.decided or seen.contradictions) else f", {NO_PROOF}"
    rows = [
        ("study", seen.name),
        ("status", f"{seen.summary.status}{label}"),
        ("question", f"{the_best(seen.settings.m)} of {seen.K} candidates"),
        ("guarantee", guarantee(seen.settings, contradicted=bool(seen.contradictions))),
        ("measurements", f"{seen.samples:,}"),
        *_budget(seen),
        *_cost(seen.progress),
        *_changes(seen),
        ("pending trials", f"{seen.summary.pending:,}"),
        *(_answer(seen) if seen.decided else _doubts(seen)),
        *_proved(seen),
        *(("CONTRADICTED", words) for words in seen.contradictions),
        *(("withdrawn", _withdrawn(seen, one)) for one in seen.withdrawn),
        *(("corrected", _corrected(seen, one)) for one in seen.corrections[-MOST_CORRECTIONS:]),
        *(("warning", warning.message) for warning in seen.warnings),
    ]
    return as_table(rows)


def _proved(seen: Overview) -> list[tuple[str, str]]:
    """For which misspecifications the answer is proved, and which ones are refuted."""
    if seen.proved is None:
        return []
    largest, smallest = seen.proved
    words = "no misspecification" if largest is None else "every misspecification"
    if largest is not None and largest < smallest:
        words = "no misspecification that the data allow"
    elif largest is not None and math.isfinite(largest):
        words += f" up to {number(largest)}"
    return [("proved for", words), ("refuted", f"any below {number(smallest)}")]


def _withdrawn(seen: Overview, one: Withdrawal) -> str:
    answer = listed(seen.registered(one.decision.answer))
    return f"the decision for {answer} after {one.decision.samples:,} measurements: {one.cause}"


def _corrected(seen: Overview, one: Correction) -> str:
    """What was mended."""
    label = seen.registered((one.of.arm,))[0]
    was, now = ("void" if value is None else f"{value:g}" for value in (one.was, one.value))
    why = "" if one.reason is None else f" ({one.reason})"
    return f"{one.what}, {label}: {was} is now {now}{why}"


def _cost(progress: StudyProgress) -> list[tuple[str, str]]:
    """What was spent, and what is to be expected."""
    if progress.spent is None:
        return []
    words = f"{number(progress.spent)} by now"
    if progress.more_cost:
        low, high = progress.more_cost_low, progress.more_cost_high
        span = f"{number(low or 0.0)} to {'?' if high is None else number(high)}"
        words += f", about {number(progress.more_cost)} to go ({span})"
    return [("cost", words)]


def _changes(seen: Overview) -> list[tuple[str, str]]:
    """Candidates that came, left, or cannot be measured any more."""
    census, settings = seen.census, seen.settings
    groups = {
        "added": census.late,
        "left": census.gone,
        "not measured now": census.closed - census.gone,
    }
    rows = [(name, listed(seen.registered(sorted(arms)))) for name, arms in groups.items() if arms]
    if settings.promised is not None:
        words = (
            f"{settings.delta:.3g} of {settings.error_rate:g}; changes after a look took the rest"
        )
        rows.append(("delta left", words))
    return rows


def _budget(seen: Overview) -> list[tuple[str, str]]:
    left = seen.settings.budget_left(seen.samples)
    if left is None:
        return []
    said = f"{left:,} left" if left else "used up: `mislid study now` says what to report"
    return [("budget", f"{seen.settings.budget:,}, {said}")]


def _answer(seen: Overview) -> list[tuple[str, str]]:
    rows = [("answer", listed(seen.names(seen.leaders)))]
    best = seen.names(seen.best_now)
    if best and set(best) != set(seen.names(seen.leaders)):
        rows.append(("best now", f"{listed(best)}: later data disagree"))
    return rows


def _doubts(seen: Overview) -> list[tuple[str, str]]:
    progress, rows, only = seen.progress, list[tuple[str, str]](), " (no answer yet)"
    if seen.decision is not None:  # which the data contradict
        rows, only = [("answer", f"{listed(seen.names(seen.leaders))}, {NO_PROOF}")], ""
    if progress.best_now:
        rows.append(("best now", f"{listed(progress.best_now)}{only}"))
    if progress.pair is not None:
        challenger, incumbent = progress.pair
        rows.append(("limiting pair", f"{challenger} against {incumbent}"))
    if progress.statistic is not None:
        rows.append(("evidence", _evidence(progress)))
    rows.append(("forecast", forecast_words(progress)))
    if progress.lower_bound is not None and math.isfinite(progress.lower_bound):
        rows.append(("any method needs", f"about {number(progress.lower_bound)} in all"))
    return rows


def _evidence(progress: StudyProgress) -> str:
    """What the limiting pair has, and what it needs."""
    return " of ".join(number(value or 0.0) for value in (progress.statistic, progress.threshold))


def forecast_words(given: StudyProgress | WhatIf) -> str:
    """How many measurements are to go, where None is beyond what can be said.

    >>> from mislid.forecast import StudyProgress
    >>> forecast_words(StudyProgress(9, 40, 20, 90, ""))
    'about 40 more measurements (20 to 90)'
    >>> forecast_words(StudyProgress(9, None, 20, None, "too far"))
    'at least 20 more measurements (too far)'
    >>> forecast_words(StudyProgress(9, 1, 1, None, ""))
    'about 1 more measurement (at least 1)'
    >>> forecast_words(StudyProgress(9, None, 0, None, "no forecast"))
    'no forecast'
    """
    low, high = number(given.more_low), given.more_high
    if given.more is None and given.more_low == 0:
        return given.note
    if given.more is None:
        return f"at least {_more(given.more_low)}" + (f" ({given.note})" if given.note else "")
    span = f"at least {low}" if high is None else f"{low} to {number(high)}"
    return f"about {_more(given.more)} ({span})"


def _more(n: int) -> str:
    return f"{number(n)} more measurement{'' if n == 1 else 's'}"
