"""All storages of the package pass the suite of storages."""

from collections.abc import Callable

import pytest

from mislid.errors import ProblemError
from mislid.study.storage import Storage
from mislid.testing import StorageSuite


class TestStorages(StorageSuite):
    @pytest.fixture(autouse=True)
    def use(self, opener: Callable[[], Storage]) -> None:
        self.open_storage = opener


@pytest.mark.parametrize("name", [5, None, ["first"], b"first", "", "first\0"])
def test_a_name_is_a_text(storage: Storage, name: object) -> None:
    storage.create("first", [])
    with pytest.raises(ProblemError, match="study_name must be a text that is not empty; got"):
        storage.create(name, [])
    assert [line.name for line in storage.lines()] == ["first"]
