"""What cannot be drawn or saved is refused in words."""

import sys
from pathlib import Path
from typing import Any

import pytest

import mislid
from mislid.errors import MissingPackageError, ProblemError
from mislid.plotting import as_png, draw_candidates, save, save_runs
from mislid.plotting.theme import new_figure
from mislid.simulation.replicate import Row

RUNS = {"mislid": [Row(0, 100, True, "stopped", 0.1)]}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("plot.pdf", "must end in .png or .svg; got '.*plot.pdf'"),
        ("no/such/directory/plot.png", "must name a file in an existing directory"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, path: Any, problem: str) -> None:
    place = path if isinstance(path, int) else tmp_path / path
    with pytest.raises(ProblemError, match=f"path {problem}"):
        save(new_figure(1.0), place)
    with pytest.raises(ProblemError, match=f"path {problem}"):
        save_runs(place, RUNS, 0.05)
    assert not list(tmp_path.iterdir())


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
