"""The notice of a compilation: when there is one, and only then."""

import time
from pathlib import Path

import pytest

from helpers.scripts import run_script
from mislid._jit import notice
from mislid._jit.notice import MESSAGE, UNKEPT, compiling


@pytest.fixture(autouse=True)
def first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has said nothing yet."""
    monkeypatch.setattr(notice, "_said", False)


def kept() -> bool:
    return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 0.01)


@pytest.mark.usefixtures("impatient")
def test_what_takes_long_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        with compiling(kept) as begin:
            begin()
            time.sleep(0.1)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"\r{MESSAGE}\n"


@pytest.mark.usefixtures("impatient")
def test_later_calls_are_not_promised_what_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling(lambda: False) as begin:
        begin()
        time.sleep(0.1)
    assert capsys.readouterr().err == f"\r{UNKEPT}\n"
    assert "once" not in UNKEPT
    assert "every new process" in UNKEPT


def test_nothing_is_said_of_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling(kept) as begin:
        begin()
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("impatient")
def test_nothing_is_said_before_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling(kept):
        time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("impatient")
def test_an_error_ends_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with compiling(kept) as begin:
            begin()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("impatient")
def test_a_process_without_stderr_compiles_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with compiling(kept) as begin:
        begin()
        time.sleep(0.1)
    assert not notice._said


SCRIPT = """
from mislid._jit import notice
from mislid._jit import for_python
from mislid.stopping._thresholds import wbar

notice.PATIENCE = 0.0
assert for_python(wbar)(3.0) > 1.0
"""


def test_nothing_is_said_of_what_is_loaded_from_disk(tmp_path: Path) -> None:
    said = [run_script(SCRIPT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert said == [("", f"\r{MESSAGE}\n"), ("", "")]


UNKEPT_SCRIPT = f"""
import os
import tempfile
from pathlib import Path
from mislid._jit import folders

def fail(**_):
    raise OSError("read-only")

tempfile.TemporaryFile = fail
folders._HERE = Path(os.environ["NUMBA_CACHE_DIR"])  # where nobody has compiled
{SCRIPT}
"""


def test_a_temporary_folder_is_told_of(tmp_path: Path) -> None:
    empty = {"NUMBA_CACHE_DIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    _, said = run_script(UNKEPT_SCRIPT, **empty, MISLID_TEMPORARY_KERNELS="")
    assert f"\r{UNKEPT}\n" in said
    assert said.count("compiled kernels cannot be kept") == 1
