"""Colours, which a page can change for dark screens, and figures as part of its markup."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mislid.plotting_study.markup import Html, element, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY, RULE, PAPER = "#1f2937", "#6b7280", "#d5dae1", "#ffffff"
BEST, REST, OPTIMAL = "#2a7f9e", "#94a9b8", "#d1495b"
# By its colour in light, the name that style sheets know it by and its colour in the dark.
DARK = {
    INK: ("ink", "#e5e9ef"),
    GREY: ("grey", "#9aa4b2"),
    RULE: ("rule", "#333b47"),
    PAPER: ("paper", "#14181f"),
    BEST: ("best", "#4fb3d4"),
    REST: ("rest", "#64798a"),
    OPTIMAL: ("optimal", "#f07f8d"),
}
WIDTH = 9.2
LONGEST = 24

# To its own types, matplotlib's settings are not a dict of texts.
_STYLE: Any = {
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,  # a label may contain dollars
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.facecolor": "none",
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "mislid",
}


@contextmanager
def drawing() -> Iterator[None]:
    """The style of a report's figures; scripts that fonts here lack are no matter for a browser."""
    from matplotlib import rc_context

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(height: float) -> Figure:
    """An empty figure as wide as a page."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def as_markup(figure: Figure, description: str, name: str) -> Html:
    """A figure as SVG inside a page: text stays text, colours follow the page's.

    `name` keeps apart what several figures of a page define.
    """
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    text = content.getvalue().decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"(?s)<!--.*?-->|<metadata>.*?</metadata>", "", text)
    text = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), name), text)
    return element("div", Html(text.strip()), class_="picture", role="img", aria_label=description)


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """A figure on white paper."""
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format="png", dpi=dpi, facecolor=PAPER, metadata={"Software": None})
    return content.getvalue()


def shorten(label: str, longest: int = LONGEST) -> str:
    """A label on one line that leaves room for the picture; beginning and end tell most.

    >>> shorten("compound number 33", 12)
    'compou…er 33'
    """
    line = visible(" ".join(label.split()))
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end]}…{line[-end:]}"


def _tag(tag: str, name: str) -> str:
    """A tag whose colours are the page's, whose font too, and whose ids are this figure's own."""
    if tag.startswith("<svg"):
        box = re.search(r'viewBox="[^"]*"', tag)
        return f"<svg {box.group() if box else ''}>"
    tag = re.sub(r' id="[a-zA-Z.]+_?\d+"(?=[ />])', "", tag) if tag.startswith("<g") else tag
    tag = tag.replace("xlink:href", "href")
    tag = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 var(--sans)", tag)
    for light, (variable, _) in DARK.items():
        tag = tag.replace(light, f"var(--{variable})")
    return tag
