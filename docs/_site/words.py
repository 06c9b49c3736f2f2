"""Languages of blocks that Pygments does not know."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Show tables of a sheet as they are."""
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
