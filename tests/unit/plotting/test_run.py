"""Pictures of one identification, by what they show."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from mislid import Instance, Model, identify
from mislid.plotting import plot_counts, plot_proved
from mislid.plotting.theme import BEST, REST

INSTANCE = Instance(
    Model(np.eye(4), 1.0), [0.2, 2.0, 1.5, -1.0], names=["one", "two", "three", "four"]
)
COUNTS = [10, 20, 30, 40]


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def labels(axes: plt.Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_counts_are_drawn_best_first(axes: plt.Axes) -> None:
    plot_counts(axes, INSTANCE, 2, COUNTS)
    assert [bar.get_height() for bar in axes.patches] == [20, 30, 10, 40]
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches] == [BEST, BEST, REST, REST]
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["two", "three", "one", "four"]
    assert sorted(labels(axes)) == ["even share: 25", "the 2 best", "the others"]


def test_proved_pairs_are_drawn_over_samples(axes: plt.Axes) -> None:
    found = identify(INSTANCE, 2)
    unproved = identify(INSTANCE, 2, stopping="heuristic")
    cut = identify(INSTANCE, 2, max_samples=found.samples - 1)
    plot_proved(axes, {"first": found, "cut": cut, "heuristic": unproved})
    enough, line, end, *_, cross = axes.lines
    assert enough.get_ydata()[0] == 4
    np.testing.assert_array_equal(
        line.get_xdata(), [0, *sorted(found.settled.values()), found.samples]
    )
    np.testing.assert_array_equal(line.get_ydata(), [0, 1, 2, 3, 4, 4])
    assert (end.get_xdata()[0], cross.get_xdata()[0]) == (found.samples, unproved.samples)
    assert labels(axes) == [
        f"first: {found.samples:,}",
        f"cut: {cut.samples:,}, not proved",
        f"heuristic: {unproved.samples:,}",
    ]
