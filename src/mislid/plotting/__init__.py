"""Pictures of runs and studies."""

from mislid.plotting.runs import plot_counts, plot_proved, plot_runs, save_runs
from mislid.plotting.study import draw_candidates
from mislid.plotting.theme import as_png, save

__all__ = [
    "as_png",
    "draw_candidates",
    "plot_counts",
    "plot_proved",
    "plot_runs",
    "save",
    "save_runs",
]
