"""`mislid study now`, `threshold` and `ranking`: what the data say by now, whenever one looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import printed
from mislid.cli.output import as_json, as_table, number
from mislid.cli.study._opening import as_value, open_study, study_command
from mislid.cli.study._words import counted, listed, print_facts, rows_text

if TYPE_CHECKING:
    from mislid.forecast import Ranking, ResultNow, Threshold

# Open pairs that a table shows.
_PAIRS = 5


@study_command("now", "mislid study now potency", "mislid study now potency --format json")
@printed()
def now_command(name: str, storage: str | None, form: str) -> None:
    """Print the best answer of study NAME so far with its anytime p-value: what to report when
    measuring ends before the study has decided.
    """
    with open_study(name, storage) as study:
        found = study.result_now()
    facts = {"study": name, **found.to_dict(), "statement": found.statement}
    if form == "csv":
        facts["pairs"] = [" against ".join(map(str, pair)) for pair in found.pairs]
    print_facts(form, facts, _now_table(name, found))


def _now_table(name: str, found: ResultNow) -> list[tuple[str, str]]:
    lines = [
        ("study", name),
        ("best so far", listed(found.answer)),
        ("p-value", f"{found.p_value:.3g}" if found.answer else "-"),
        ("measurements", f"{found.samples:,}"),
    ]
    if found.largest is not None:
        lines.append(("proved up to", f"misspecification {number(found.largest)}"))
    if found.smallest > 0.0:
        lines.append(("refuted below", f"misspecification {number(found.smallest)}"))
    lines += [("open", f"{one} against {other}") for one, other in found.pairs[:_PAIRS]]
    if len(found.pairs) > _PAIRS:
        lines.append(("", f"and {counted(len(found.pairs) - _PAIRS, 'more pair')}"))
    if found.contradicted:
        lines.append(("CONTRADICTED", "the data contradict what was declared: nothing is proven"))
    return lines


@study_command(
    "threshold",
    "mislid study threshold potency 0.5",
    "mislid study threshold potency -1.5 --format csv",
    signed=True,
)
@click.argument("value")
@printed()
def threshold_command(name: str, value: str, storage: str | None, form: str) -> None:
    """Print which candidates of study NAME are proved to have a mean above VALUE, which below, and
    which are open. It holds for all values at once and at all times with probability 1 - delta.
    """
    at = as_value(value)
    with open_study(name, storage) as study:
        found = study.threshold(at)
    if form == "json":
        click.echo(as_json({"study": name, **found.to_dict()}))
    elif form == "csv":
        click.echo(rows_text(form, _sides(found), ("candidate", "side")))
    else:
        table = [
            ("study", name),
            ("threshold", f"{found.threshold:g}"),
            *((side, listed(getattr(found, side))) for side in ("above", "below", "open")),
        ]
        click.echo(as_table(table))


def _sides(found: Threshold) -> list[dict[str, Any]]:
    return [
        {"candidate": label, "side": side}
        for side in ("above", "below", "open")
        for label in getattr(found, side)
    ]


@study_command(
    "ranking", "mislid study ranking potency", "mislid study ranking potency --format csv"
)
@printed()
def ranking_command(name: str, storage: str | None, form: str) -> None:
    """Print all candidates of study NAME, best first by their estimates, with the best and the
    worst place that each may have. It holds for all places at once and at all times with
    probability 1 - delta.
    """
    with open_study(name, storage) as study:
        found = study.ranking()
    if form == "json":
        click.echo(as_json({"study": name, **found.to_dict()}))
        return
    table = rows_text(form, _places(found), ("candidate", "best", "worst"))
    if form == "table":
        tops = listed([str(n) for n in found.tops])
        table = f"{table}\n\nproved: the n best are the first n of these, for n = {tops}"
    click.echo(table)


def _places(found: Ranking) -> list[dict[str, Any]]:
    return [
        {"candidate": label, "best": first, "worst": last}
        for label, (first, last) in zip(found.order, found.ranks, strict=True)
    ]
