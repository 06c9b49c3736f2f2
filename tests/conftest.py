import os
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from helpers.fake_runs import FakeJob
from helpers.postgresql import Server, programs, running_server

# The same examples in every run; compiling takes longer than any deadline.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=200)
settings.load_profile("fixed")

# Shells let background jobs ignore Ctrl-C, and all that these start. Tests that press it, and the
# programs that they press it in, must see it wherever they run.
signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


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
        missing = (
            "PostgreSQL is not installed: run scripts/install_postgresql.sh (Debian, Ubuntu), "
            "or install your system's postgresql package so that initdb is in the PATH"
        )
        if os.environ.get("MISLID_REQUIRE_POSTGRESQL"):
            pytest.fail(missing)
        pytest.skip(missing)
    with running_server(folder) as server:
        yield server


@pytest.fixture
def fake_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many runs whose rows are quick and known."""
    monkeypatch.setattr(import_module("mislid.simulation.replicate"), "Job", FakeJob)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20211206)
