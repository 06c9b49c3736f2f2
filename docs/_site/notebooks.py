"""Outputs of notebooks are kept in build/, as long as the package and the files they read stay."""

import hashlib
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

import mislid


def stamp(docs: Path) -> str:
    """Give a digest of all that a notebook's outputs may depend on besides itself."""
    sources = sorted(Path(mislid.__file__).parent.rglob("*.py"))
    data = [each for each in sorted((docs / "tutorials").rglob("*")) if each.suffix != ".ipynb"]
    digest = hashlib.sha256()
    for each in sources + [each for each in data if each.is_file()]:
        digest.update(each.read_bytes())
    return digest.hexdigest()[:16]


def choose_cache(app: Sphinx, config: Config) -> None:
    """Let the outputs of an older package go."""
    folder = Path(app.doctreedir).parent / "notebooks"
    chosen = folder / stamp(Path(app.srcdir))
    for old in folder.glob("*"):
        if old != chosen:
            shutil.rmtree(old)
    config.nb_execution_cache_path = str(chosen)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call this before the notebooks are read."""
    app.connect("config-inited", choose_cache, priority=100)
    return {"parallel_read_safe": True}
