import sys
from pathlib import Path

import pytest

from mislid.datasets import cache_directory, data_directory, locate
from mislid.errors import MissingDataError, ProblemError


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".cache/mislid"),
        ("darwin", "Library/Caches/mislid"),
        ("win32", "AppData/Local/mislid/Cache"),
    ],
)
def test_caches_of_the_systems(home, monkeypatch, platform, folder):
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_directory() == home / folder
    assert data_directory() == home / folder


def test_caches_that_were_moved(home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/scratch")
    assert cache_directory() == Path("/scratch/mislid")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == home / ".cache" / "mislid"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_directory() == Path("/local/mislid/Cache")


def test_the_argument_comes_first_then_the_variable_then_the_cache(home, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", "~/data")
    monkeypatch.setenv("HOME", str(home))
    assert data_directory("given") == Path("given")
    assert data_directory() == home / "data"
    monkeypatch.setenv("MISLID_DATA", "")
    assert data_directory() == cache_directory()
    with pytest.raises(ProblemError, match="data must be a directory's path; got 3"):
        data_directory(3)


def test_files_come_from_the_one_directory_that_is_named(home, monkeypatch, tmp_path):
    named, cached = tmp_path / "named", cache_directory()
    for folder in (named, cached):
        (folder / "instances").mkdir(parents=True)
    (cached / "instances" / "D.npz").touch()
    assert locate("instances/D.npz") == cached / "instances" / "D.npz"
    with pytest.raises(MissingDataError, match=r"`mislid data fetch instances --data .*named`, or"):
        locate("instances/D.npz", named)
    monkeypatch.setenv("MISLID_DATA", str(named))
    with pytest.raises(MissingDataError, match=r"named'; get it with `mislid data fetch inst"):
        locate("instances/D.npz")
    (named / "instances" / "D.npz").touch()
    assert locate("instances/D.npz") == named / "instances" / "D.npz"


def test_files_that_nobody_publishes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no own\.csv in '.*'; name a directory"):
        locate("own.csv", tmp_path)
