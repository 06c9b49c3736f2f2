"""Where compiled kernels are kept and loaded from: only where no other user can have written."""

import errno
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from helpers.homeless import take_home
from mislid._jit import folders
from mislid._jit.folders import INHERITED, Places, are_kept, cache_folder, distrust

KERNELS = Path(folders.__file__).parent

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")


def places_now() -> Places:
    """The folders, looked for anew."""
    return folders.places.__wrapped__()


def folder_now() -> Path | None:
    """The folder to keep kernels in, looked for anew."""
    return places_now().to_keep


@needs_owners
@pytest.mark.parametrize(
    ("mode", "trusted"),
    [(0o700, True), (0o755, True), (0o775, False), (0o757, False), (0o777, False), (0o1777, False)],
)
def test_what_others_can_write_to_is_not_trusted(tmp_path: Path, mode: int, trusted: bool) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    assert (distrust(folder) == "") == trusted
    assert (folders._why_not(folder) == "") == trusted


@needs_owners
@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o777, False), (0o1777, True)])
def test_folders_that_others_can_replace_are_not_trusted(
    tmp_path: Path, mode: int, trusted: bool
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    assert (folders._why_not(tmp_path / "shared" / "mislid") == "") == trusted


@needs_owners
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_folders_whose_parent_is_another_users_are_not_trusted(tmp_path: Path, mode: int) -> None:
    own = tmp_path / "theirs" / "mislid"
    own.mkdir(parents=True, mode=0o700)
    assert distrust(own) == ""
    own.parent.chmod(mode)
    os.chown(own.parent, 12345, 12345)
    assert "where other users can rename it" in distrust(own)


def test_links_in_a_circle_are_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    monkeypatch.setattr(folders, "_candidates", lambda: iter([tmp_path / "one" / "mislid"]))
    found = places_now()
    assert found.to_keep is None
    # Some versions of Python find the circle, others try to make the folder.
    assert any(words in found.problems[0] for words in ("in a circle", "symbolic links"))


@needs_owners
def test_links_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(folders, "_candidates", lambda: iter([tmp_path / "link"]))
    assert folder_now() == (tmp_path / "real").resolve()


@needs_owners
def test_what_another_user_owns_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folders._why_not(tmp_path / "own") == ""
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert distrust(tmp_path / "own") == "belongs to another user"
    assert folders._why_not(tmp_path / "own") == "belongs to another user"
    monkeypatch.setattr(folders, "_ROOT", -1)
    assert not folders._can_be_read(tmp_path / "own")


@needs_owners
def test_new_folders_are_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert folders._why_not(tmp_path / "deep" / "mislid") == ""
    finally:
        os.umask(before)
    assert (tmp_path / "deep" / "mislid").stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_a_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder\n")
    monkeypatch.setattr(
        folders, "_candidates", lambda: iter([tmp_path / "file" / "mislid", tmp_path / "good"])
    )
    assert folder_now() == tmp_path / "good"


def test_numbas_setting_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert folder_now() == tmp_path / "numba" / "mislid"
    monkeypatch.setattr(folders.config, "CACHE_DIR", "")
    assert next(folders._candidates()) == KERNELS / "__pycache__"


@pytest.mark.skipif(sys.platform == "win32", reason="XDG is not of Windows")
def test_the_users_cache_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(folders._candidates())[-1] == tmp_path / "mislid"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert list(folders._candidates())[-1] == tmp_path / "home" / ".cache" / "mislid"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no list of users")
def test_a_user_without_a_home_has_no_cache_there(monkeypatch: pytest.MonkeyPatch) -> None:
    take_home(monkeypatch)
    monkeypatch.setattr(folders.config, "CACHE_DIR", "")
    assert list(folders._candidates()) == [KERNELS / "__pycache__"]
    monkeypatch.setattr(folders, "_why_not", lambda _: "can only be read")
    assert places_now().problems[-1] == "the user has no home directory"


def read_only(**_: object) -> NoReturn:
    raise OSError(errno.EROFS, "Read-only file system")


def test_what_can_only_be_read_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled, good = tmp_path / "filled", tmp_path / "good"
    filled.mkdir(mode=0o755)
    monkeypatch.setattr(folders, "_candidates", lambda: iter([filled, tmp_path / "no", good]))
    why_not = folders._why_not
    monkeypatch.setattr(
        folders, "_why_not", lambda one: why_not(one) if one == good else "can only be read"
    )
    assert places_now() == Places(
        [filled, good],
        good,
        [f"{str(tmp_path / name)!r} can only be read" for name in ("filled", "no")],
    )


@needs_owners
@pytest.mark.parametrize(("mode", "read"), [(0o755, True), (0o775, False), (0o757, False)])
def test_what_root_has_filled_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, read: bool
) -> None:
    filled = tmp_path / "filled"
    filled.mkdir()
    filled.chmod(mode)
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(folders, "_ROOT", owner)
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    monkeypatch.setattr(folders, "_candidates", lambda: iter([filled]))
    monkeypatch.delenv(INHERITED, raising=False)
    found = places_now()
    assert found.to_keep is None
    assert found.to_load == ([filled] if read else [])


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    """No folder can be written to, and what is to be done at the end is only noted."""
    cleaned: list[tuple[object, ...]] = []
    monkeypatch.setenv(INHERITED, "")
    monkeypatch.setattr(folders.config, "CACHE_DIR", "")
    monkeypatch.setattr(folders.tempfile, "TemporaryFile", read_only)
    monkeypatch.setattr(folders.atexit, "register", lambda *what, **_: cleaned.append(what))
    for found in (folders.places, folders._temporary_folder):
        found.cache_clear()
    yield cleaned
    for found in (folders.places, folders._temporary_folder):
        found.cache_clear()
    for _, folder in cleaned:
        shutil.rmtree(str(folder))


