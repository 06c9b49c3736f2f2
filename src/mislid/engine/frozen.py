"""All that an engine has come to, as arrays that can be kept in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mislid._words import shown
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from mislid._jit.structs import Struct

Frozen = dict[str, NDArray[Any]]


def changes(struct: Struct, fresh: Struct, place: str) -> Frozen:
    """What is not as it was at first, by its place.

    Addresses of kernels, which are others in every process, never change, so they are not kept.
    """
    found: Frozen = {}
    first = fresh.fields()
    for name, value in struct.fields().items():
        where = f"{place}.{name}"
        if hasattr(value, "numba_type"):
            found |= changes(value, first[name], where)
        elif np.asarray(value).tobytes() != np.asarray(first[name]).tobytes():
            found[where] = np.array(value)
    return found


def refuse_others(frozen: Any) -> None:
    """Refuse what no engine has frozen."""
    if not _is_frozen(frozen):
        raise ProblemError(f"frozen must come from freeze of an engine; got {shown(frozen)}")


def _is_frozen(frozen: Any) -> bool:
    if not isinstance(frozen, dict) or "decided" not in frozen:
        return False
    arrays = all(isinstance(at, str) and isinstance(one, np.ndarray) for at, one in frozen.items())
    return arrays and frozen["decided"].shape == ()


def restore(struct: Struct, kept: Frozen, place: str) -> None:
    """Change a fresh one accordingly."""
    for where, value in kept.items():
        if where.startswith(f"{place}."):
            _restore(struct, where.removeprefix(f"{place}.").split("."), value)


def _restore(struct: Any, path: list[str], value: NDArray[Any]) -> None:
    *outer, name = path
    for part in outer:
        struct = struct.fields().get(part) if hasattr(struct, "fields") else None
    now = np.asarray(struct.fields().get(name)) if hasattr(struct, "fields") else None
    if now is None or now.shape != value.shape or now.dtype != value.dtype:
        raise ProblemError(f"what is kept of {'.'.join(path)} must be of an engine like this one")
    if now.ndim:
        struct.fields()[name][...] = value
    else:
        setattr(struct, name, value.item())
