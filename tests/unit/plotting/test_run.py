"""Pictures of one identification, by what they show."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from mislid import Instance, Model, identify
from mislid.errors import ProblemError
from mislid.plotting import plot_allocation, plot_evidence
from mislid.plotting.theme import BEST, LINES, REST

INSTANCE = Instance(
    Model(np.eye(4), 1.0), [0.2, 2.0, 1.5, -1.0], names=["one", "two", "three", "four"]
)
COUNTS = [10, 20, 30, 40]


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.fixture(scope="module")
def seen():
    kept = []
    identify(INSTANCE, 2, callback=kept.append)
    return kept


def labels(axes: plt.Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_shares_are_drawn_best_first(axes: plt.Axes) -> None:
    plot_allocation(axes, INSTANCE, 2, COUNTS)
    assert [bar.get_height() for bar in axes.patches] == [0.2, 0.3, 0.1, 0.4]
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches] == [BEST, BEST, REST, REST]
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["two", "three", "one", "four"]
    assert axes.get_ylabel() == "share of the measurements"
    assert labels(axes) == ["measured, the 2 best", "measured, the others", "even share"]
    (even,) = axes.lines
    np.testing.assert_array_equal(even.get_ydata(), [0.25, 0.25])


def test_the_optimal_allocation_is_marked(axes: plt.Axes) -> None:
    plot_allocation(axes, INSTANCE, 2, COUNTS, optimal=[4.0, 3.0, 2.0, 1.0])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0.3, 0.2, 0.4, 0.1], rtol=1e-15)
    assert labels(axes)[2:] == ["optimal allocation", "even share"]


def test_counts_of_another_instance_are_refused(axes: plt.Axes) -> None:
    with pytest.raises(ProblemError, match="counts must have 4 entries"):
        plot_allocation(axes, INSTANCE, 2, [1, 2])


def test_evidence_is_drawn_over_samples(axes: plt.Axes, seen: list) -> None:
    plot_evidence(axes, {"first": seen, "second": seen[:-1]}, bound=12.4)
    enough, line, end, other, _, bound = axes.lines
    assert enough.get_ydata()[0] == 1.0
    np.testing.assert_array_equal(line.get_xdata(), [progress.samples for progress in seen])
    np.testing.assert_array_equal(line.get_ydata(), [progress.evidence for progress in seen])
    assert end.get_xdata()[0] == seen[-1].samples
    assert [part.get_color() for part in (line, other)] == list(LINES[:2])
    assert bound.get_xdata()[0] == 12.4
    first, second = f"{seen[-1].samples:,}", f"{seen[-2].samples:,}, not sure"
    assert labels(axes) == [f"first: {first}", f"second: {second}", "lower bound: 12"]
    assert axes.get_xlabel() == "measurements"
    assert axes.get_ylabel() == "evidence, as a share of the threshold"


def test_a_run_without_a_test_has_no_line(axes: plt.Axes, seen: list) -> None:
    untested = [replace(seen[0], statistic=np.nan, threshold=np.nan)]
    plot_evidence(axes, {"own test": untested})
    assert np.isnan(axes.lines[1].get_ydata()).all()


@pytest.mark.parametrize("runs", [{}, {"none": []}])
def test_nothing_to_draw_is_refused(axes: plt.Axes, runs: dict) -> None:
    with pytest.raises(ProblemError, match="runs must hold at least one run"):
        plot_evidence(axes, runs)
