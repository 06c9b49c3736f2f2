"""How a report looks: light, dark and printed; pictures follow the style sheet."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mislid._html import Html, element
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, PAPER, REST, RULE, as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By its colour in pictures, the name that the style sheet has for it and its colour in the dark.
DARK = {
    INK: ("ink", "#e5e9ef"),
    GREY: ("grey", "#9aa4b2"),
    RULE: ("rule", "#333b47"),
    PAPER: ("paper", "#14181f"),
    BEST: ("best", "#4fb3d4"),
    REST: ("rest", "#64798a"),
    CONTRAST: ("contrast", "#f07f8d"),
}

# Pixels that the smallest label has on any screen.
READABLE = 11.0

_RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--sans); }
main { max-width: 58rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
h1 { font-size: 1.05rem; font-weight: 600; margin: 0; color: var(--grey); overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 4rem 0 0.4rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
.answer { font-size: 2rem; line-height: 1.25; font-weight: 700; margin: 0.6rem 0;
  max-width: none; overflow-wrap: anywhere; }
.answer.long { font-size: 1.35rem; }
.note, figcaption { color: var(--grey); font-size: 0.9rem; }
figcaption { max-width: 46rem; margin-bottom: 1rem; }
figure { margin: 0 0 1.5rem; break-inside: avoid; }
.picture { overflow-x: auto; }
.picture svg { display: block; width: 100%; height: auto; }
.numbers { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 2rem 0 0; padding: 0; }
.numbers div { min-width: 8rem; }
.numbers dt { color: var(--grey); font-size: 0.85rem; }
.numbers dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.box { border-left: 4px solid var(--contrast); padding: 0.6rem 1.1rem; margin: 1.5rem 0;
  background: color-mix(in srgb, var(--contrast) 8%, transparent); break-inside: avoid; }
.box ul { margin: 0.3rem 0; padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; margin: 0.8rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.26rem 1.3rem 0.26rem 0; text-align: right; border-bottom: 1px solid var(--rule);
  font-weight: 400; vertical-align: top; }
th:first-child, .text, .plain td { text-align: left; }
thead th { color: var(--grey); font-size: 0.85rem; vertical-align: bottom; }
tbody th { overflow-wrap: anywhere; min-width: 9rem; }
.plain td { overflow-wrap: anywhere; }
tr.in th, tr.in td { font-weight: 700; }
tr.in th { color: var(--best); }
tr { break-inside: avoid; }
thead { display: table-header-group; }
code { font: 0.85em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@page { margin: 16mm 14mm; }
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h2 { margin-top: 2rem; break-after: avoid; }
  .wide, .picture { overflow: visible; }
  .picture svg { min-width: 0 !important; }
  .box { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def style_sheet() -> str:
    """The rules, with colours for light screens and paper, and for dark screens."""
    light = " ".join(f"--{name}: {colour};" for colour, (name, _) in DARK.items())
    dark = " ".join(f"--{name}: {colour};" for name, colour in DARK.values())
    sans = '--sans: system-ui, "Segoe UI", Helvetica, Arial, sans-serif;'
    return (
        f":root {{ color-scheme: light dark; {sans} {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}{_RULES}"
    )


def as_markup(figure: Figure, description: str, name: str) -> Html:
    """A figure as SVG inside a page, whose colours are the page's.

    `name` keeps apart what several figures of a page define.
    """
    text = re.sub(r"(?s)<!--.*?-->|<metadata>.*?</metadata>", "", as_svg(figure))
    text = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), name), text)
    text = text.replace("<svg ", f'<svg style="min-width: {_least_width(text)}px" ', 1)
    return element("div", Html(text.strip()), class_="picture", role="img", aria_label=description)


def _least_width(picture: str) -> int:
    """How wide a picture must be for all its labels to be readable; a narrow screen scrolls it."""
    box = re.search(r'viewBox="0 0 ([\d.]+)', picture)
    sizes = [float(size) for size in re.findall(r"font(?:-size|): [a-z0-9 ]*?([\d.]+)px", picture)]
    return math.ceil(float(box.group(1)) * READABLE / min(sizes)) if box and sizes else 0


def _tag(tag: str, name: str) -> str:
    """A tag whose colours are the page's, whose font too, and whose ids are this figure's own."""
    if tag.startswith("<svg"):
        box = re.search(r'viewBox="[^"]*"', tag)
        return f"<svg {box.group() if box else ''}>"
    tag = re.sub(r' id="[a-zA-Z.]+_?\d+"(?=[ />])', "", tag) if tag.startswith("<g") else tag
    tag = tag.replace("xlink:href", "href")
    tag = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    # Releases of matplotlib write one property or several.
    tag = re.sub(r"(font: [^;\"]*?px|font-family:) [^;\"]*", r"\1 var(--sans)", tag)
    for light, (variable, _) in DARK.items():
        tag = tag.replace(light, f"var(--{variable})")
    return tag