def test_without_any_folder_there_is_a_temporary_one_and_one_warning(
    nowhere: list[tuple[object, ...]],
) -> None:
    assert not are_kept()
    with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept") as seen:
        folder = cache_folder()
    assert len(seen) == 1
    assert "Set NUMBA_CACHE_DIR to a folder of your own" in str(seen[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() == folder
    assert folder is not None
    assert folder.is_dir()
    assert distrust(folder) == ""
    assert folders.places().to_load[-1] == folder
    assert nowhere == [(shutil.rmtree, folder)]


@pytest.mark.usefixtures("nowhere")
def test_workers_inherit_a_temporary_folder() -> None:
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        folder = cache_folder()
    # As in another process, with this environment.
    for found in (folders.places, folders._temporary_folder):
        found.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert folders.places().to_load[-1] == folder
        assert cache_folder() == folder
    assert not are_kept()


@needs_owners
def test_a_temporary_folder_of_others_is_not_inherited(
    nowhere: list[tuple[object, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for given in (shared, tmp_path / "gone"):
        monkeypatch.setenv(INHERITED, str(given))
        for found in (folders.places, folders._temporary_folder):
            found.cache_clear()
        with pytest.warns(RuntimeWarning, match="cannot be kept"):
            assert cache_folder() not in (None, given)
    assert len(nowhere) == 2


@needs_owners
@pytest.mark.parametrize("why", ["can be written to by other users", "belongs to another user"])
@pytest.mark.usefixtures("nowhere")
def test_the_warning_says_why_numbas_setting_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    chosen = tmp_path / "mislid"
    chosen.mkdir()
    chosen.chmod(0o777 if "written" in why else 0o755)
    monkeypatch.setattr(folders.config, "CACHE_DIR", str(tmp_path))
    if "belongs" in why:
        monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="cannot be kept") as seen:
        cache_folder()
    assert f"NUMBA_CACHE_DIR, {str(chosen)!r} {why}; " in str(seen[0].message)


@pytest.mark.usefixtures("nowhere")
def test_the_warning_says_what_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders.config, "CACHE_DIR", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="cannot be kept") as seen:
        cache_folder()
    reason = f"{str(tmp_path / 'mislid')!r} cannot be written to (Read-only file system); "
    assert reason in str(seen[0].message)
