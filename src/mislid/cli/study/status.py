"""`mislid study status`: how far a study is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.output import as_csv, as_json
from mislid.cli.study._opening import name_argument, open_study, storage_option
from mislid.cli.study._state_of import evidence, facts_of, forecast, table_of
from mislid.cli.study._words import csv_cells

if TYPE_CHECKING:
    from mislid.study import Study

UNDECIDED = 3
pause = time.sleep
Facts = dict[str, Any]


@click.command(
    "status",
    epilog=examples(
        "mislid study status potency",
        "mislid study status potency --watch",
        "until mislid study status potency --exit-code; do measure-one-more; done",
    ),
)
@name_argument
@storage_option
@click.option(
    "--exit-code", is_flag=True, help=f"Exit status {UNDECIDED} while the study has not decided."
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
@format_option
@one_sentence_errors
def command(
    name: str, storage: str | None, exit_code: bool, seconds: float | None, form: str
) -> int:
    """Print how far study NAME is: measurements, the best by now, the pair that limits it, how much
    evidence it has and needs, how many more measurements that may take, and warnings.

    With --watch a terminal shows it live; elsewhere every change is a line. Ctrl-C ends that with
    exit status 0, or 3 with --exit-code.
    """
    with open_study(name, storage) as study:
        facts = facts_of(study)
        if seconds is None:
            click.echo(_whole(form, facts))
        else:
            facts = _watch(study, facts, seconds, _View(form))
    return UNDECIDED if exit_code and facts["status"] != "decided" else 0


def _watch(study: Study, facts: Facts, seconds: float, view: Callable[[Facts], None]) -> Facts:
    """Show the facts whenever they have changed, until the study has decided."""
    seen = _mark(study)
    try:
        view(facts)
        while facts["status"] != "decided":
            pause(seconds)
            now = _mark(study)
            if now != seen:
                seen, facts = now, facts_of(study)
                view(facts)
    except KeyboardInterrupt:
        pass  # the way to end it
    return facts


def _mark(study: Study) -> tuple[Any, ...]:
    """What changes when anything does, and costs little to look at."""
    return study.samples, study.status, tuple(trial.id for trial in study.pending)


class _View:
    """Facts that are painted over on a terminal, else a line each time."""

    def __init__(self, form: str) -> None:
        self.form, self.height, self.begun = form, 0, False
        self.painting = form == "table" and sys.stdout.isatty()

    def __call__(self, facts: Facts) -> None:
        if self.painting:
            text = f"{table_of(facts)}\n\nat {time.strftime('%H:%M:%S')}; Ctrl-C to end"
            above = f"\033[{self.height}A\033[J" if self.height else ""
            self.height = text.count("\n") + 1
            click.echo(above + text, color=True)
        else:
            click.echo(self._line(facts))
        sys.stdout.flush()

    def _line(self, facts: Facts) -> str:
        if self.form == "table":
            return line_of(facts)
        text = _whole(self.form, facts)
        if self.form == "csv" and self.begun:
            text = text.partition("\n")[2]
        self.begun = True
        return text


def _whole(form: str, facts: Facts) -> str:
    if form == "json":
        return as_json(facts)
    if form == "csv":
        flat = facts | {"warnings": [warning["message"] for warning in facts["warnings"]]}
        return as_csv(list(flat), [csv_cells(flat)])
    return table_of(facts)


def line_of(facts: Facts) -> str:
    """One line about a study."""
    parts = [
        f"{facts['status']}{'' if facts['proven'] else ' (no proof)'}",
        f"{facts['samples']:,} measurements",
        f"{facts['pending']:,} pending",
    ]
    if facts["status"] == "decided":
        parts.append(f"answer {', '.join(map(str, facts['answer']))}")
    elif facts["statistic"] is not None and facts["threshold"] is not None:
        parts.append(f"evidence {evidence(facts)}")
        if facts["more"] is not None or facts["note"]:
            parts.append(forecast(facts))
    parts += [f"warning: {warning['message']}" for warning in facts["warnings"]]
    return "  ".join([time.strftime("%H:%M:%S"), *parts])
