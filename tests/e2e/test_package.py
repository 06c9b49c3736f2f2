import importlib
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import mislid

ROOT = Path(__file__).resolve().parents[2]


def run(*command, cwd, **environment):
    """Run a command and give what it prints; a failure shows what it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def loaded_after(statement, cwd):
    """Top-level packages that a fresh interpreter has loaded after a statement."""
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    source = str(Path(mislid.__file__).parents[1])
    return set(run(sys.executable, "-c", code, cwd=cwd, PYTHONPATH=source).split())


def test_import_loads_nothing_but_the_package(tmp_path):
    loaded = loaded_after("import mislid", tmp_path)
    assert "mislid" in loaded
    assert not loaded & {"numba", "scipy", "numpy", "matplotlib", "pandas"}


def test_public_names_are_there_and_nothing_else():
    assert {*dir(mislid)} == {*mislid.__all__} - {"__version__"}
    for name in mislid.__all__:
        assert getattr(mislid, name).__doc__, name


def environment_with_requirements(home):
    """A new environment, with links to the core requirements of this one."""
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", code, cwd="/"))
    for requirement in ("lazy_loader", "packaging", "numpy", "scipy", "numba", "llvmlite"):
        folder = Path(importlib.import_module(requirement).__file__).parent
        for part in (folder, folder.with_name(f"{requirement}.libs")):
            if part.exists():
                (site / part.name).symlink_to(part)
    return python


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """What `python -m build` makes: an archive of sources, and a wheel of that archive."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (sources,), (package,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sources, package


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(built):
    wheel = built[1]
    assert wheel.name == f"mislid-{mislid.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    info = f"mislid-{mislid.__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"mislid", info}
    assert f"{info}/licenses/LICENSE" in names
    shipped = {name for name in names if name.startswith("mislid/")}
    assert {"mislid/py.typed", "mislid/server/static/icon.svg"} <= shipped
    source = ROOT / "src"
    files = (
        path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    assert shipped == {path.relative_to(source).as_posix() for path in files}


@pytest.mark.slow
def test_sources_hold_what_git_tracks_and_nothing_else(built):
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(run("git", "ls-files", cwd=ROOT).splitlines())
    added = set(run("git", "ls-files", "--others", "--exclude-standard", cwd=ROOT).splitlines())
    assert names - tracked - added == {"PKG-INFO"}
    assert {name for name in tracked if name.startswith(("src/", "tests/", "docs/"))} <= names


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="may link the installed requirements")
def test_a_built_wheel_alone_passes_its_selftest(built, tmp_path):
    python = environment_with_requirements(tmp_path / "environment")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    run(*pip, built[1], cwd=tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    said = run(python, "-I", "-m", "mislid.selftest", cwd=tmp_path, **cache)
    assert said.splitlines()[-1] == "ok"
