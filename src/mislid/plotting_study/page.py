"""A study on one page that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

import dataclasses
import math
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from mislid import __version__
from mislid.errors import MissingPackageError, ProblemError
from mislid.files import write_whole
from mislid.plotting_study.candidates_figure import MOST, draw_candidates
from mislid.plotting_study.contents import Contents, gather
from mislid.plotting_study.evidence_figure import draw_evidence
from mislid.plotting_study.facts import Recorded
from mislid.plotting_study.forecast_figure import draw_forecast
from mislid.plotting_study.markup import Html, element, markup, table
from mislid.plotting_study.style import style_sheet
from mislid.plotting_study.summary import cautions, headline, key_figures, question
from mislid.plotting_study.theme import as_markup
from mislid.plotting_study.words import decimals, fixed, moment, number, rate, whole


def write_report(study: Recorded, path: str | os.PathLike[str]) -> None:
    """Write a page about a study: answer, pictures, forecast, warnings and settings.

    The same log gives the same page. The file is replaced whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import mislid
    >>> study = mislid.create_study(study_name="tea", candidates=["oolong", "sencha"], m=1)
    >>> study.add_observations([("oolong", 6.0), ("sencha", 7.5)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(study, Path(folder) / "tea.html")
    ...     (Path(folder) / "tea.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    place = _place(path)
    write_whole(place, report(study).encode())


def report(study: Recorded) -> str:
    """The page as a text."""
    try:
        import matplotlib as mpl  # noqa: F401 - said before anything is computed
    except ImportError:
        raise MissingPackageError(
            "a report needs matplotlib (pip install 'mislid[plots]')"
        ) from None
    return page(gather(study))


def page(contents: Contents) -> str:
    """The page about what was gathered."""
    facts = contents.facts
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{facts.name}: a study"),
        element("style", Html(style_sheet())),
    )
    main = element(
        "main",
        element("h1", f"{facts.name}: {question(contents)}"),
        headline(contents),
        cautions(contents),
        key_figures(contents),
        _candidates(contents),
        _evidence(contents),
        _forecast(contents),
        _dial(contents),
        _table(contents),
        _settings(contents),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{element("body", main)}\n</html>\n'


def _leaders(contents: Contents) -> str:
    return "the answer" if contents.decided else "those in front now"


def _section(title: str, *parts: str) -> Html:
    return element("section", element("h2", title), *parts)


def _figure(caption: str, *pictures: Html) -> Html:
    first, *rest = pictures
    shown = element("figure", element("figcaption", caption), first)
    return markup(shown, *(element("figure", picture) for picture in rest))


def _candidates(contents: Contents) -> Html:
    facts = contents.facts
    level = rate(1.0 - facts.settings.delta)
    caption = (
        f"Best first, {_leaders(contents)} in colour. Each interval holds its candidate's true "
        f"mean with probability at least {level} at all times at once, however candidates were "
        "chosen; they do not all have to hold together, and use neither features nor other "
        "candidates. "
    )
    if contents.optimal is not None:
        caption += "Optimal shares are those that would be best if the present estimates were true."
    elif contents.no_optimum:
        caption += f"The optimal shares were left out: {contents.no_optimum}."
    if facts.K > MOST:
        caption += f" The first {MOST} of {facts.K:,} are drawn; all are in the table."
    pictures = [
        as_markup(figure, "means with confidence intervals, and shares", f"c{at}")
        for at, figure in enumerate(draw_candidates(contents))
    ]
    return _section("Means and measurements", _figure(caption, *pictures))


def _evidence(contents: Contents) -> Html:
    history, figure = contents.history, draw_evidence(contents)
    if history is None or figure is None:
        return Html()
    caption = (
        f"For {_leaders(contents)} and every other candidate: how far the data are from a model in "
        "which the order is the other way round, as a share of the threshold of the rule "
        f"“{contents.rule.name}”. The study is decided when all reach 100%; what comes later is "
        "not drawn. Early evidence may fall: it also counts how badly a few measurements fit any "
        "model. "
    )
    if history.undrawn:
        caption += f"{history.undrawn:,} pairs that are further from the threshold are not drawn."
    return _section("Evidence", _figure(caption, as_markup(figure, "evidence over time", "e")))


def _forecast(contents: Contents) -> Html:
    figure = draw_forecast(contents)
    if figure is None:
        return _reason(contents, "Forecast", "progress")
    caption = (
        "Measurements in all, if the present estimates are about right: dots are expected, bars a "
        "range. The least that any method needs on average is for the question as asked."
    )
    heads = ("question", "more measurements", "from", "to", "")
    cells = [
        (row.question, *(whole(value) for value in (row.more, row.low, row.high)), row.note)
        for row in contents.outlook.forecasts
    ]
    return _section(
        "Forecast",
        _figure(caption, as_markup(figure, "forecast", "f")),
        table(heads, cells, text=(4,)),
    )


def _dial(contents: Contents) -> Html:
    dial = contents.outlook.dial
    if dial is None:
        return _reason(contents, "Misspecification", "sensitivity")
    if dial.largest is None:
        words = "The present data decide for no misspecification, not even for 0."
    else:
        up_to = f"up to a misspecification of {number(dial.largest)}"
        words = "The present data decide "
        words += "without any structure" if math.isinf(dial.largest) else up_to
        words += f"; {number(dial.declared)} was declared."
    if getattr(dial, "smallest", 0.0) > 0.0:
        words += f" They contradict any below {number(getattr(dial, 'smallest', 0.0))}."
    rows = list(dial.table)
    cells = [
        (
            number(row.misspecification),
            ", ".join(str(label) for label in row.answer or ()),
            number(row.statistic),
            number(row.threshold),
            _verdict(row),
        )
        for row in rows
    ]
    marks = ["in" if row.misspecification == dial.declared else "" for row in rows]
    heads = ("if it were", "answer", "evidence", "threshold", "decided")
    return _section(
        "Misspecification", element("p", words), table(heads, cells, marks, text=(1, 4))
    )


def _verdict(row: Any) -> str:
    if getattr(row, "contradicted", False):
        return "contradicted by the data"
    return "yes" if row.decided else "no"


def _reason(contents: Contents, title: str, method: str) -> Html:
    reason = contents.outlook.reasons.get(method)
    return Html() if reason is None else _section(title, element("p", reason, class_="note"))


def _table(contents: Contents) -> Html:
    facts, estimates = contents.facts, contents.estimates
    places = decimals(facts.half_widths.tolist(), 2)
    heads = ["candidate", "measurements", "mean", "from", "to", "by the model", "answer"]
    heads[-1] = "answer" if contents.decided else "in front"
    cells = []
    for arm in contents.order.tolist():
        mean, half = float(facts.means[arm]), float(facts.half_widths[arm])
        measured = facts.counts[arm] > 0.0
        numbers = (mean, mean - half, mean + half) if measured else ()
        shown = [fixed(value, places) for value in numbers] or [""] * 3
        estimate = "" if np.isnan(estimates[arm]) else fixed(float(estimates[arm]), places)
        inside = "yes" if arm in contents.answer else ""
        cells.append((facts.labels[arm], f"{facts.counts[arm]:,.0f}", *shown, estimate, inside))
    marks = ["in" if arm in contents.answer else "" for arm in contents.order.tolist()]
    return _section("All candidates", table(heads, cells, marks))


def _settings(contents: Contents) -> Html:
    facts, rule = contents.facts, contents.rule
    shown = {
        field.name: _setting(getattr(facts.settings, field.name))
        for field in dataclasses.fields(facts.settings)
        if (field.name, getattr(facts.settings, field.name)) != ("mean_bound", math.inf)
    }
    proof = f"proven: {rule.proof}" if rule.guaranteed else "no guarantee"
    shown["stopping"] = f"{rule.name} ({proof}): {rule.description}".replace("`", "")
    features = facts.candidates.features
    shown |= {
        "candidates": f"{facts.K:,}, "
        + ("without features" if features is None else f"with {features.shape[1]} features"),
        "created": moment(facts.created),
        "last event": moment(facts.updated),
        "written by": f"mislid {__version__}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}",
    }
    hashes = {"SHA-256 of the candidates": facts.candidates_fingerprint}
    hashes["SHA-256 of the log"] = facts.fingerprint
    cells = [(name.replace("_", " "), value) for name, value in shown.items()]
    cells += [(name, element("code", value)) for name, value in hashes.items()]
    return _section("Settings", table(("", ""), cells, class_="plain"))


def _setting(value: Any) -> str:
    """A setting in words; of one number per candidate, the range."""
    if isinstance(value, tuple):
        low, high = min(value), max(value)
        return number(low) if low == high else f"{number(low)} to {number(high)}, by candidate"
    return number(value) if isinstance(value, float) else str(value)


def _place(path: Any) -> Path:
    try:
        place = Path(path)
    except TypeError:
        raise ProblemError(f"path must be a string or a path; got {path!r}") from None
    if place.is_dir() or not place.parent.is_dir():
        raise ProblemError(
            f"path must name a file in an existing directory; got {str(place)!r}, "
            + ("a directory" if place.is_dir() else "whose directory does not exist")
        )
    return place
