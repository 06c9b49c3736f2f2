"""All storages of the package pass the suite of storages."""

from collections.abc import Callable
from functools import partial

import pytest

from mislid.study.storage import Storage, as_storage
from mislid.testing import StorageSuite


class TestStorages(StorageSuite):
    @pytest.fixture(autouse=True)
    def use(self, address: str | None, opener: Callable[[], Storage]) -> None:
        self.open_storage = opener
        elsewhere = None if address is None else partial(as_storage, address)
        self.open_elsewhere = lambda: elsewhere
