from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.serving import TOKEN, Site, new_study, running
from mislid.study import Study
from mislid.study.storage import Storage, as_storage


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = as_storage(tmp_path / "lab.db")
    yield opened
    opened.close()


@pytest.fixture
def study(storage: Storage) -> Study:
    """The first study, with the id 1."""
    return new_study(storage)


@pytest.fixture
def site(study: Study, storage: Storage) -> Iterator[Site]:
    """A server that shows it to everybody on this computer."""
    with running(storage) as found:
        yield found


@pytest.fixture
def writing(study: Study, storage: Storage) -> Iterator[Site]:
    """A server that may change it, for those who know the token."""
    with running(storage, write=True, token=TOKEN) as found:
        yield found
