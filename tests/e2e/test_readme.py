"""The commands of the README, where nothing is set up."""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LEFT_OUT = (".*", "build", "dist", "__pycache__", "mislid-demo.png")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", TEXT)


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    """A copy of the project, and an environment with pip and nothing else."""
    home = tmp_path_factory.mktemp("newcomer")
    shutil.copytree(ROOT, home / "mislid", ignore=shutil.ignore_patterns(*LEFT_OUT))
    venv.create(home / "environment", with_pip=True, symlinks=True)
    programs = home / "environment" / "bin"
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "COV_", "NUMBA_", "MAKE", "MISLID_"))
    }
    kept |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "VIRTUAL_ENV": str(home / "environment"),
    }

    def type_in(command, **more):
        return subprocess.run(
            ["/bin/sh", "-ec", command],
            cwd=home / "mislid",
            env=kept | more,
            capture_output=True,
            text=True,
            check=False,
        )

    found = type_in("pip download --quiet --no-deps --dest ../wheels hatchling")
    if found.returncode != 0:
        pytest.skip(f"pip finds no packages to install: {found.stderr.strip().splitlines()[-1]}")
    return type_in


def good(done):
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="types commands into a shell")
def test_the_library_is_installed_and_the_example_prints_what_is_shown(newcomer):
    install = blocks("sh")[1]
    assert install.startswith("pip install")
    good(newcomer(install))
    [code], [shown] = blocks("python"), blocks("text")
    # The folder with the sources is no part of the installation.
    assert good(newcomer("cd .. && python - <<'END'\n" + code + "END\n")) == shown
