"""The style sheet of reports, and figures that follow its light and dark colours."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mislid._formatting import Html, element
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, PAPER, REST, RULE, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours of pictures, by their names in the style sheet.
COLOURS = {
    "ink": INK, "grey": GREY, "rule": RULE, "paper": PAPER,
    "best": BEST, "rest": REST, "contrast": CONTRAST,
}  # fmt: skip
# Pixels of the smallest label on any screen.
READABLE = 11.0


@cache
def style_sheet() -> str:
    """The rules of style.css."""
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def as_markup(figure: Figure, description: str, name: str) -> Html:
    """A figure as SVG inside a page; `name` keeps the ids of several figures apart."""
    text = re.sub(r"(?s)<!--.*?-->|<metadata>.*?</metadata>", "", as_svg(figure))
    text = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), name), text)
    text = text.replace("<svg ", f'<svg style="min-width: {_least_width(text)}px" ', 1)
    return element("div", Html(text.strip()), class_="picture", role="img", aria_label=description)


def _least_width(picture: str) -> int:
    """The width at which all labels are readable; a narrow screen scrolls the picture."""
    box = re.search(r'viewBox="0 0 ([\d.]+)', picture)
    sizes = [float(size) for size in re.findall(r"font(?:-size|): [a-z0-9 ]*?([\d.]+)px", picture)]
    return math.ceil(float(box.group(1)) * READABLE / min(sizes)) if box and sizes else 0


def _tag(tag: str, name: str) -> str:
    """A tag with the colours and the font of the page, and ids of this figure."""
    if tag.startswith("<svg"):
        return re.sub(r'.*(viewBox="[^"]*").*', r"<svg \1>", tag, flags=re.DOTALL)
    tag = re.sub(r'^(<g.*?) id="[a-zA-Z.]+_?\d+"', r"\1", tag).replace("xlink:href", "href")
    tag = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    # Releases of matplotlib write one property or several.
    tag = re.sub(r"(font: [^;\"]*?px|font-family:) [^;\"]*", r"\1 var(--sans)", tag)
    for variable, colour in COLOURS.items():
        tag = tag.replace(colour, f"var(--{variable})")
    return tag
