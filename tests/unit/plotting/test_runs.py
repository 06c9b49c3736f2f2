"""The box plot of many runs, by what it shows."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from mislid.plotting import plot_runs
from mislid.plotting.theme import BEST, CONTRAST, INK
from mislid.simulation.replicate import Row


def rows(samples, wrong=0):
    return [Row(i, int(n), i >= wrong, "stopped", 0.1) for i, n in enumerate(samples)]


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


GROUPS = {"good": rows(range(100, 140)), "bad": rows(range(200, 240), wrong=3)}


def boxes(axes):
    return [to_hex(patch.get_edgecolor()) for patch in axes.patches]


def test_boxes_over_delta_are_red_and_others_are_not(axes):
    plot_runs(axes, GROUPS, 0.05)
    assert boxes(axes) == [BEST, CONTRAST]
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == ["good", "bad"]
    assert [to_hex(label.get_color()) for label in labels] == [INK, CONTRAST]


def test_runs_without_an_answer_are_not_errors(axes):
    plot_runs(axes, {"tired": [Row(0, 100, None, "budget exhausted", 0.1)]}, 0.05)
    assert boxes(axes) == [BEST]
    labels = axes.child_axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["1 runs, mean 100, 0.0% wrong"]


def test_boxes_hold_the_middle_half_and_whiskers_nine_tenths(axes):
    plot_runs(axes, {"one": rows(range(101))}, 0.05)
    (box,) = axes.patches
    assert (box.get_x(), box.get_x() + box.get_width()) == (25, 75)
    lines = [drawn for drawn in axes.collections if isinstance(drawn, LineCollection)]
    across, caps, median = (line.get_segments() for line in lines)
    np.testing.assert_allclose([end[:, 0] for end in across], [[5, 25], [75, 95]])
    np.testing.assert_allclose([end[:, 0] for end in caps], [[5, 5], [95, 95]])
    np.testing.assert_allclose(median[0][:, 0], [50, 50])
