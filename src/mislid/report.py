"""A study as HTML: a summary for notebooks and the server, and a report on one page."""

from __future__ import annotations

import math
import os
import platform
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mislid import __version__
from mislid._formatting import (
    Html,
    element,
    listed,
    markup,
    measurements,
    moment,
    number,
    rate,
    table,
)
from mislid.errors import MislidError, ProblemError
from mislid.forecast.overview import Overview
from mislid.io import new_place, write_whole
from mislid.plotting import theme
from mislid.plotting.pictures import MOST, draw_candidates
from mislid.study import Study
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["write_report"]

# Most characters of a short answer.
SHORT = 90
# Settings that are shown without conversion.
SETTINGS = "m", "delta", "tolerance", "direction", "algorithm", "seed", "budget"


@cache
def style_sheet() -> str:
    """The content of report.css."""
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def fragment(overview: Overview) -> Html:
    """The HTML of a study's state, for notebooks."""
    name = element("p", element("strong", overview.name))
    return element("div", name, summary(overview, ahead=False))


def summary(overview: Overview, *, ahead: bool = True) -> Html:
    """Question, answer or progress, warnings and numbers; `ahead` adds the forecast."""
    m, settings = overview.settings.m, overview.settings
    largest = "largest mean" if settings.direction == MAXIMIZE else "smallest mean"
    asked = f"Which of {overview.K:,} candidates has the {largest}?"
    if m > 1:
        asked = f"Which {m:,} of {overview.K:,} candidates have the {largest}s?"
    if overview.contradictions:
        large, *rest = _contradicted(overview)
    elif overview.decision is not None:
        large, *rest = _decided(overview, overview.decision)
    else:
        large, *rest = _running(overview, ahead)
    return markup(
        element("p", asked, class_="note"),
        element("p", large, class_="answer long" if len(large) > SHORT else "answer"),
        *(element("p", text) for text in rest if text),
        _cautions(overview),
        _key_numbers(overview),
    )


def _names(overview: Overview, arms: tuple[int, ...]) -> str:
    return listed([str(label) for label in overview.names(arms)])


def _contradicted(overview: Overview) -> list[str]:
    sentences = ["The data contradict what was declared: nothing is proven."]
    sentences += [f"{words[:1].upper()}{words[1:]}." for words in overview.contradictions]
    if overview.decision is not None:
        names = _names(overview, overview.decision.answer)
        sentences.append(f"The study had decided for {names} before; this is not proven.")
    return sentences


def _decided(overview: Overview, decision: Decided) -> list[str]:
    settings, later = overview.settings, overview.samples - decision.samples
    promise = "there is no proof of how often it is wrong."
    if overview.rule.guaranteed:
        slack = f" by more than {number(settings.tolerance)}" if settings.tolerance > 0.0 else ""
        promise = (
            f"the probability that a better candidate was left out{slack} is proven to be at most "
            f"{rate(settings.error_rate)}, if the declared noise and misspecification hold."
        )
    agreement = "They agree with the answer."
    if set(overview.best_now) not in (set(), set(overview.leaders)):
        agreement = (
            f"By all measurements {_names(overview, overview.best_now)} would come first now; the "
            "answer stands, since later measurements never revoke it."
        )
    return [
        _names(overview, decision.answer),
        f"Decided after {measurements(decision.samples)} by the rule “{decision.rule}”: {promise}",
        f"{measurements(later).capitalize()} came later. {agreement}" if later else "",
    ]


def _running(overview: Overview, ahead: bool) -> list[str]:
    pending = overview.summary.pending
    trials = f"{pending:,} trial{' is' if pending == 1 else 's are'} open." if pending else ""
    if overview.samples == 0:
        return ["Nothing has been measured yet.", trials]
    so_far = f"{measurements(overview.samples)} so far"
    if not overview.best_now:
        missing = int((overview.counts == 0.0).sum())
        so_far += (
            f"; {missing:,} of {overview.K:,} candidates have not been measured, and there is no "
            "estimate before the first round is complete."
        )
        return ["Not decided yet.", so_far, trials]
    if ahead and overview.progress.statistic and overview.progress.threshold:
        evidence = overview.progress.statistic / overview.progress.threshold
        share = math.floor(100.0 * min(max(evidence, 0.0), 1.0))
        so_far += f" have brought {share}% of the evidence that the hardest pair needs"
    so_far += f". In front now: {_names(overview, overview.best_now)}."
    forecast = overview.progress.statement if ahead else ""
    forecast = f"{forecast[:1].upper()}{forecast[1:]}." if forecast else ""
    return ["Not decided yet.", so_far, forecast, trials]


def _key_numbers(overview: Overview) -> Html:
    bound = "≤ " if overview.proven else "wanted: "
    shown = {
        "state": overview.status,
        "measurements": f"{overview.samples:,}",
        "error rate": bound + rate(overview.settings.error_rate),
    }
    pairs = [
        element("div", element("dt", name), element("dd", value)) for name, value in shown.items()
    ]
    return element("dl", *pairs, class_="numbers")


def _cautions(overview: Overview) -> Html:
    """A box with the warnings; empty if there are none."""
    found = [(f"{one.kind.capitalize()}. ", one.message) for one in overview.warnings]
    if not overview.rule.guaranteed:
        words = (
            f"The stopping rule “{overview.rule.name}” comes without a proof: its answers may be "
            "wrong more often than the error rate asked for."
        )
        found.insert(0, ("No guarantee. ", words))
    if not found:
        return Html()
    items = [element("li", element("strong", kind), words) for kind, words in found]
    return element("div", element("ul", *items), class_="box", role="note")


