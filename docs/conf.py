"""How `make docs` builds the site with Sphinx."""

from typing import Any

import mislid

project = "mislid"
author = "The mislid authors"
copyright = author  # noqa: A001 - Sphinx wants this name
release = version = mislid.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["**.ipynb_checkpoints", "reference/templates"]
templates_path = ["reference/templates"]
root_doc = "index"
smartquotes = False  # options begin with two hyphens

# The anchors of headings are those of a forge.
myst_heading_anchors = 3

# Notebooks are kept without outputs and run here; one that fails fails the site.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

default_role = "py:obj"
add_module_names = False
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"mislid {release}"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["mislid.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
# Blocks of a language and a file name, such as `csv plate.csv`, are shown as they are.
suppress_warnings = ["misc.highlighting_failure"]


def skip(
    app: Any, kind: str, name: str, value: Any, skipped: bool, options: dict[str, Any]
) -> bool | None:
    """Document a name once: in `mislid`, if it is published there."""
    elsewhere = app.env.current_document.autodoc_module != "mislid"
    return True if kind == "module" and elsewhere and name in mislid.__all__ else None


def setup(app: Any) -> None:
    """Let Sphinx call the function above."""
    app.connect("autodoc-skip-member", skip)
