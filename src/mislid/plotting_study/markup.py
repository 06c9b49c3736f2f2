"""HTML by small functions: whatever is not markup already is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """A text that is markup."""

    __slots__ = ()


def markup(*parts: str) -> Html:
    """Parts one after the other, plain texts escaped.

    >>> markup("a < b", Html("<br>"))
    'a &lt; b<br>'
    """
    return Html(
        "".join(part if isinstance(part, Html) else escape(_visible(part)) for part in parts)
    )


def element(name: str, *parts: str, **attributes: str) -> Html:
    """An element with these contents; a trailing underscore in an attribute's name is dropped.

    >>> element("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_visible(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{written}>{markup(*parts)}</{name}>")


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], classes: Iterable[str] = (), **kind: str
) -> Html:
    """A table; cells of the first column name their row, and rows may have a class each."""
    head = element("tr", *(element("th", text, scope="col") for text in heads))
    marks = list(classes)
    body = []
    for at, (first, *rest) in enumerate(rows):
        mark = {"class_": marks[at]} if at < len(marks) and marks[at] else {}
        cells = (element("th", first, scope="row"), *(element("td", cell) for cell in rest))
        body.append(element("tr", *cells, **mark))
    content = element("table", element("thead", head), element("tbody", *body), **kind)
    return element("div", content, class_="wide")


def _visible(text: str) -> str:
    """A text without control characters, which no page may contain."""
    return "".join(letter if letter.isprintable() or letter == " " else "\ufffd" for letter in text)