def write_report(study: Study, path: str | os.PathLike[str]) -> None:
    """Write an HTML report on a study: answer, pictures, forecast, warnings and settings.

    The page shows one state of the study, even if values are reported meanwhile. The same log
    gives the same page.

    Parameters
    ----------
    study
        The study, which does not change.
    path
        The file to write. An existing one is replaced whole or not at all.

    Raises
    ------
    ProblemError
        `study` is not a study, or the path is a directory or in one that does not exist.
    MissingPackageError
        matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mislid
    >>> study = mislid.create_study(study_name="tea", candidates=["oolong", "sencha"], m=1, noise=1)
    >>> study.add_observations([("oolong", 6.0), ("sencha", 7.5)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(study, Path(folder) / "tea.html")
    ...     (Path(folder) / "tea.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    place = new_place(path)
    theme.require_matplotlib("a report")
    if not isinstance(study, Study):
        raise ProblemError(f"study must be a mislid.Study; got {type(study).__name__}")
    write_whole(place, page(study.overview()).encode())


def page(overview: Overview) -> str:
    """The report on one state of a study, as HTML."""
    sections: dict[str, Callable[[Overview], Html]] = {
        "Means and measurements": _candidates,
        "Misspecification": _sensitivity,
        "All candidates": _table,
        "Settings": _settings,
    }
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{overview.name}: a study"),
        element("style", Html(style_sheet())),
    )
    main = element(
        "main",
        element("h1", overview.name),
        summary(overview),
        *(_section(title, part, overview) for title, part in sections.items()),
    )
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{element("body", main)}\n</html>\n'


def _section(title: str, part: Callable[[Overview], Html], overview: Overview) -> Html:
    """A section of the page, or a sentence on why it is missing."""
    try:
        content = part(overview)
    except MislidError as problem:
        content = element("p", str(problem), class_="note")
    return element("section", element("h2", title), content) if content else content


def _picture(caption: str, figure: Figure, description: str) -> Html:
    """A figure as SVG with the colours and the font of the page.

    The first letter of the description makes the ids of figures on one page distinct.
    """
    name = description[0]

    def of_page(tag: re.Match[str]) -> str:
        text = tag.group().replace("xlink:", "")
        text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", text)
        text = re.sub(r"(font: [^;\"]*?px|font-family:) [^;\"]*", r"\1 var(--sans)", text)
        for colour in ("INK", "GREY", "RULE", "PAPER", "BEST", "REST", "CONTRAST"):
            text = text.replace(getattr(theme, colour), f"var(--{colour.lower()})")
        return text

    svg = re.sub(r"(?s)<!--.*?-->|<metadata>.*?</metadata>", "", theme.as_svg(figure))
    svg = re.sub(r'(?s)<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"<svg \1>", svg, count=1)
    svg = re.sub(r"<[^>]*>", of_page, svg)
    drawn = element("div", Html(svg), class_="picture", role="img", aria_label=description)
    return element("figure", element("figcaption", caption), drawn)


def _leaders(overview: Overview) -> str:
    return "the answer" if overview.decided else "those in front now"


def _candidates(overview: Overview) -> Html:
    level = rate(1.0 - overview.settings.error_rate)
    caption = (
        f"{_leaders(overview).capitalize()} first and in colour, then the others, best first. With "
        f"probability at least {level} all intervals hold the true means, at once and at all "
        "times, however candidates were chosen, if the declared noise and misspecification hold. "
    )
    if overview.K > MOST:
        caption += f" The first {MOST} of {overview.K:,} are drawn; all are in the table."
    figure = draw_candidates(overview)
    return _picture(caption, figure, "means with confidence intervals, and shares")


def _sensitivity(overview: Overview) -> Html:
    found = overview.sensitivity
    if found is None:
        return Html()
    words = f"By the present data: {found.statement}. Declared: {number(found.declared)}."
    if overview.decided and (found.largest is None or found.largest < found.declared):
        words += " The decision was made for the declared misspecification, and stands."
    return element("p", words)


def _table(overview: Overview) -> Html:
    heads = ["candidate", "measurements", "mean", "from", "to", "by the model"]
    heads.append("answer" if overview.decided else "in front")
    order, labels = overview.order.tolist(), overview.labels
    inside = ["in" if arm in overview.leaders else "" for arm in order]
    cells = []
    for arm, mark in zip(order, inside, strict=True):
        numbers = (overview.means[arm], *overview.intervals[arm], overview.estimates[arm])
        shown = [number(float(one)) if np.isfinite(one) else "" for one in numbers]
        cells.append((labels[arm], f"{overview.counts[arm]:,.0f}", *shown, "yes" if mark else ""))
    return table(heads, cells, inside)


def _settings(overview: Overview) -> Html:
    settings, rule = overview.settings, overview.rule
    given = {name: getattr(settings, name) for name in SETTINGS}
    shown = {name: str(value) for name, value in given.items() if value is not None}
    proof = f"proven: {rule.proof}" if rule.guaranteed else "no guarantee"
    features = overview.candidates.features
    number_of_features = 0 if features is None else features.shape[1]
    shown |= {
        "misspecification": str(settings.declared),
        "noise": settings.noise_words,
        "stopping": f"{rule.name} ({proof}): {rule.description}".replace("`", ""),
        "candidates": f"{overview.K:,} with {number_of_features} features",
        "created": moment(overview.summary.created),
        "last event": moment(overview.summary.updated),
        "written by": f"mislid {__version__}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}",
        "SHA-256 of the log": element("code", overview.fingerprint),
    }
    cells = [(name.replace("_", " "), value) for name, value in shown.items()]
    return table(("", ""), cells, class_="plain")
