"""How the site is built: `make docs` calls Sphinx with this file."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Parts of this file that are programs of their own, and the list of published names.
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent / "scripts")]

import mislid  # noqa: E402

project = "mislid"
author = "The mislid authors"
copyright = author  # noqa: A001 - Sphinx wants this name
release = version = mislid.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "api",
    "commands",
    "formulas",
    "notebooks",
    "outside",
    "words",
]
exclude_patterns = ["_site", "**.ipynb_checkpoints"]
root_doc = "index"
smartquotes = False  # options begin with two hyphens

# Markdown reads the same on a forge: its headings give the same anchors there and here.
myst_heading_anchors = 6
myst_enable_extensions = ["dollarmath"]
myst_update_mathjax = False

# Notebooks are kept without outputs and run here; one that fails or idles fails the site.
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# Single backquotes in docstrings are names; those that the site knows become links.
default_role = "py:obj"
add_module_names = False
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"mislid {release}"
html_static_path = ["_site/static"]
html_favicon = "_site/static/favicon.svg"
html_css_files = ["mislid.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}  # many pages have no source to view or edit
pygments_style = "friendly"
pygments_dark_style = "github-dark"
