"""All storages of the package pass the suite of storages."""

from collections.abc import Callable

import pytest

from mislid.study.storage import Storage
from mislid.testing import StorageSuite


class TestStorages(StorageSuite):
    @pytest.fixture(autouse=True)
    def use(self, opener: Callable[[], Storage]) -> None:
        self.open_storage = opener
