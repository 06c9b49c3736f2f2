"""A picture of how many measurements a study will take, as asked and for other questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mislid._formatting import number, roughly, the_best, whole
from mislid.forecast.overview import Overview
from mislid.forecast.progress import StudyProgress, WhatIf
from mislid.plotting.study import refuse_other_overviews
from mislid.plotting.theme import (
    BEST,
    CONTRAST,
    INK,
    REST,
    drawing,
    new_figure,
    only_rows,
    scale,
    shorten,
)
from mislid.study.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AS_ASKED = "as asked"
_LONGEST = 40


class Forecast(NamedTuple):
    """Measurements to go, with a range; infinite where nobody knows, for the reason in `note`."""

    question: str
    more: float
    low: float
    high: float
    note: str

    @classmethod
    def of(cls, question: str, given: StudyProgress | WhatIf) -> Forecast:
        """What a study foresees for a question."""
        more, low, high = (
            math.inf if value is None else float(value)
            for value in (given.more, given.more_low, given.more_high)
        )
        return cls(question, more, low, high, given.note)

    @property
    def is_done(self) -> bool:
        """Whether no more are needed."""
        return self.more <= 0.0


def forecasts_of(overview: Overview) -> list[Forecast]:
    """For the question as asked, first, and for others.

    What is decided decides easier questions, too. The data alone may not, without the pairs that
    were settled on the way.
    """
    others = []
    for one in overview.what_ifs:
        words = _question(one, overview.settings)
        implied = overview.decided and _is_easier(one, overview.settings)
        others.append(Forecast(words, 0, 0, 0, "") if implied else Forecast.of(words, one))
    return [Forecast.of(AS_ASKED, overview.progress), *others]


def _is_easier(given: WhatIf, settings: Settings) -> bool:
    """Whether an answer to the study's own question is one to this, as surely."""
    return (
        given.m == settings.m
        and given.delta >= settings.delta
        and given.tolerance >= settings.tolerance
        and given.misspecification <= settings.misspecification
    )


def _shown_bound(overview: Overview) -> float | None:
    """The least for any method, unless measurements or the forecast say that fewer will do.

    It is an average over studies whose means are as estimated now, and an early estimate may be a
    near tie.
    """
    progress = overview.progress
    bound, high = progress.lower_bound, progress.more_high
    if bound is None or overview.decided:
        return None
    return bound if high is None or bound <= progress.samples + high else None


def draw_forecast(overview: Overview) -> Figure | None:
    """A row for every question: measurements in all, with a range.

    Parameters
    ----------
    overview
        What `Study.overview` gives.

    Returns
    -------
    matplotlib.figure.Figure or None
        None where nothing was measured, there are no forecasts, no question needs more
        measurements, or the data contradict what was declared.

    Raises
    ------
    ProblemError
        Where it is no overview, such as the study itself.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=2, noise=1.0)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 1.4)] * 9)
    >>> (axes,) = draw_forecast(study.overview()).axes
    >>> [label.get_text() for label in axes.get_yticklabels()][:4]
    ['as asked', 'error rate 0.1', 'error rate 0.01', 'the best instead of 2']
    """
    refuse_other_overviews(overview)
    if overview.samples == 0 or overview.forecaster is None or overview.contradictions:
        return None
    rows = forecasts_of(overview)
    if all(row.question == AS_ASKED and row.is_done for row in rows):
        return None
    with drawing():
        figure = new_figure(0.34 * len(rows) + 1.25)
        _plot_forecasts(figure.subplots(), rows, overview.samples, _shown_bound(overview))
        return figure


def _plot_forecasts(
    axes: Axes, rows: Sequence[Forecast], now: int, bound: float | None = None
) -> None:
    """Expected measurements with their ranges, the present number and the least for any method.

    A range without an end leads out of the picture.
    """
    ends = [now + value for row in rows for value in (row.low, row.more, row.high)]
    scale(axes, "x", [*ends, now, bound or 0.0])
    end = axes.get_xlim()[1]
    for at, row in enumerate(rows):
        colour = BEST if row.question == AS_ASKED else REST
        if not row.is_done and math.isfinite(row.low):
            axes.hlines(
                at, now + row.low, min(now + row.high, end), color=colour, lw=5.0, alpha=0.4
            )
            axes.plot([now + row.more], [at], "o", color=colour, ms=6.0, zorder=3)
        if not row.is_done and math.isinf(row.high):
            axes.plot([end], [at], ">", color=colour, ms=7.0, zorder=3, clip_on=False)
        axes.annotate(
            _in_words(row),
            (1.0, at),
            xycoords=axes.get_yaxis_transform(),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=INK,
        )
    axes.axvline(now, color=INK, lw=1.0, ls=":", zorder=1, label=f"now: {whole(now)}")
    if bound is not None and 0.0 < bound < math.inf:
        name = f"least for any method: {whole(bound)}"
        axes.axvline(bound, color=CONTRAST, lw=1.0, ls="--", zorder=1, label=name)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderpad=0.0)
    axes.set_yticks(range(len(rows)), [row.question for row in rows])
    axes.get_yticklabels()[0].set(color=INK, fontweight="bold")
    only_rows(axes, len(rows))
    axes.set_xlabel("measurements in all")


def _in_words(row: Forecast) -> str:
    """How many more, in a few words."""
    if row.is_done:
        return "enough by now"
    if math.isfinite(row.high):
        return f"{roughly(row.more)} more ({roughly(row.low)} to {roughly(row.high)})"
    if math.isfinite(row.more):
        return f"{roughly(row.more)} more (at least {roughly(row.low)})"
    early, colon, _ = row.note.partition(":")
    if colon or math.isinf(row.low):
        return shorten(early or "no end in sight", _LONGEST)
    return f"at least {roughly(row.low)} more"


def _question(given: WhatIf, settings: Settings) -> str:
    """How a question differs from the study's own, in words."""
    parts = {
        "m": f"{the_best(given.m)} instead of {settings.m}",
        "delta": f"error rate {number(given.delta)}",
        "tolerance": f"tolerance {number(given.tolerance)}",
        "misspecification": f"misspecification {number(given.misspecification)}",
    }
    changed = [words for name, words in parts.items() if name in given.changed]
    return ", ".join(changed) or AS_ASKED
