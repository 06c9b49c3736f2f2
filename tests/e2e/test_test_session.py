"""The tests as they are run: in the background, and on a machine without PostgreSQL or Chromium."""

import os
import signal
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


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_ctrl_c_works_in_tests_of_a_background_job(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, pytest\n"
        "press = 'import signal; signal.raise_signal(signal.SIGINT)'\n"
        "def test_here():\n"
        "    with pytest.raises(KeyboardInterrupt):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "def test_in_a_program():\n"
        "    done = subprocess.run([sys.executable, '-c', press], capture_output=True)\n"
        "    assert b'KeyboardInterrupt' in done.stderr\n"
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        said = run_tests(tmp_path, code)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "2 passed" in said, said


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
