"""Tables of contents may have room for pages that are not there yet."""

import re
from pathlib import Path

from sphinx.application import Sphinx

GLOB = re.compile(r"(?m)^(?P<pattern>\S*\*)\n")


def drop_empty(app: Sphinx, name: str, source: list[str]) -> None:
    """Leave out the patterns of the home page that no page matches."""
    if name == app.config.root_doc:
        docs = Path(app.srcdir)
        source[0] = GLOB.sub(lambda line: line[0] * any(docs.glob(line["pattern"])), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call this before it reads a page."""
    app.connect("source-read", drop_empty)
    return {"parallel_read_safe": True}
