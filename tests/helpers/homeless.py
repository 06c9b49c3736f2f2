"""A user without a home directory, as in containers that run under any number."""

from typing import NoReturn

import pytest


def take_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable names a home, and the list of users has no such user."""
    import pwd  # not on Windows

    def unknown(number: int) -> NoReturn:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
