"""Where compiled kernels are kept: a folder of one's own, for these very sources.

numba looks at a function's own file only, so that a kernel whose parts were edited would run stale.
Here the stamp of every kernel covers the sources of all of them. Stored code is run as it is
loaded: a folder that another user could have written to is not looked at, and a file that was
damaged is compiled again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)

_HERE = Path(__file__).parent
_SEAL = hashlib.sha256().digest_size


@cache
def source_stamp() -> str:
    """A digest of the sources of all kernels."""
    digest = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


def is_ones_own(folder: Path) -> bool:
    """Whether nobody but this user can have written to a folder, or put another in its place."""
    if not hasattr(os, "getuid"):
        return True  # access lists of other systems say more than owner and mode
    about = folder.stat()
    if about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return not any(_lets_all_rename(parent.stat().st_mode) for parent in folder.parents)


def _lets_all_rename(mode: int) -> bool:
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _is_usable(folder: Path) -> bool:
    try:
        for part in (*reversed(folder.parents), folder):
            part.mkdir(mode=0o700, exist_ok=True)
        if not is_ones_own(folder):
            return False
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _of(numba_folder: str) -> Path:
    return Path(numba_folder) / "mislid"


def _candidates() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield _of(config.CACHE_DIR)
    yield _HERE / "__pycache__"
    if sys.platform == "win32":
        yield Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "mislid"
    else:
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mislid"


@cache
def cache_folder() -> Path:
    """The first folder that can be written to and is trusted; else a temporary one."""
    for candidate in _candidates():
        # What a link points to now is looked at, and used, wherever it may point later.
        folder = candidate.resolve()
        if _is_usable(folder):
            return folder
    temporary = tempfile.mkdtemp(prefix="mislid-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    # Worker processes of this one need not compile again: theirs is the same.
    os.environ["NUMBA_CACHE_DIR"] = temporary
    folder = _of(temporary)
    folder.mkdir(mode=0o700)
    warnings.warn(
        "compiled kernels cannot be kept: neither the package's folder nor the user's cache can "
        "be written to and is this user's alone. They are compiled again in every new process. "
        "Set NUMBA_CACHE_DIR to a folder of your own to keep them",
        RuntimeWarning,
        stacklevel=2,
    )
    return folder


class _Locator(_CacheLocator):
    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._file = Path(file)

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        if self._file.parent == _HERE:
            return source_stamp()
        own = hashlib.sha256(self._file.read_bytes()).hexdigest()
        return source_stamp() + own

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Storage(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _SealedFile(IndexDataCacheFile):
    """numba's files, each after a digest of its content, of the sources and of numba's version.

    What does not have the right one is not there: nothing of it is unpickled or run.
    """

    def _seal(self, data: bytes) -> bytes:
        return hashlib.sha256(f"{self._version} {self._source_stamp} ".encode() + data).digest()

    def _load(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        seal, data = content[:_SEAL], content[_SEAL:]
        # The digest is that of what this user wrote to a folder of their own.
        return pickle.loads(data) if seal == self._seal(data) else None  # noqa: S301

    def _save(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._seal(data) + data)

    def _load_index(self) -> dict[Any, str]:
        return self._load(self._index_path) or {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._save(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._load(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._save(self._data_path(name), data)


class KernelCache(FunctionCache):
    """numba's cache of one function, in that folder and with that stamp."""

    _impl_class = _Storage

    def __init__(self, function: Callable[..., Any], missed: Callable[[], None]) -> None:
        super().__init__(function)
        self._missed = missed
        self._cache_file = _SealedFile(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is stored; calls `missed` where there is nothing, which is compiled then."""
        found = super().load_overload(sig, target_context)
        if found is None:
            self._missed()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it where that can be: what is compiled runs in any case."""
        try:
            super().save_overload(sig, data)
        except OSError as problem:
            _say_once(problem.strerror or str(problem))


@cache
def _say_once(why: str) -> None:
    warnings.warn(
        f"a compiled kernel cannot be kept in {str(cache_folder())!r}: {why}. It is compiled again "
        "in every new process until that is mended",
        RuntimeWarning,
        stacklevel=2,
    )
