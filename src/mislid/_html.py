"""HTML by small functions: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from mislid._words import visible


class Html(str):
    """A text that is markup."""

    __slots__ = ()


def markup(*parts: str) -> Html:
    """Parts one after the other, plain texts escaped.

    >>> markup("a < b", Html("<br>"))
    'a &lt; b<br>'
    """
    return Html(
        "".join(part if isinstance(part, Html) else escape(visible(part)) for part in parts)
    )


def element(name: str, *parts: str, **attributes: str) -> Html:
    """An element with these contents; a trailing underscore in an attribute's name is dropped.

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
    """A table whose first column names its rows, which may have a class each.

    Other columns hold numbers, but for those in `text`.
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
    """A table of names and values, as notebooks show a record.

    >>> facts({"samples": 3, "answer": ("a", "b")})
    '<table><tbody><tr><th scope="row">samples</th><td>3</td></tr><tr><th scope="row">...
    """
    rows = (
        element("tr", element("th", name, scope="row"), element("td", _shown(value)))
        for name, value in known.items()
    )
    return element("table", element("tbody", *rows))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one) for one in value)
    return "" if value is None else str(value)
