"""Pictures of runs, studies and representations."""

from mislid.plotting.runs import plot_counts, plot_proved, plot_runs, save_runs
from mislid.plotting.study import draw_candidates, draw_evidence
from mislid.plotting.theme import as_png, save
from mislid.plotting.trade_off import draw_trade_off

__all__ = [
    "as_png",
    "draw_candidates",
    "draw_evidence",
    "draw_trade_off",
    "plot_counts",
    "plot_proved",
    "plot_runs",
    "save",
    "save_runs",
]
