"""What a long log has come to, kept in a file of the user's own.

Whoever can write to the database cannot write there: a snapshot holds what this user's process has
derived from sealed events. It is used only where the log still has the event that it ends with, by
its seal; anything odd about it, and the log is read from its beginning.
"""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np

import mislid
from mislid.errors import MislidError
from mislid.io import write_whole
from mislid.study.events import Chain, Entry
from mislid.study.packing import Arrays, Plain, can_be_packed, packed, unpack
from mislid.study.replay import Replay

FOLDER = "MISLID_SNAPSHOTS"
# Events after which a new one is kept.
EVERY = 20_000
_MOST, _LARGEST = 16, 2**30


def folder() -> Path | None:
    """Where snapshots are kept; None where nobody wants them, or where there is no home."""
    given = os.environ.get(FOLDER)
    if given is not None:
        return Path(given).expanduser() if given else None
    if sys.platform == "win32":
        cache_home = os.environ.get("LOCALAPPDATA", "~")
    else:
        cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(cache_home).expanduser() / "mislid" / "studies"
    except RuntimeError:  # a user without a name, as in containers that run under any number
        return None


def are_kept() -> bool:
    """Whether there may be any."""
    home = folder()
    try:
        return home is not None and home.is_dir()
    except OSError:  # a home of somebody else, as of services that are started by another user
        return False


def keep(replay: Replay, chain: Chain) -> bool:
    """Keep a snapshot, if this state can be kept; what cannot be written is left."""
    home, state = folder(), replay.state
    if home is None or not can_be_packed(replay) or state.sequence != chain.sequence:
        return False
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(home):
            return False
        write_whole(home / f"{chain.first}.snapshot", _written(replay, chain))
        _remove_old(home)
    except (OSError, MislidError):
        return False
    return True


def recall(first: str, replay: Replay) -> Chain | None:
    """Let a fresh replay go on from what is kept of the study that begins so; None if nothing is.

    The chain is at the last event that was taken in: see whether the log still has it.
    """
    home = folder()
    place = None if home is None else home / f"{first}.snapshot"
    try:
        if place is None or home is None or not place.is_file() or not _is_own(home):
            return None
        if not _is_own(place) or place.stat().st_size > _LARGEST:
            return None
        header, arrays = _read(place.read_bytes())
        if header["stamp"] != _stamp() or header["first"] != first:
            return None
        with _no_collection():
            unpack(replay, header, arrays)
    except (OSError, MislidError, ValueError, KeyError, TypeError, IndexError, EOFError):
        return None
    return Chain(header["sequence"], header["head"], first)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Many new objects, and no garbage among them: looking for some would double the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def forget(entries: Sequence[Entry]) -> None:
    """Remove what is kept of a study that began with these entries."""
    home = folder()
    if home is not None and entries and re.fullmatch("[0-9a-f]{64}", entries[0].seal):
        with suppress(OSError):
            (home / f"{entries[0].seal}.snapshot").unlink(missing_ok=True)


def _is_own(place: Path) -> bool:
    """Whether nobody else can write there."""
    found = place.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _remove_old(home: Path) -> None:
    kept = sorted(home.glob("*.snapshot"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_MOST]:
        path.unlink(missing_ok=True)


@cache
def _stamp() -> str:
    """Of all that a replay depends on: the package as it is, NumPy, and the kind of processor."""
    home = Path(mislid.__file__).parent
    parts = [mislid.__version__, np.__version__, sys.version, platform.machine(), platform.node()]
    for path in sorted(home.rglob("*.py")):
        found = path.stat()
        parts.append(f"{path.relative_to(home)} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _written(replay: Replay, chain: Chain) -> bytes:
    header, arrays = packed(replay)
    header |= {"stamp": _stamp(), "first": chain.first, "head": chain.head}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    whole = content.getvalue()
    return hashlib.sha256(whole).digest() + whole


def _read(content: bytes) -> tuple[Plain, Arrays]:
    digest, whole = content[:32], content[32:]
    if hashlib.sha256(whole).digest() != digest:
        raise ValueError("the snapshot is damaged")
    with np.load(io.BytesIO(whole), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return json.loads(arrays.pop("header").tobytes()), arrays
