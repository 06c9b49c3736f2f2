"""Numbers, times, tables and HTML for messages, commands, pictures and reports."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Any

from mislid.errors import MissingPackageError

if TYPE_CHECKING:
    from pandas import DataFrame

# Seconds since 1970 at the beginning of the year 1 and at the end of 9999.
_CALENDAR = -62_135_596_800.0, 253_402_300_799.0
# Categories of Unicode: control, format, surrogate, line and paragraph separator.
_CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Zero-width non-joiner and joiner.
_JOINERS = "\u200c\u200d"
# Passwords between the user name and the last @, and in options of drivers.
_SECRETS = (
    (r"(://[^:/@?]*):.*@", r"\1:***@"),
    (r"(?i)([?&;\s](?:ssl)?pass(?:word|wd|phrase)?=)[^&;\s]*", r"\1***"),
)


def the_best(m: int) -> str:
    """The target of a question as text.

    >>> the_best(1), the_best(3)
    ('the best', 'the 3 best')
    """
    return "the best" if m == 1 else f"the {m:,} best"


def moment(seconds: float, *, exact: bool = False) -> str:
    """A time since 1970 in ISO 8601 and UTC: to the second or, if `exact`, to the microsecond.

    Times before the year 1 or after 9999, which a log may hold, become the first or the last one.

    >>> moment(1.7e9), moment(1.7e9 + 0.25, exact=True)
    ('2023-11-14T22:13:20Z', '2023-11-14T22:13:20.250000Z')
    >>> moment(1e12)
    '9999-12-31T23:59:59Z'
    """
    first, last = _CALENDAR
    time = datetime.fromtimestamp(min(max(seconds, first), last), UTC).replace(tzinfo=None)
    return f"{time.isoformat(timespec='microseconds' if exact else 'seconds')}Z"


def shown(value: Any, limit: int = 60) -> str:
    """The repr of any value, shortened for messages.

    >>> shown([1, 2]), shown("a" * 100, limit=9), shown(10**5000)
    ('[1, 2]', "'aaaaa...", 'an integer of 16610 bits')
    """
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, int) and value.bit_length() > 10_000:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - an object's repr may raise anything
        return f"a value of type {type(value).__name__}"
    text = visible(text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def without_password(address: object) -> str:
    """A database address with its password masked.

    >>> without_password("postgresql://lab:secret@host/studies?password=secret&connect_timeout=2")
    'postgresql://lab:***@host/studies?password=***&connect_timeout=2'
    """
    shown = str(address)
    for pattern, mask in _SECRETS:
        shown = re.sub(pattern, mask, shown)
    return shown


def is_control(letter: str) -> bool:
    """Whether a character has an effect instead of a shape, such as a line break or an escape.

    The two joiners do not count, which some scripts and emoji need.

    >>> is_control(chr(27)), is_control(chr(0x202E)), is_control(chr(0x200D)), is_control("a")
    (True, True, False, False)
    """
    return unicodedata.category(letter) in _CONTROLS and letter not in _JOINERS


def visible(text: str) -> str:
    r"""A text whose control characters are escaped, for terminals, logs and pages.

    >>> print(visible("tea" + chr(27) + "[2J" + chr(10)))
    tea\x1b[2J\n
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or _is_shape(letter) else repr(letter)[1:-1]
        for letter in text
    )


def _is_shape(letter: str) -> bool:
    return letter in _JOINERS or unicodedata.category(letter) == "Zs"


