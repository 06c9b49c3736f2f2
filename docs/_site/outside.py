"""Links that leave docs/ lead to the repository, since the site has only what is in docs/."""

import re
from pathlib import Path

from sphinx.application import Sphinx

REPOSITORY = "https://github.com/mislid/mislid/blob/main/"
LINK = re.compile(r"\]\((?P<target>\.\./[^)\s]+)\)")


def lead_outside(app: Sphinx, name: str, source: list[str]) -> None:
    """Let the links of a page that leave docs/ lead to the repository."""
    docs = Path(app.srcdir).resolve()
    folder = (docs / name).parent

    def address(link: re.Match[str]) -> str:
        place = (folder / link["target"]).resolve()
        if place.is_relative_to(docs) or not place.is_relative_to(docs.parent):
            return link[0]
        return f"]({REPOSITORY}{place.relative_to(docs.parent).as_posix()})"

    source[0] = LINK.sub(address, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call this before it reads a page."""
    app.connect("source-read", lead_outside)
    return {"parallel_read_safe": True}
