import os
import shutil
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import settings

from helpers.browser import running_browser
from helpers.fake_runs import FakeJob
from helpers.postgresql import Server, programs, running_server

# The same examples in every run; compiling takes longer than any deadline.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("fixed")

# Shells let background jobs ignore Ctrl-C, and all that these start. Tests that press it, and the
# programs that they press it in, must see it wherever they run.
signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


SLOW = {"statistical", "faults", "fuzz"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark whole folders as slow, and tests that need a browser or a database server."""
    folder = Path(__file__).parent
    for item in items:
        above = item.path.relative_to(folder).parts[:1] if folder in item.path.parents else ()
        if SLOW & {*above} or {"chromium", "postgresql"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Directory of the published instances, which are not part of the project."""
    folder = Path(os.environ.get("MISLID_DATA", DATA))
    if not folder.is_dir():
        pytest.skip(f"no published instances at {folder}; set MISLID_DATA to their directory")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server of our own; MISLID_REQUIRE_POSTGRESQL makes its absence a failure."""
    folder = programs()
    if folder is None:
        _miss("PostgreSQL", "initdb")
    with running_server(folder) as server:
        yield server


# Its event loop runs on in this thread: other modules could start none.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a window; MISLID_REQUIRE_CHROMIUM makes its absence a failure."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        _miss("Chromium", "chromium")
    with running_browser(program) as browser:
        yield browser


def _miss(name: str, program: str) -> NoReturn:
    """Say how to install what is missing: a failure where it must be there."""
    package = name.lower()
    missing = (
        f"{name} is not installed: run scripts/install_{package}.sh (Debian, Ubuntu), or install "
        f"your system's {package} package so that {program} is in the PATH"
    )
    if os.environ.get(f"MISLID_REQUIRE_{name.upper()}"):
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture
def fake_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many runs whose rows are quick and known."""
    monkeypatch.setattr(import_module("mislid.simulation.replicate"), "Job", FakeJob)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20211206)
