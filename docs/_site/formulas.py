"""Formulas as MathML, which browsers draw themselves: no script, no network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

# LaTeX takes one digit for each half, the translator both for the first.
HALVES = re.compile(r"\\frac\s*(\d)(\d)")


def show(writer: Any, node: nodes.Element) -> None:
    """Write a formula; one on a line of its own scrolls where the window is narrow."""
    block = isinstance(node, nodes.math_block)
    tag = "div" if block else "span"
    try:
        drawn = str(tex2mathml(HALVES.sub(r"\\frac{\1}{\2}", node.astext()), as_block=block))
    except MathError as problem:
        logging.getLogger(__name__).warning("formula: %s", problem, location=node)
        raise nodes.SkipNode from problem
    writer.body.append(f'<{tag} class="formula">{drawn}</{tag}>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx write formulas in this way."""
    app.add_html_math_renderer("mathml", (show, None), (show, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
