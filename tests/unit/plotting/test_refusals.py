"""What cannot be drawn or saved is refused in words."""

import sys
from pathlib import Path

import pytest

import mislid
from mislid.errors import MissingPackageError, ProblemError
from mislid.plotting import as_png, draw_candidates, save
from mislid.plotting.theme import new_figure


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("plot.pdf", "must end in .png or .svg; got '.*plot.pdf'"),
        ("no/such/directory/plot.png", "must name a file in an existing directory"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(ProblemError, match=f"path {problem}"):
        save(new_figure(1.0), tmp_path / path)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = mislid.create_study(candidates=[[0], [1], [2]], m=1, misspecification=0.1, noise=1.0)
    overview, drawn = study.overview(), new_figure(1.0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: draw_candidates(overview),
        lambda: save(drawn, tmp_path / "drawn.png"),
        lambda: as_png(drawn),
    ):
        with pytest.raises(MissingPackageError, match=r"a picture needs .* 'mislid\[plots\]'"):
            draw()
