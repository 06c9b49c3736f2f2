"""Where compiled kernels are kept, and that what is stored is of these very sources."""

import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
from numba.core.codegen import JITCodeLibrary

from helpers.scripts import run_script
from mislid._kernels import cache
from mislid._kernels.cache import KernelCache, cache_folder, is_ones_own, source_stamp
from mislid._kernels.compile import kernel

KERNELS = Path(cache.__file__).parent

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kernels, taken for the package's own."""
    folder = tmp_path / "_kernels"
    shutil.copytree(KERNELS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cache, "_HERE", folder)
    return folder


def stamp() -> str:
    """The stamp, computed anew."""
    return source_stamp.__wrapped__()


def folder_now() -> Path:
    """The folder, looked for anew."""
    return cache_folder.__wrapped__()


def test_the_stamp_covers_every_source(sources: Path) -> None:
    before = stamp()
    assert stamp() == before == source_stamp()
    seen = {before}
    for source in sorted(sources.glob("*.py")):
        source.write_bytes(source.read_bytes() + b"\n")
        assert stamp() not in seen, source.name
        seen.add(stamp())
    (sources / "order.py").rename(sources / "sorting.py")
    assert stamp() not in seen


def test_other_files_do_not_count(sources: Path) -> None:
    before = stamp()
    (sources / "__pycache__").mkdir()
    (sources / "__pycache__" / "order.py").write_text("left = 1\n")
    (sources / "notes.txt").write_text("nothing\n")
    os.utime(sources / "order.py", (0, 0))
    assert stamp() == before


def test_kernels_elsewhere_are_stamped_with_their_own_file_too(tmp_path: Path) -> None:
    def stamp_of(text: str) -> str:
        file = tmp_path / "more.py"
        file.write_text(text)
        scope: dict[str, FunctionType] = {}
        exec(compile(text, str(file), "exec"), scope)
        return KernelCache(scope["more"], missed=print)._impl.locator.get_source_stamp()

    one, other = stamp_of("def more(x): return x + 1"), stamp_of("def more(x): return x + 2")
    assert one != other
    assert stamp_of("def more(x): return x + 1") == one
    assert source_stamp() in one


@needs_owners
@pytest.mark.parametrize(
    ("mode", "trusted"),
    [(0o700, True), (0o755, True), (0o775, False), (0o757, False), (0o777, False), (0o1777, False)],
)
def test_what_others_can_write_to_is_not_trusted(tmp_path: Path, mode: int, trusted: bool) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    assert is_ones_own(folder) == trusted
    assert cache._is_usable(folder) == trusted


@needs_owners
@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o777, False), (0o1777, True)])
def test_folders_that_others_can_replace_are_not_trusted(
    tmp_path: Path, mode: int, trusted: bool
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    assert cache._is_usable(tmp_path / "shared" / "mislid") == trusted


@needs_owners
def test_links_are_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(cache, "_candidates", lambda: iter([tmp_path / "link"]))
    assert folder_now() == (tmp_path / "real").resolve()


@needs_owners
def test_what_another_user_owns_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache._is_usable(tmp_path / "own")
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not is_ones_own(tmp_path / "own")
    assert not cache._is_usable(tmp_path / "own")


@needs_owners
def test_new_folders_are_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert cache._is_usable(tmp_path / "deep" / "mislid")
    finally:
        os.umask(before)
    assert (tmp_path / "deep" / "mislid").stat().st_mode & 0o777 == 0o700


def test_what_cannot_be_a_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder\n")
    monkeypatch.setattr(
        cache, "_candidates", lambda: iter([tmp_path / "file" / "mislid", tmp_path / "good"])
    )
    assert folder_now() == tmp_path / "good"


def test_numbas_setting_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "numba"))
    assert folder_now() == tmp_path / "numba" / "mislid"
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    assert next(cache._candidates()) == KERNELS / "__pycache__"


@pytest.mark.skipif(sys.platform == "win32", reason="XDG is not of Windows")
def test_the_users_cache_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(cache._candidates())[-1] == tmp_path / "mislid"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert list(cache._candidates())[-1] == tmp_path / "home" / ".cache" / "mislid"


