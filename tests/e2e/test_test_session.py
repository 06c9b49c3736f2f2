"""The tests as they are run: in the background, and on a machine without PostgreSQL or Chromium."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mislid

ROOT = Path(__file__).resolve().parents[2]
PLACES = os.pathsep.join([str(Path(mislid.__file__).parents[1]), str(ROOT / "tests")])


def run_tests(folder: Path, code: str, **environment: str) -> str:
    """What pytest says of one file of tests, with the settings and fixtures of this project."""
    file = folder / "test_sample.py"
    file.write_text(code)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--rootdir", folder, "--config-file", ROOT / "pyproject.toml", file],
        env=os.environ | {"PYTHONPATH": PLACES} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["postgresql", "chromium"])
def test_a_skip_says_how_to_install_what_is_missing(tmp_path: Path, name: str) -> None:
    code = f"def test_it({name}): pass\n"
    absent = {"PATH": "", "MISLID_POSTGRESQL_PROGRAMS": str(tmp_path)}
    required = f"MISLID_REQUIRE_{name.upper()}"
    said = run_tests(tmp_path, code, **absent, **{required: ""})
    assert "1 skipped" in said, said
    assert f"run scripts/install_{name}.sh" in said
    said = run_tests(tmp_path, code, **absent, **{required: "1"})
    assert "1 error" in said, said
