"""Numbers and sentences for people."""

from __future__ import annotations

import math
from collections.abc import Sequence


def number(value: float) -> str:
    """A number with four digits at most, a question mark for what is none.

    >>> number(0.05), number(12345.678), number(float("inf")), number(float("nan"))
    ('0.05', '12,350', '∞', '?')
    """
    if math.isnan(value):
        return "?"
    if math.isinf(value):
        return "∞" if value > 0 else minus("-∞")
    rounded = float(f"{value:.4g}")
    if abs(rounded) >= 1000.0:
        return minus(f"{rounded:,.0f}")
    return minus(f"{rounded:.4g}")


def whole(value: float) -> str:
    """A number of measurements.

    >>> whole(1234.6), whole(float("inf"))
    ('1,235', '∞')
    """
    return f"{value:,.0f}" if math.isfinite(value) else number(value)


def roughly(value: float) -> str:
    """A number of measurements that nobody knows exactly: two digits.

    >>> roughly(1394980), roughly(87.4), roughly(123.4)
    ('1,400,000', '87', '120')
    """
    return whole(float(f"{value:.2g}") if value >= 100.0 else value)


def decimals(values: Sequence[float], digits: int = 3) -> int:
    """Decimals that show so many digits of the smallest of positive values, at least 0.

    >>> decimals([0.0123, 4.5]), decimals([250.0])
    (4, 0)
    """
    positive = [value for value in values if 0.0 < value < math.inf]
    if not positive:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(min(positive))), 0), 12)


def fixed(value: float, places: int) -> str:
    """A number with so many decimals; a question mark where there is none."""
    return minus(f"{value:,.{places}f}") if math.isfinite(value) else number(value)


def percent(share: float) -> str:
    """A share; below one percent with two digits, and never all where something is missing.

    >>> percent(0.05), percent(0.876), percent(0.00123), percent(0.9996)
    ('5%', '88%', '0.12%', '99.9%')
    """
    if not math.isfinite(share):
        return number(share)
    if 0.99 <= share < 1.0:
        return f"{math.floor(1000.0 * share) / 10.0:.1f}%"
    return f"{100.0 * share:.2g}%" if abs(share) < 0.01 else f"{100.0 * share:,.0f}%"


def rate(probability: float) -> str:
    """A probability as it was given, in percent.

    >>> rate(0.05), rate(0.025), rate(1 - 0.001)
    ('5%', '2.5%', '99.9%')
    """
    return minus(f"{100.0 * probability:.6g}%")


def minus(text: str) -> str:
    """A proper minus sign."""
    return text.replace("-", "\N{MINUS SIGN}")


def measurements(n: int) -> str:
    """How many.

    >>> measurements(1), measurements(1200)
    ('1 measurement', '1,200 measurements')
    """
    return "1 measurement" if n == 1 else f"{n:,} measurements"


def listed(texts: Sequence[str]) -> str:
    """Texts in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
