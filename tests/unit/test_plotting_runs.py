"""The box plot of many runs, by what it shows."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from mislid.errors import ProblemError
from mislid.plotting_runs import DOT, FINE, OVER, plot_runs, save_runs
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
    assert boxes(axes) == [FINE, OVER]
    labels = axes.get_xticklabels()
    assert [label.get_text() for label in labels] == ["good\nwrong 0.0%", "bad\nwrong 7.5%"]
    assert [to_hex(label.get_color()) for label in labels] == ["#000000", OVER]


def test_a_rate_of_delta_itself_is_allowed(axes):
    plot_runs(axes, {"edge": rows(range(100, 140), wrong=2)}, 0.05)
    assert boxes(axes) == [FINE]


def test_runs_without_an_answer_are_not_errors(axes):
    plot_runs(axes, {"tired": [Row(0, 100, None, "budget exhausted", 0.1)]}, 0.05)
    assert boxes(axes) == [FINE]
    assert "1 run;" in axes.get_title()


def test_every_run_is_a_grey_dot(axes):
    plot_runs(axes, GROUPS, 0.05)
    for dots, group in zip(axes.collections, GROUPS.values(), strict=True):
        np.testing.assert_array_equal(dots.get_offsets()[:, 1], [row.samples for row in group])
        assert to_hex(dots.get_facecolor()[0]) == DOT


def test_the_mean_is_marked_and_written(axes):
    plot_runs(axes, GROUPS, 0.05)
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert [line.get_ydata()[0] for line in diamonds] == [119.5, 219.5]
    assert [text.get_text() for text in axes.texts] == ["120", "220"]


@pytest.mark.parametrize(("largest", "scale"), [(2_900, "linear"), (3_100, "log")])
def test_a_wide_spread_is_shown_on_a_log_scale(axes, largest, scale):
    plot_runs(axes, {"one": rows([100, largest])}, 0.05)
    assert axes.get_yscale() == scale
    if scale == "linear":
        assert axes.get_ylim()[0] == 0


def test_long_names_are_broken(axes):
    plot_runs(axes, {"mislid with all its tricks": rows([100])}, 0.05)
    assert max(map(len, axes.get_xticklabels()[0].get_text().split("\n"))) <= 14


@pytest.mark.parametrize("groups", [{}, {"none": []}])
def test_nothing_to_draw_is_refused(axes, groups):
    with pytest.raises(ProblemError, match="at least one algorithm"):
        plot_runs(axes, groups, 0.05)


def test_a_picture_is_saved(tmp_path):
    save_runs(tmp_path / "figure.png", GROUPS, 0.05)
    assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"
