from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mislid.study.storage import MemoryStorage, Storage, as_storage

BACKENDS = ("memory", "sqlite", "postgresql")
Opener = Callable[[], Storage]


@pytest.fixture(params=BACKENDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Where the storage is; None for memory."""
    if request.param == "memory":
        return None
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'lab.db'}"
    new: str = request.getfixturevalue("postgresql").new_schema()
    return new


@pytest.fixture
def opener(address: str | None) -> Iterator[Opener]:
    """Opens one and the same storage, as often as called."""
    opened: list[Storage] = []
    only = MemoryStorage()

    def opening() -> Storage:
        opened.append(only if address is None else as_storage(address))
        return opened[-1]

    yield opening
    for storage in opened:
        storage.close()


@pytest.fixture
def storage(opener: Opener) -> Storage:
    return opener()
