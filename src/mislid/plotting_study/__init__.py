"""A study in pictures, and on one page of HTML.

`facts` and `evidence` compute what `contents` gathers, figures draw it, `page` writes it down.
"""

from mislid.plotting_study.candidates_figure import draw_candidates
from mislid.plotting_study.contents import Contents, gather
from mislid.plotting_study.evidence_figure import draw_evidence
from mislid.plotting_study.forecast_figure import draw_forecast
from mislid.plotting_study.page import report, write_report
from mislid.plotting_study.theme import as_png

__all__ = [
    "Contents",
    "as_png",
    "draw_candidates",
    "draw_evidence",
    "draw_forecast",
    "gather",
    "report",
    "write_report",
]
