import gc
import warnings

import pytest

from helpers.web_server import web_server


@pytest.fixture
def site():
    with web_server() as site:
        yield site
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch):
    """Tests name their data directories themselves."""
    monkeypatch.delenv("MISLID_DATA", raising=False)
