"""That what is stored is of these very sources, and whole."""

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest
from numba.core.codegen import JITCodeLibrary

from helpers.scripts import run_script
from mislid._jit import Kernel, cache, folders, kernel
from mislid._jit.cache import KernelCache, source_stamp
from mislid._jit.folders import Places

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


def keep_in(
    folder: Path | None, monkeypatch: pytest.MonkeyPatch, *others: Path, problem: str = ""
) -> Places:
    """Keep kernels there; look in others first."""
    found = Places([*others, *([folder] if folder else [])], folder, [problem])
    for module in (cache, folders):
        monkeypatch.setattr(module, "places", lambda: found)
    return found


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all that is compiled, and not loaded, from now on."""
    names: list[str] = []
    optimise = JITCodeLibrary._optimize_final_module

    def noted(library: JITCodeLibrary) -> None:
        names.append(library.name)
        optimise(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", noted)
    return names


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


def half(x: float) -> float:
    return 0.5 * x


def third(x: float) -> float:
    return x / 3.0


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
    compiled: list[str],
    ending: str,
    damage: Callable[[bytes], bytes],
) -> None:
    keep_in(tmp_path, monkeypatch)

    def hits() -> int:
        """Whether a fresh kernel is loaded instead of compiled."""
        compiled.clear()
        assert kernel(half)(3.0) == 1.5
        return int("half" not in compiled)

    assert [hits(), hits()] == [0, 1]
    (stored,) = tmp_path.glob(f"*.{ending}")
    stored.write_bytes(damage(stored.read_bytes()))
    assert [hits(), hits()] == [0, 1]


def test_what_another_kind_of_process_wrote_meanwhile_is_not_loaded(tmp_path: Path) -> None:
    files = cache._SealedFile(str(tmp_path), "half", "stamp")
    files.save(("generic",), b"for any processor")
    assert files.load(("generic",)) == b"for any processor"
    # Another process took the same name for its own code, between the two files of this one.
    files._save_data(files._load_index()["generic",], (("this kind",), b"for one processor"))
    assert files.load(("generic",)) is None


@needs_owners
def test_links_are_not_followed_to_stored_code(tmp_path: Path) -> None:
    files = cache._SealedFile(str(tmp_path), "half", "stamp")
    files.save(("key",), b"code")
    (stored,) = tmp_path.glob("*.nbc")
    stored.rename(tmp_path / "elsewhere")
    stored.symlink_to(tmp_path / "elsewhere")
    assert files.load(("key",)) is None


def test_kernels_that_one_function_makes_are_kept_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    def times(factor: float) -> Kernel:
        @kernel
        def product(x: float) -> float:
            return factor * x

        return product

    keep_in(tmp_path, monkeypatch)
    assert [times(factor)(2.0) for factor in (1.0, 3.0)] == [2.0, 6.0]
    compiled.clear()
    assert [times(factor)(2.0) for factor in (1.0, 3.0)] == [2.0, 6.0]
    assert not [name for name in compiled if "product" in name]


def test_a_folder_that_is_lost_keeps_no_kernel_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, or for who may not write there any more."""
    lost = tmp_path / "folder"
    lost.write_text("a file")
    keep_in(lost, monkeypatch)
    cache._say_once.cache_clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert [kernel(half)(3.0), kernel(half)(5.0)] == [1.5, 2.5]
    [said] = found
    assert f"cannot be kept in {str(lost)!r}" in str(said.message)


def test_what_can_only_be_read_is_loaded_and_only_the_rest_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    """As with folders that were filled when an image of a container was made."""
    filled, new = tmp_path / "filled", tmp_path / "new"
    new.mkdir()
    keep_in(filled, monkeypatch)
    assert kernel(half)(3.0) == 1.5
    keep_in(new, monkeypatch, filled)
    compiled.clear()
    assert [kernel(half)(3.0), kernel(third)(3.0), kernel(third)(6.0)] == [1.5, 1.0, 2.0]
    assert "half" not in compiled
    assert compiled.count("third") == 1
    assert {file.name.partition("-")[0] for file in filled.iterdir()} == {"test_cache.half"}
    assert {file.name.partition("-")[0] for file in new.iterdir()} == {"test_cache.third"}


def test_nothing_is_said_where_all_is_there_and_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(folders.INHERITED, raising=False)
    keep_in(tmp_path, monkeypatch)
    assert kernel(half)(3.0) == 1.5
    keep_in(None, monkeypatch, tmp_path, problem="it can only be read")
    monkeypatch.setattr(folders.tempfile, "mkdtemp", lambda **_: pytest.fail("not needed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(half)(5.0) == 2.5


def test_kernels_run_where_there_is_not_even_a_temporary_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_: str) -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv(folders.INHERITED, raising=False)
    keep_in(None, monkeypatch, problem="it can only be read")
    monkeypatch.setattr(folders.tempfile, "mkdtemp", fail)
    folders._temporary_folder.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="cannot be kept: it can only be read") as seen:
            assert [kernel(half)(3.0), kernel(half)(5.0)] == [1.5, 2.5]
    finally:
        folders._temporary_folder.cache_clear()
    assert len(seen) == 1


@needs_owners
def test_files_that_others_can_write_to_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    keep_in(tmp_path, monkeypatch)
    before = os.umask(0)
    try:
        assert kernel(half)(3.0) == 1.5
    finally:
        os.umask(before)
    stored = list(tmp_path.iterdir())
    assert [file.stat().st_mode & 0o777 for file in stored] == [0o644, 0o644]
    for file in stored:
        file.chmod(0o664)
        compiled.clear()
        assert kernel(half)(3.0) == 1.5
        assert "half" in compiled
        assert file.stat().st_mode & 0o777 == 0o644 & ~before


@needs_owners
def test_files_of_other_users_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[str]
) -> None:
    keep_in(tmp_path, monkeypatch)
    assert kernel(half)(3.0) == 1.5
    monkeypatch.setattr(folders, "_ROOT", -1)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    compiled.clear()
    assert kernel(half)(3.0) == 1.5
    assert "half" in compiled


SCRIPT = """
import sys
import numpy as np
import mislid
from mislid.geometry.problem import NewtonSpace, set_metric

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
