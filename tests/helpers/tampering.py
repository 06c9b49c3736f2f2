"""Change one thing in a certificate."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]

# No proof depends on these: they say who measured what, with which programs, and why so.
INFORMATION = r"study|versions\..*|settings\.(algorithm|seed|mean_bound)|log\..*"
# Beside the evidence that is stated, and derived again, their last digits change nothing.
INFORMATION += r"|now\.squares\.\*"
# These help to find a proof. With others the file either proves the same, or nothing.
WITNESSES = r"model\.columns\.\*|evidence\.\*\.(values\.\*|alpha)"


def harmless(certificate: dict[str, Any]) -> str:
    """Places that may be changed without changing what is proved."""
    found = f"{INFORMATION}|{WITNESSES}|seal"
    if {one["family"] for one in certificate["evidence"]} == {"two arms"}:
        # Features prove nothing here, so that the answer holds for other tubes as well.
        found += r"|settings\.misspecification|model\.spanner\.\*"
    return found


def unused_sums(certificate: dict[str, Any]) -> Iterator[Path]:
    """Places of sums and scatter on which no pair's evidence rests,.

    Features make use of all sums, and of no scatter.
    """
    labels = certificate["candidates"]["labels"]
    moments: list[tuple[Path, dict[str, Any]]] = [(("data",), certificate["data"])]
    moments += [(("times", n), one) for n, one in enumerate(certificate["times"])]
    for place, moment in moments:
        pairs = [one for one in certificate["evidence"] if one["samples"] == moment["samples"]]
        own = [one for one in pairs if one["family"] == "two arms"]
        seen = {one[side] for one in own for side in ("challenger", "incumbent")}
        for name in ("scatter", "sums") if len(own) == len(pairs) else ("scatter",):
            yield from ((*place, name, k) for k, one in enumerate(labels) if one not in seen)


def pattern(path: Path) -> str:
    """A place without indices."""
    return ".".join("*" if isinstance(key, int) else key for key in path)


def is_one_of(path: Path, patterns: str) -> bool:
    """Whether the place is one of those."""
    return re.fullmatch(patterns, pattern(path)) is not None


def leaves(plain: Any, most: int = 9, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every text, number, truth value and null, with its place; of long lists about `most`."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield from leaves(value, most, (*path, key))
    elif isinstance(plain, list):
        for k in range(0, len(plain), max(1, len(plain) // most)):
            yield from leaves(plain[k], most, (*path, k))
    else:
        yield path, plain


def others(value: Any, labels: list[Any]) -> list[Any]:
    """What a leaf may be changed to: by a millionth, by a lot, and in sign or kind."""
    if isinstance(value, bool):
        return [not value]
    if value is None:
        return [0.0]
    if value in labels:
        return [labels[labels.index(value) - 1]]
    if isinstance(value, str):
        return [value + "x"]
    if isinstance(value, int):
        return [value + 1, value - 1]
    return [value * (1.0 + 1e-6), value * 1.5, -value] if value else [1e-6, 1.0]


def changed(certificate: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy with another value in one place."""
    new = copy.deepcopy(certificate)
    at: Any = new
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return new


def sealed(certificate: dict[str, Any]) -> dict[str, Any]:
    """The same with a seal that fits, as a forger would make it."""
    certificate["seal"] = digest({k: v for k, v in certificate.items() if k != "seal"})
    return certificate


def digest(plain: Any) -> str:
    """SHA-256 of the canonical text."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