def in_ranges(numbers: Iterable[int]) -> list[str]:
    """Sorted integers, with consecutive ones joined to ranges.

    >>> in_ranges([7, 0, 1, 2, 5, 8])
    ['0-2', '5', '7-8']
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]


def number(value: float) -> str:
    """A number with at most four digits; a question mark for NaN.

    >>> number(0.05), number(12345.678), number(float("inf")), number(float("nan"))
    ('0.05', '12,350', '∞', '?')
    """
    if math.isnan(value):
        return "?"
    rounded = float(f"{value:.4g}")
    text = f"{rounded:,.0f}" if abs(rounded) >= 1000.0 else f"{rounded:.4g}"
    return text.replace("inf", "∞").replace("-", "\N{MINUS SIGN}")


def roughly(count: int) -> str:
    """An estimated number of measurements, with two digits.

    >>> roughly(1394980), roughly(87), roughly(123)
    ('1,400,000', '87', '120')
    """
    return f"{float(f'{count:.2g}'):,.0f}"


def rate(probability: float) -> str:
    """A declared probability in percent, with all its digits.

    >>> rate(0.05), rate(0.025), rate(1 - 0.001)
    ('5%', '2.5%', '99.9%')
    """
    return f"{100.0 * probability:.6g}%"


def measurements(n: int) -> str:
    """A number of measurements with its noun.

    >>> measurements(1), measurements(1200)
    ('1 measurement', '1,200 measurements')
    """
    return "1 measurement" if n == 1 else f"{n:,} measurements"


def listed(texts: Sequence[str]) -> str:
    """Texts joined by commas and "and".

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def did_you_mean(word: Any, known: Iterable[Any]) -> str:
    """A suggestion for a mistyped word, if one is close.

    >>> did_you_mean("staus", ["status", "list"]), did_you_mean("x", ["status"])
    ("; did you mean 'status'?", '')
    """
    if not isinstance(word, str):
        return ""
    near = get_close_matches(word, [str(one) for one in known], 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def require_pandas(what: str, instead: str) -> None:
    """Raise an error if pandas is missing; it says what to install or to use instead."""
    try:
        import pandas  # noqa: F401, ICN001 - checks that it is installed
    except ImportError:
        raise MissingPackageError(
            f"{what} needs pandas (pip install 'mislid[cli]'); {instead} without it"
        ) from None


def as_frame(
    rows: Sequence[Any] | Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    what: str = "to_frame",
    instead: str = "the fields say the same",
) -> DataFrame:
    """A DataFrame from rows, or from columns by name."""
    require_pandas(what, instead)
    import pandas as pd

    return pd.DataFrame(rows, columns=None if columns is None else list(columns))


class Html(str):
    """A string that is markup already."""

    __slots__ = ()


def markup(*parts: str) -> Html:
    """Join parts, with plain texts escaped.

    >>> markup("a < b", Html("<br>"))
    'a &lt; b<br>'
    """
    return Html(
        "".join(part if isinstance(part, Html) else escape(visible(part)) for part in parts)
    )


def element(name: str, *parts: str, **attributes: str) -> Html:
    """An HTML element; a trailing underscore in an attribute's name is dropped.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{written}>{markup(*parts)}</{name}>")


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    marks: Sequence[str] = (),
    text: Sequence[int] = (),
    **kind: str,
) -> Html:
    """An HTML table whose first column has row headings; `marks` are CSS classes of rows.

    The other columns hold numbers, except for those in `text`.
    """
    classes = [{"class_": "text"} if at in text else {} for at in range(len(heads))]
    head = element(
        "tr",
        *(element("th", name, scope="col", **at) for name, at in zip(heads, classes, strict=True)),
    )
    body = []
    for at, (first, *rest) in enumerate(rows):
        mark = {"class_": marks[at]} if marks and marks[at] else {}
        cells = (element("td", cell, **of) for cell, of in zip(rest, classes[1:], strict=True))
        body.append(element("tr", element("th", first, scope="row"), *cells, **mark))
    content = element("table", element("thead", head), element("tbody", *body), **kind)
    return element("div", content, class_="wide")


def facts(known: Mapping[str, object]) -> Html:
    """An HTML table of names and values, for notebooks.

    >>> facts({"samples": 3, "answer": ("a", "b")})
    '<table><tbody><tr><th scope="row">samples</th><td>3</td></tr><tr><th scope="row">...
    """
    rows = (
        element("tr", element("th", name, scope="row"), element("td", plain(value)))
        for name, value in known.items()
    )
    return element("table", element("tbody", *rows))


def plain(value: object) -> str:
    """A value as a cell of a table shows it.

    >>> plain(0.05120001), plain(["A12", "C33"]), plain(None)
    ('0.0512', 'A12, C33', '')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return "" if value is None else str(value)
