"""The demonstration and its picture, by what they say and show."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

from mislid import Instance, Model, characteristic_curve, closest_alternative
from mislid.demo import demo_instance, main
from mislid.plotting import plot_allocation, plot_alternative, plot_curve


def test_the_demonstration_says_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    picture = tmp_path / "demo.png"
    assert main([str(picture)]) == 0
    said = capsys.readouterr().out
    assert "certificate    holds" in said
    assert f"Picture: {picture}" in said
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_a_picture_that_cannot_be_saved(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main([str(tmp_path / "missing" / "demo.png")]) == 1
    assert "could not be saved" in capsys.readouterr().err


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def tubes(axes: plt.Axes) -> int:
    """How many intervals are filled; the entry of the legend has no paths."""
    filled = [part for part in axes.collections if isinstance(part, PolyCollection)]
    return sum(len(part.get_paths()[0].vertices) > 1 for part in filled if part.get_paths())


def test_the_alternative_is_drawn(axes: plt.Axes) -> None:
    instance = demo_instance()
    found = closest_alternative(instance.model, instance.means, np.ones(12), 3)
    plot_alternative(axes, instance, found)
    means, moved, pair = (line.get_ydata() for line in axes.lines[:3])
    order = np.argsort(-instance.means, kind="stable")
    np.testing.assert_array_equal(means, instance.means[order])
    np.testing.assert_array_equal(moved, found.means[order])
    assert len(pair) == 2
    assert tubes(axes) == 12
    assert [label.get_text() for label in axes.get_xticklabels()][:3] == ["H", "D", "K"]


def test_without_structure_there_is_no_tube(axes: plt.Axes) -> None:
    instance = Instance(Model(np.eye(3), np.inf), [3.0, 2.0, 1.0])
    found = closest_alternative(instance.model, instance.means, np.ones(3), 1)
    plot_alternative(axes, instance, found)
    assert tubes(axes) == 0


def test_allocation_and_curve_are_drawn(axes: plt.Axes) -> None:
    instance = demo_instance()
    curve = characteristic_curve(instance.model, instance.means, 3, [0.0, 0.15, np.inf])
    plot_allocation(axes, instance, curve.times[1])
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(1.0)
    axes.clear()
    plot_curve(axes, curve, 0.05, 0.15)
    samples = [time.samples(0.05) for time in curve.times]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), samples[:2])
    assert axes.lines[1].get_ydata()[0] == pytest.approx(samples[1])
    assert axes.lines[2].get_ydata()[0] == pytest.approx(samples[2])
