"""Checks of the options of algorithms and of their parts.

Numbers are looked at here and not by `_validation`, which brings NumPy along: commands list the
algorithms without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, get_args

from mislid._formatting import shown
from mislid.errors import ProblemError

# The largest integer of 64 bits.
MOST = (1 << 63) - 1


class Allowed(NamedTuple):
    """What an option may be.

    Attributes
    ----------
    words
        For the message that refuses others.
    fits
        Whether a value is allowed.
    """

    words: str
    fits: Callable[[Any], bool]


def or_none(allowed: Allowed) -> Allowed:
    """The same, or None."""
    return Allowed(f"{allowed.words}, or None", lambda one: one is None or allowed.fits(one))


def whole(least: int) -> Allowed:
    """Integers from `least` on.

    >>> whole(1).fits(3), whole(1).fits(0), whole(1).fits(1.5), whole(1).fits(True)
    (True, False, False, False)
    """

    def fits(value: Any) -> bool:
        known = isinstance(value, Integral) and not isinstance(value, bool)
        return known and bool(least <= value <= MOST)

    return Allowed(f"an integer at least {least}", fits)


def number(words: str, inside: Callable[[float], bool]) -> Allowed:
    """Real numbers within some bounds.

    >>> share = number("a number above 0 and below 1", lambda value: 0 < value < 1)
    >>> share.fits(0.5), share.fits(1), share.fits("0.5"), share.fits(float("nan"))
    (True, False, False, False)
    """
    return Allowed(words, lambda value: inside(_float_or_nan(value)))


def _float_or_nan(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def part(kinds: Any) -> Allowed:
    """Parts of the kinds in a union."""
    known = get_args(kinds)
    names = [kind.__name__ for kind in known]
    words = f"of the kind {', '.join(names[:-1])} or {names[-1]}"
    return Allowed(words, lambda value: type(value) in known)


def _is_flag(value: Any) -> bool:
    """0 and 1 are taken for False and True, and so are those of NumPy."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind == "b":
        return value.ndim == 0
    return isinstance(value, Integral) and value in (0, 1)


FLAG = Allowed("True or False", _is_flag)
NUMBER = number("a number", lambda value: not math.isnan(value))


def refuse_options(record: Any) -> None:
    """Refuse options of an algorithm, and of its parts, that are not allowed.

    Flags are known by their type.
    """
    if not is_dataclass(record):
        return
    given = [one for one in fields(record) if one.init]
    flags = {one.name: FLAG for one in given if one.type in ("bool", bool)}
    defaults = {one.name: one.default for one in given}
    for name, allowed in (flags | getattr(record, "_permitted", {})).items():
        value = getattr(record, name)
        if value is defaults.get(name):
            continue
        if not allowed.fits(value):
            raise ProblemError(f"{name} must be {allowed.words}; got {shown(value)}")
        refuse_options(value)
