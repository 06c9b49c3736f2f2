"""The pictures of a report, by what they show."""

from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from mislid.forecast.overview import Overview
from mislid.plotting import as_png, draw_candidates, draw_evidence
from mislid.plotting.theme import BEST, CONTRAST, REST


def names(axes: Any) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def intervals(axes: Any) -> dict[float, list[float]]:
    """By row, the ends of the interval drawn there."""
    lines = [line for group in axes.collections[1:] for line in group.get_segments()]
    return {float(line[0, 1]): line[:, 0].tolist() for line in lines if len(line)}


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts on top of each other."""
    as_png(figure, 50)
    texts = [text for axes in figure.axes for text in axes.texts]
    texts += [label for axes in figure.axes[:1] for label in axes.get_yticklabels()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    # Fonts differ between screens; what touches here by less than a pixel is apart elsewhere.
    return [
        (one, other)
        for at, (one, box) in enumerate(boxes)
        for other, second in boxes[:at]
        if box.padded(-0.5).overlaps(second.padded(-0.5))
    ]


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


def test_every_pair_has_a_line_and_the_hardest_one_is_bold(running_overview: Overview) -> None:
    figure, seen = draw_evidence(running_overview), running_overview.history
    assert figure is not None
    assert seen is not None
    (axes,) = figure.axes
    curves = [line for line in axes.lines if len(line.get_xdata()) == len(seen.times)]
    bold = [line for line in curves if line.get_linewidth() > 2.0]
    assert (len(curves), len(bold)) == (len(seen.pairs), 1) == (6, 1)
    np.testing.assert_array_equal(bold[0].get_ydata(), seen.shares[:, 0])
    challenger, incumbent = (running_overview.labels[arm] for arm in seen.pairs[0])
    texts = [text.get_text() for text in axes.texts]
    assert len(texts) == 6
    assert any(text.startswith(f"{incumbent} before {challenger}: ") for text in texts)
    threshold = next(line for line in axes.lines if list(line.get_ydata()) == [1.0, 1.0])
    assert to_hex(threshold.get_color()) == CONTRAST
    assert overlapping(figure) == []
