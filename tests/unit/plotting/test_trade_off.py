"""Pictures of a trade-off, by what they show."""

import pytest

from mislid.paper.representation import Choice, TradeOff
from mislid.plotting import draw_trade_off
from mislid.plotting.trade_off import COLOURS


def choice(order, d, pulls=10.0):
    return Choice(order, d, 0.4 / d, 0.3 / d, 2.0, pulls * d, 5.0 * d, 100.0 / d, 90.0 / d)


ROWS = tuple(choice(order, d) for order in COLOURS for d in (1, 2, 3))
TRADE_OFF = TradeOff(4, ROWS, 120.0)


def drawn(axes):
    """Colour and style of each line with more than its legend's marks, and its heights."""
    return {
        (line.get_color(), line.get_linestyle()): list(line.get_ydata())
        for line in axes.lines
        if line.get_marker() == "o"
    }


@pytest.mark.parametrize(
    ("at", "solid", "dashed", "label"),
    [
        (0, "misspecification", "least_misspecification", "largest absolute error"),
        (1, "time", "least_time", "characteristic time"),
        (2, "pulls", "white_pulls", "pulls"),
    ],
)
def test_every_choice_is_a_point(at, solid, dashed, label):
    axes = draw_trade_off(TRADE_OFF).axes[at]
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
