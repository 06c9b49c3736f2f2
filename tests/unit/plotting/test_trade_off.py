"""Pictures of a trade-off, by what they show."""

import math

import matplotlib as mpl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from mislid.plotting import plot_misspecification, plot_pulls, plot_time, save_trade_off
from mislid.plotting.theme import INK
from mislid.plotting.trade_off import COLOURS
from mislid.representation import Choice, TradeOff


def choice(order, d, pulls=10.0):
    return Choice(order, d, 0.4 / d, 0.3 / d, 2.0, pulls * d, 5.0 * d, 100.0 / d, 90.0 / d)


ROWS = tuple(choice(order, d) for order in COLOURS for d in (1, 2, 3))
TRADE_OFF = TradeOff(4, ROWS, 120.0)


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def drawn(axes):
    """Colour and style of each line with more than its legend's marks, and its heights."""
    return {
        (line.get_color(), line.get_linestyle()): list(line.get_ydata())
        for line in axes.lines
        if line.get_marker() == "o"
    }


@pytest.mark.parametrize(
    ("plot", "solid", "dashed", "label"),
    [
        (
            plot_misspecification,
            "misspecification",
            "least_misspecification",
            "largest absolute error",
        ),
        (plot_time, "time", "least_time", "characteristic time"),
        (plot_pulls, "pulls", "white_pulls", "pulls"),
    ],
)
def test_every_choice_is_a_point(axes, plot, solid, dashed, label):
    plot(axes, TRADE_OFF)
    expected = {
        (colour, style): [getattr(row, field) for row in TRADE_OFF.of(order)]
        for order, colour in COLOURS.items()
        for field, style in ((solid, "-"), (dashed, "--"))
    }
    assert drawn(axes) == expected
    assert axes.get_ylabel() == label
    assert axes.get_xlabel() == "number of features d"
    assert list(axes.get_xticks()) == [1, 2, 3]
    assert len(axes.get_legend().get_texts()) == 2


def test_the_time_without_features_is_a_line(axes):
    plot_time(axes, TRADE_OFF)
    assert [line.get_ydata()[0] for line in axes.lines if line.get_color() == INK] == [120.0]
    assert axes.get_ylim()[1] > 120.0
    assert "4 best" in axes.get_title()


def test_what_is_infinite_is_left_out(axes):
    rows = (*ROWS[:2], choice("variance", 3, pulls=math.inf), *ROWS[3:])
    plot_pulls(axes, TradeOff(4, rows, math.inf))
    assert drawn(axes)[COLOURS["variance"], "-"] == [10.0, 20.0]


def test_no_line_where_the_time_without_features_is_infinite(axes):
    plot_time(axes, TradeOff(4, ROWS, math.inf))
    assert INK not in [line.get_color() for line in axes.lines]


@pytest.mark.parametrize(("pulls", "scale"), [(10.0, "linear"), (1000.0, "log")])
def test_a_wide_spread_is_shown_on_a_log_scale(axes, pulls, scale):
    rows = tuple(choice(order, d, pulls) for order in COLOURS for d in (1, 2))
    plot_pulls(axes, TradeOff(4, rows, 120.0))
    assert axes.get_yscale() == scale


def test_the_file_is_a_picture(tmp_path):
    save_trade_off(tmp_path / "choices.png", TRADE_OFF)
    height, width, _ = plt.imread(tmp_path / "choices.png").shape
    assert width > 2 * height
