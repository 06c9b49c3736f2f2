"""The README: short, with numbers that are true, and commands that work where nothing is set up."""

import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from benchmarks.readme import main as numbers

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LEFT_OUT = (".*", "build", "dist", "__pycache__", "mislid-demo.png")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", TEXT)


def test_it_is_read_in_a_minute():
    assert len(TEXT.splitlines()) <= 80
    assert len(re.findall(r"!\[", TEXT)) == 1
    [code] = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


def test_its_numbers_are_those_of_the_runs(capsys):
    assert numbers(["--check"]) == 0, capsys.readouterr().out


def test_other_numbers_are_found(tmp_path, capsys):
    other = tmp_path / "README.md"
    changed = TEXT
    for name in ("demo", "output", "gains"):
        begin = f"<!-- {name}:begin -->"
        head, _, tail = changed.partition(begin)
        changed = head + begin + re.sub(r"\d", lambda digit: str(9 - int(digit[0])), tail, count=1)
    other.write_text(changed, encoding="utf-8")
    assert numbers(["--check", "--readme", str(other)]) == 1
    said = capsys.readouterr().out
    assert said.count("the section") == 3
    assert other.read_text(encoding="utf-8") == changed
    assert numbers(["--readme", str(other)]) == 0
    assert other.read_text(encoding="utf-8") == TEXT


def test_the_example_declares_the_noise_that_it_draws():
    [code] = blocks("python")
    declared = re.findall(r"noise=([\d.]+)", code)
    drawn = re.findall(r"gauss\(.*, ([\d.]+)\)", code)
    assert declared == drawn
    assert len(drawn) == 1


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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_both_commands_work_in_a_fresh_checkout(newcomer):
    demo, test = (line.partition("#")[0].strip() for line in blocks("sh")[0].splitlines())
    printed = good(newcomer(demo))
    for number in re.findall(r"(?<= after )[\d,]+", TEXT.partition("demo:end")[0]):
        assert number in printed
    # All that comes before the tests, which are found but not run: they run already.
    assert " tests collected" in good(newcomer(test, PYTEST_ADDOPTS="--collect-only -q"))
