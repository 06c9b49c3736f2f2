"""Pictures of runs and studies."""

from mislid.plotting.pictures import (
    draw_candidates,
    plot_counts,
    plot_proved,
    plot_runs,
)
from mislid.plotting.theme import as_png, save

__all__ = [
    "as_png",
    "draw_candidates",
    "plot_counts",
    "plot_proved",
    "plot_runs",
    "save",
]
