"""Folders of compiled kernels: those to load from, and the one where new kernels are kept.

Stored code is run as it is loaded: what another user could have written is not looked at. A folder
that was filled beforehand and can only be read, as in an image of a container, serves as well.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from numba import config

_HERE = Path(__file__).parent
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
# Workers of a process with a temporary folder need not compile again: theirs is the same.
INHERITED = "MISLID_TEMPORARY_KERNELS"


def distrust(folder: Path, *, unless_roots: bool = False) -> str:
    """Why others can have written to a folder or put another in its place; empty if they cannot.

    What root owns is another user's, unless it is only to be read.
    """
    if not hasattr(os, "getuid"):
        return ""  # access lists of other systems say more than owner and mode
    about = folder.stat()
    if about.st_uid != os.getuid() and not (unless_roots and about.st_uid == _ROOT):
        return "belongs to another user"
    if about.st_mode & _OTHERS_WRITE:
        return "can be written to by other users"
    # Whoever owns the root of all files is root, under whatever number a container shows it.
    trusted = {os.getuid(), _ROOT, folder.parents[-1].stat().st_uid}
    for parent in folder.parents:
        above = parent.stat()
        if above.st_uid not in trusted or _lets_all_rename(above.st_mode):
            return f"is in {str(parent)!r}, where other users can rename it"
    return ""


def _lets_all_rename(mode: int) -> bool:
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def is_trusted_file(descriptor: int) -> bool:
    """Whether only this user or root can have written what is in an open file."""
    if not hasattr(os, "getuid"):
        return True
    about = os.fstat(descriptor)
    return about.st_uid in (os.getuid(), _ROOT) and not about.st_mode & _OTHERS_WRITE


def close_to_others(descriptor: int) -> None:
    """Let nobody else write to an open file, whatever the umask."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) & ~_OTHERS_WRITE)


def _why_not(folder: Path) -> str:
    """Why kernels cannot be kept in a folder, which is made if it is missing; empty if they can."""
    try:
        for part in (*reversed(folder.parents), folder):
            part.mkdir(mode=0o700, exist_ok=True)
        reason = distrust(folder)
        if not reason:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        return f"cannot be written to ({problem.strerror or problem})"
    return reason


def _can_be_read(folder: Path) -> bool:
    try:
        return folder.is_dir() and not distrust(folder, unless_roots=True)
    except OSError:
        return False


def _of(numba_folder: str) -> Path:
    return Path(numba_folder) / "mislid"


def _candidates() -> Iterator[Path]:
    if config.CACHE_DIR:
        yield _of(config.CACHE_DIR)
    yield _HERE / "__pycache__"
    users = _users_folder()
    if users is not None:
        yield users


def _users_folder() -> Path | None:
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", "~"))
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return folder.expanduser() / "mislid"
    except RuntimeError:  # a user without a home, as in containers that run under any number
        return None


@dataclass
class Places:
    """Where to look for kernels, in this order, and where new ones are kept for later processes."""

    to_load: list[Path] = field(default_factory=list)
    to_keep: Path | None = None
    problems: list[str] = field(default_factory=list)


@cache
def places() -> Places:
    """The first folder that can be written to and is trusted, and those before it to read."""
    found = Places()
    for candidate in _candidates():
        # What a link points to now is looked at, and used, wherever it may point later.
        try:
            folder = candidate.resolve()
            reason = _why_not(folder)
        except RuntimeError:  # links in a circle
            folder, reason = candidate, "cannot be found: links lead in a circle"
        if not reason:
            found.to_keep = folder
            found.to_load.append(folder)
            return found
        asked = config.CACHE_DIR and candidate == _of(config.CACHE_DIR)
        name = "NUMBA_CACHE_DIR, " if asked else ""
        found.problems.append(f"{name}{str(folder)!r} {reason}")
        if _can_be_read(folder):
            found.to_load.append(folder)
    if _users_folder() is None:
        found.problems.append("the user has no home directory")
    inherited = _inherited_folder()
    if inherited is not None:
        found.to_load.append(inherited)
    return found


def are_kept() -> bool:
    """Whether later processes find what is compiled now."""
    return places().to_keep is not None


def cache_folder() -> Path | None:
    """Where new kernels go: a folder that lasts, else a temporary one; None if there is neither."""
    return places().to_keep or _temporary_folder()


def _inherited_folder() -> Path | None:
    given = os.environ.get(INHERITED)
    if not given:
        return None
    folder = Path(given).resolve()
    return folder if _can_be_read(folder) and not distrust(folder) else None


@cache
def _temporary_folder() -> Path | None:
    inherited = _inherited_folder()
    if inherited is not None:
        return inherited
    warnings.warn(
        f"compiled kernels cannot be kept: {'; '.join(places().problems)}. What is compiled now is "
        "compiled again in every new process. Set NUMBA_CACHE_DIR to a folder of your own, which "
        "no other user can write to, to keep it",
        RuntimeWarning,
        stacklevel=2,
    )
    try:
        folder = Path(tempfile.mkdtemp(prefix="mislid-")).resolve()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        if distrust(folder):
            return None
    except OSError:
        return None
    os.environ[INHERITED] = str(folder)
    places().to_load.append(folder)
    return folder
