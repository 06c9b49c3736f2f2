from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mislid.study.storage import MemoryStorage, Storage, as_storage

BACKENDS = ("memory", "sqlite", "postgresql")
Opener = Callable[[], Storage]


@pytest.fixture(params=BACKENDS)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Opens one and the same storage, as often as called."""
    opened: list[Storage] = []
    if request.param == "memory":
        only = MemoryStorage()
        yield lambda: only
        return
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'lab.db'}"
    else:
        address = request.getfixturevalue("postgresql").new_schema()

    def opening() -> Storage:
        opened.append(as_storage(address))
        return opened[-1]

    yield opening
    for storage in opened:
        storage.close()


@pytest.fixture
def storage(opener: Opener) -> Storage:
    return opener()
