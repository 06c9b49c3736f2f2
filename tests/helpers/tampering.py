"""Change one thing in a certificate."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
MISSING = object()


def leaves(plain: Any, most: int = 9, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every entry that is no list or object, with its place; of long lists about `most`."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from leaves(value, most, (*path, key))
    elif isinstance(plain, list):
        for k in range(0, len(plain), max(1, len(plain) // most)):
            yield from leaves(plain[k], most, (*path, k))
    else:
        yield path, plain


def branches(plain: Any, path: Path = ()) -> Iterator[Path]:
    """Every list and object, with its place."""
    if isinstance(plain, dict | list):
        yield path
        inner = plain.items() if isinstance(plain, dict) else enumerate(plain[:3])
        for key, value in inner:
            yield from branches(value, (*path, key))


def others(value: Any, labels: list[Any]) -> list[Any]:
    """What a leaf may be changed to: by a millionth, by half, in sign, type or kind, or away."""
    found: list[Any] = [MISSING, None, [], {}, "x", True, 1e300, -1, 10**300, float("nan")]
    if isinstance(value, bool) or value is None:
        return [*found, 0.0, 0.1, "a"]
    if value in labels:
        return [*found, *labels, "\x1b[2J", "a\nb", "x" * 201, "\ud800"]
    if isinstance(value, str):
        return [*found, value + "x", "two arms", "linear", "diagonal", "minimize", "maximize"]
    if isinstance(value, int):
        return [*found, value + 1, value - 1, 2 * value, value // 2, float(value)]
    return [*found, value * (1 + 1e-6), value * 1.5, value * 0.5, -value, 0.0, value * 100.0]


def changed(certificate: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy with another value in one place, or without it."""
    new = copy.deepcopy(certificate)
    at: Any = new
    for key in path[:-1]:
        at = at[key]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return new
