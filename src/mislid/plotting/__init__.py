"""Pictures: of one run, of many, of representations, and of a study.

Each function draws on matplotlib axes, gives figures, or saves a file; `theme` has what they share.
"""

from mislid.plotting.forecast import draw_forecast
from mislid.plotting.run import plot_counts, plot_proved
from mislid.plotting.runs import plot_runs, save_runs
from mislid.plotting.study import draw_candidates, draw_evidence
from mislid.plotting.theme import as_png, save
from mislid.plotting.trade_off import draw_trade_off

__all__ = [
    "as_png",
    "draw_candidates",
    "draw_evidence",
    "draw_forecast",
    "draw_trade_off",
    "plot_counts",
    "plot_proved",
    "plot_runs",
    "save",
    "save_runs",
]
