"""The pictures of a report, by what they show."""

from typing import Any

import numpy as np
from matplotlib.colors import to_hex

from mislid.forecast.overview import Overview
from mislid.plotting import draw_candidates
from mislid.plotting.theme import BEST, REST


def names(axes: Any) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def intervals(axes: Any) -> dict[float, list[float]]:
    """By row, the ends of the interval drawn there."""
    lines = [line for group in axes.collections[1:] for line in group.get_segments()]
    return {float(line[0, 1]): line[:, 0].tolist() for line in lines if len(line)}


def test_means_intervals_and_estimates_are_in_rows_best_first(decided_overview: Overview) -> None:
    figure = draw_candidates(decided_overview)
    left = figure.axes[0]
    order = decided_overview.order
    assert names(left) == [decided_overview.labels[arm] for arm in order]
    assert names(left)[0] == "c"
    drawn = intervals(left)
    for row, arm in enumerate(order):
        np.testing.assert_allclose(drawn[row], decided_overview.intervals[arm])
    estimates = next(line for line in left.lines if line.get_marker() == "D")
    np.testing.assert_array_equal(estimates.get_xdata(), decided_overview.estimates[order])
    colours = [to_hex(group.get_colors()[0]) for group in left.collections[1:]]
    assert colours == [BEST, REST]
