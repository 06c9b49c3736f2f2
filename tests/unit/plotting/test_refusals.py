"""What cannot be drawn or saved is refused in words."""

import base64
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import mislid
from mislid.errors import MissingPackageError, ProblemError
from mislid.plotting import (
    as_png,
    draw_candidates,
    draw_evidence,
    draw_forecast,
    draw_trade_off,
    plot_counts,
    plot_proved,
    plot_runs,
    save,
    save_runs,
)
from mislid.plotting.theme import new_figure
from mislid.simulation.replicate import Row

INSTANCE = mislid.Instance(mislid.Model([[1.0], [2.0]], 0.1), [1.0, 2.0])
RUNS = {"mislid": [Row(0, 100, True, "stopped", 0.1)]}


@pytest.fixture
def axes() -> Any:
    return Figure().subplots()


@pytest.mark.parametrize(
    ("draw", "maker"),
    [
        (draw_candidates, r"overview must be what Study.overview\(\) gives"),
        (draw_evidence, r"overview must be what Study.overview\(\) gives"),
        (draw_forecast, r"overview must be what Study.overview\(\) gives"),
        (draw_trade_off, r"trade_off must be what Representation.trade_off\(\) gives"),
        (as_png, "figure must be what a function of mislid.plotting gives"),
    ],
)
def test_what_is_something_else(draw: Any, maker: str) -> None:
    study = mislid.create_study(study_name="tea", candidates=["a", "b"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match=rf"{maker}; got Study\('tea'"):
        draw(study)


@pytest.mark.parametrize("dpi", [0, -1, "fine", float("nan"), 1e9, None])
def test_dots_that_no_picture_has(dpi: Any) -> None:
    with pytest.raises(ProblemError, match="dpi must be a number at least 1 and at most 7123"):
        as_png(new_figure(1.0), dpi)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("plot.pdf", "must end in .png or .svg; got '.*plot.pdf'"),
        ("plot", "must end in .png or .svg"),
        ("no/such/directory/plot.png", "must name a file in an existing directory"),
        (5, "must be a string or a path; got 5"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, path: Any, problem: str) -> None:
    place = path if isinstance(path, int) else tmp_path / path
    with pytest.raises(ProblemError, match=f"path {problem}"):
        save(new_figure(1.0), place)
    with pytest.raises(ProblemError, match=f"path {problem}"):
        save_runs(place, RUNS, 0.05)
    assert not list(tmp_path.iterdir())


def test_numbers_and_names_that_are_none(axes: Any) -> None:
    for delta in (0, 1, "x", None):
        with pytest.raises(ProblemError, match="delta must be a number above 0 and below 1; got"):
            plot_runs(axes, RUNS, delta)
    for dashed in (5, "mislid"):
        with pytest.raises(ProblemError, match="dashed must be a list of names; got"):
            plot_runs(axes, RUNS, 0.05, dashed=dashed)  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match=r"instance must be what mislid.Instance\(\) gives"):
        plot_counts(axes, None, 1, [1, 2])  # type: ignore[arg-type]


def test_what_nothing_can_be_drawn_on() -> None:
    several = Figure().subplots(2)
    for draw in (
        lambda: plot_runs(several, RUNS, 0.05),
        lambda: plot_proved(several, {}),
        lambda: plot_counts(several, INSTANCE, 1, [1, 2]),
    ):
        with pytest.raises(ProblemError, match=r"axes must be what Figure.add_subplot\(\) gives"):
            draw()


def test_without_matplotlib_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = mislid.create_study(candidates=[[0], [1], [2]], m=1, misspecification=0.1, noise=1.0)
    overview, drawn = study.overview(), new_figure(1.0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: draw_candidates(overview),
        lambda: save_runs(tmp_path / "runs.png", RUNS, 0.05),
        lambda: save(drawn, tmp_path / "drawn.png"),
        lambda: as_png(drawn),
    ):
        with pytest.raises(MissingPackageError, match=r"a picture needs .* 'mislid\[plots\]'"):
            draw()


def test_notebooks_show_figures_without_pyplot() -> None:
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    shown, how = formatter.format(new_figure(1.0, 7.2))
    image = shown["image/png"]
    image = base64.b64decode(image) if isinstance(image, str) else image
    assert image.startswith(b"\x89PNG")
    assert how["image/png"] == {"width": 720}
    assert "image/png" not in formatter.format(Figure())[0]
