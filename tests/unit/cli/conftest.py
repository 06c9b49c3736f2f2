from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.command_line import without_notice
from helpers.study_calls import COMPOUNDS, Call, Done, question
from mislid.cli import main
from mislid.study import Study, load_study


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MISLID_STORAGE", "lab.db")
    (tmp_path / "compounds.csv").write_text(COMPOUNDS)
    return tmp_path


@pytest.fixture
def study_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """`mislid study ...` in a directory with candidates."""

    def call(*words: object) -> Done:
        capsys.readouterr()
        status = main(["study", *map(str, words)])
        out, err = capsys.readouterr()
        return Done(status, out, without_notice(err))

    return call


@pytest.fixture
def created(study_command: Call) -> Call:
    """The same, with a study `s`."""
    done = study_command("create", "s", *question())
    assert done.status == 0, done.err
    return study_command


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., Study]]:
    """The study as another process sees it."""
    studies: list[Study] = []

    def opening(name: str = "s") -> Study:
        studies.append(load_study(study_name=name, storage=folder / "lab.db"))
        return studies[-1]

    yield opening
    for study in studies:
        study._session.storage.close()