def test_without_any_folder_there_is_a_temporary_one_and_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "none of these can be used")
    monkeypatch.setattr(cache.config, "CACHE_DIR", "")
    monkeypatch.setattr(cache, "_is_usable", lambda _: False)
    cleaned: list[tuple[object, ...]] = []
    monkeypatch.setattr(cache.atexit, "register", lambda *what, **_: cleaned.append(what))
    cache_folder.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept") as seen:
            folder = cache_folder()
        assert len(seen) == 1
        assert "Set NUMBA_CACHE_DIR to a folder of your own" in str(seen[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cache_folder() == folder
    finally:
        cache_folder.cache_clear()
    assert folder.is_dir()
    assert is_ones_own(folder)
    # Workers, which inherit the environment, look in the same place.
    monkeypatch.setattr(cache.config, "CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
    assert next(cache._candidates()) == folder
    assert cleaned == [(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"])]
    shutil.rmtree(os.environ["NUMBA_CACHE_DIR"])


def half(x: float) -> float:
    return 0.5 * x


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    """One bit in the middle, where the code is."""
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def forged(content: bytes) -> bytes:
    """A pickle that ends the process when it is read."""
    return b"cos\n_exit\n(I3\ntR."


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [emptied, halved, flipped, forged])
def test_damaged_files_are_compiled_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    damage: Callable[[bytes], bytes],
) -> None:
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)

    compiled: list[str] = []
    optimise = JITCodeLibrary._optimize_final_module

    def counted(library: JITCodeLibrary) -> None:
        compiled.append(library.name)
        optimise(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", counted)

    def hits() -> int:
        """Whether a fresh kernel is loaded instead of compiled."""
        compiled.clear()
        assert kernel(half)(3.0) == 1.5
        return int("half" not in compiled)

    assert [hits(), hits()] == [0, 1]
    (stored,) = tmp_path.glob(f"*.{ending}")
    stored.write_bytes(damage(stored.read_bytes()))
    assert [hits(), hits()] == [0, 1]


def test_a_folder_that_is_lost_keeps_no_kernel_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, or for who may not write there any more."""
    lost = tmp_path / "folder"
    lost.write_text("a file")
    monkeypatch.setattr(cache, "cache_folder", lambda: lost)
    cache._say_once.cache_clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert [kernel(half)(3.0), kernel(half)(5.0)] == [1.5, 2.5]
    [said] = found
    assert f"cannot be kept in {str(lost)!r}" in str(said.message)


SCRIPT = """
import sys
import numpy as np
import mislid
from mislid._kernels.problem import NewtonSpace, set_metric

space = NewtonSpace.zeros(
    {"K": 1, "d": 1}, X=np.ones((1, 1)), spanner=np.zeros(0, np.int64),
    rest=np.zeros(1, np.int64), minimise=0, set_metric=0, pair=np.zeros(2),
)
set_metric(np.array([2.0]), space)
print(mislid.__file__, space.w[0])
"""


def test_an_edited_part_of_a_kernel_does_not_run_stale(tmp_path: Path) -> None:
    """The kernel is in problem.py, what is edited in linalg.py."""
    package, stored = tmp_path / "mislid", tmp_path / "cache" / "mislid"
    shutil.copytree(KERNELS.parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def weight() -> float:
        out, _ = run_script(SCRIPT, tmp_path, NUMBA_CACHE_DIR=str(stored.parent))
        file, found = out.split()
        assert Path(file) == package / "__init__.py"
        return float(found)

    def codes() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in stored.glob("*.nbc")}

    assert weight() == 2.0
    compiled = codes()
    assert [name for name in compiled if name.startswith("problem.set_metric")]
    assert weight() == 2.0
    assert codes() == compiled  # loaded
    parts = package / "_kernels" / "linalg.py"
    text = parts.read_text()
    edited = text.replace("        out[a] = x[a]\n", "        out[a] = 3.0 * x[a]\n")
    assert edited != text
    parts.write_text(edited)
    assert weight() == 6.0
    parts.write_text(text)
    assert weight() == 2.0
