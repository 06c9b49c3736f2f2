"""How compiled kernels are kept: for these very sources, in files that are known to be whole.

numba looks at a function's own file only, so that a kernel whose parts were edited would run stale.
Here the stamp of every kernel of the package covers the sources of all of them; that of another
one also covers all that it refers to (`reach`). Stored code is run as it is loaded: a file that was
damaged, or that another user could have written, is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)

from mislid._jit.folders import cache_folder, close_to_others, is_trusted_file, places
from mislid._jit.reach import digest_of

_PACKAGE = Path(__file__).parents[1]
_ROOMS = ("_jit", "_kernels", "geometry", "stopping", "algorithms", "engine")
_SEAL = hashlib.sha256().digest_size


@cache
def source_stamp() -> str:
    """A digest of the sources of all kernels."""
    digest = hashlib.sha256()
    for source in sorted(source for room in _ROOMS for source in (_PACKAGE / room).rglob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


# Of the sources as they are imported, not as they are when the first kernel is needed.
source_stamp()


class _Locator(_CacheLocator):
    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._disambiguator = str(function.__code__.co_firstlineno)
        self._stamp = source_stamp()
        if _PACKAGE not in Path(file).parents or function.__closure__ is not None:
            reached = digest_of(function)
            self._stamp += reached
            if function.__closure__ is not None:  # there may be several in the same line
                self._disambiguator += f"-{reached[:16]}"

    def get_cache_path(self) -> str:
        return ""  # there are several, see `KernelCache`

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._disambiguator

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Storage(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


def _open_file(path: str, flags: int) -> int:
    """A file itself, not what a link points to."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


class _SealedFile(IndexDataCacheFile):
    """numba's files, each after a digest of its content, of the sources and of numba's version.

    What does not have the right one is not there: nothing of it is unpickled or run.
    """

    def _seal(self, data: bytes) -> bytes:
        return hashlib.sha256(f"{self._version} {self._source_stamp} ".encode() + data).digest()

    def _load(self, path: str) -> Any:
        try:
            with open(path, "rb", opener=_open_file) as file:
                content = file.read() if is_trusted_file(file.fileno()) else b""
        except OSError:
            return None
        seal, data = content[:_SEAL], content[_SEAL:]
        # The digest is that of what this user, or root, wrote to a folder of their own.
        return pickle.loads(data) if seal == self._seal(data) else None  # noqa: S301

    def _save(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            close_to_others(file.fileno())
            file.write(self._seal(data) + data)

    def load(self, key: Any) -> Any:
        """What was compiled for this key: processes of other kinds may write at the same time."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep it, with its key."""
        super().save(key, (key, data))

    def _load_index(self) -> dict[Any, str]:
        return self._load(self._index_path) or {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._save(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._load(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._save(self._data_path(name), data)


class KernelCache(FunctionCache):
    """numba's cache of one function, in those folders and with that stamp."""

    _impl_class = _Storage

    def __init__(self, function: Callable[..., Any], missed: Callable[[], None]) -> None:
        super().__init__(function)
        self._missed = missed

    def _files(self, folder: Path) -> _SealedFile:
        stamp = self._impl.locator.get_source_stamp()
        return _SealedFile(str(folder), self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is stored; calls `missed` where there is nothing, which is compiled then."""
        found = super().load_overload(sig, target_context)
        if found is None:
            cache_folder()  # says, before it takes long, where nothing can be kept
            self._missed()
        return found

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        for folder in places().to_load:
            data = self._files(folder).load(key)
            if data is not None:
                return self._impl.rebuild(target_context, data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it where that can be: what is compiled runs in any case."""
        folder = cache_folder()
        if folder is None or not self._impl.check_cachable(data):
            return
        try:
            with self._guard_against_spurious_io_errors():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                key = self._index_key(sig, data.codegen)
                self._files(folder).save(key, self._impl.reduce(data))
        except OSError as problem:
            _say_once(folder, problem.strerror or str(problem))


@cache
def _say_once(folder: Path, why: str) -> None:
    warnings.warn(
        f"a compiled kernel cannot be kept in {str(folder)!r}: {why}. It is compiled again "
        "in every new process until that is mended",
        RuntimeWarning,
        stacklevel=2,
    )
