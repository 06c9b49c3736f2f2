"""The reference of the library: a page for every published name, made from the docstrings."""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from check_docstrings import own_members
from docutils import nodes
from pages import escaped, indented, table, title, toctree, write
from published import Name, catalogue, home, modules, names
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

FOLDER = "reference/api"
DOCUMENT = re.compile(r"`?docs/(?P<page>[\w-]+)\.md`?")
INTRODUCTION = """
Every name that the package publishes, from the docstrings. ``import mislid`` gives the names of
the first module; the others are for those who look further.

"""
# Headings of the first module, by where its names are from.
SUBJECTS = {
    "study": "Studies",
    "model": "Models and questions",
    "question": "Models and questions",
    "simulation": "Simulated runs",
    "geometry": "Geometry and planning",
    "verification": "Certificates",
    "engine": "Rules, step by step",
}
KINDS = {"class": "Classes", "function": "Functions", "exception": "Errors", "data": "Constants"}


def pages() -> dict[str, str]:
    """Give the text of every page of the reference, by its name."""
    known = catalogue()
    published = list(modules())
    texts = {"index": front(published)}
    for module in published:
        texts[f"{module.__name__}/index"] = module_page(module, known)
    return texts | {each.page: name_page(each) for each in known.values()}


def front(published: list[ModuleType]) -> str:
    """Give the page of all modules."""
    rows = {f":doc:`{each.__name__}/index`": first_sentence(each.__doc__) for each in published}
    links = [f"{each.__name__}/index" for each in published]
    return title("Python") + INTRODUCTION + table(rows) + "\n" + toctree(links)


def first_sentence(docstring: str | None) -> str:
    """Give the first paragraph of a docstring, on one line."""
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())


def module_page(module: ModuleType, known: Mapping[str, Name]) -> str:
    """Give the page of a module: what it is for, and its names by subject."""
    found = [known[f"{module.__name__}.{each}"] for each in names(module)]
    if not found:  # its names are published by the package
        found = [each for each in known.values() if home(each).startswith(module.__name__)]
    parts = [title(module.__name__), f".. automodule:: {module.__name__}\n"]
    for subject, entries in by_subject(module, found).items():
        rows = {f":doc:`{each.name} </{FOLDER}/{each.page}>`": summary(each) for each in entries}
        parts += [title(subject, "-"), table(rows)]
    return "\n".join(parts)


def by_subject(module: ModuleType, found: list[Name]) -> dict[str, list[Name]]:
    """Sort names under headings: those of the package by where they are from, others by kind."""
    headings = list(dict.fromkeys([*SUBJECTS.values(), "More", *KINDS.values()]))
    sorted_names: dict[str, list[Name]] = {heading: [] for heading in headings}
    for each in found:
        first = module.__name__ == "mislid" and each.kind != "data"
        heading = SUBJECTS.get(home(each).split(".")[1], "More") if first else KINDS[each.kind]
        sorted_names[heading].append(each)
    return {heading: entries for heading, entries in sorted_names.items() if entries}


def summary(name: Name) -> str:
    """Give the sentence that says what a name is."""
    return linked(first_sentence(comment(name) if name.kind == "data" else name.value.__doc__))


def comment(name: Name) -> str:
    """Give the docstring below a constant."""
    analyzer = ModuleAnalyzer.for_module(home(name))
    return linked("\n".join(analyzer.find_attr_docs()["", name.name]))


def name_page(name: Name) -> str:
    """Give the page of a name, which the sidebar leaves out: there are too many."""
    links = (
        f":doc:`Python </{FOLDER}/index>` / :doc:`{name.module} </{FOLDER}/{name.module}/index>`"
    )
    return "\n".join(
        [
            ":orphan:\n",
            title(name.name),
            f".. rst-class:: path\n\n{links} / {escaped(name.name)}\n",
            f".. currentmodule:: {name.module}\n",
            body(name),
        ]
    )


def body(name: Name) -> str:
    """Give the directive that shows a name, with the members of a class."""
    if name.kind == "data":
        entries = name.value if isinstance(name.value, Mapping) else ()
        keys = ", ".join(f'``"{each}"``' for each in entries)
        value = "" if entries else f"   :value: {name.value!r}\n"
        text = comment(name) + (f"\n\nKeys: {keys}" if keys else "")
        return f".. py:data:: {name.name}\n{value}\n{indented(text)}\n"
    if name.kind == "function":
        return f".. autofunction:: {name.name}\n"
    found = dict.fromkeys(member for member, _ in own_members(name.value))
    shown = f"   :members: {', '.join(found)}\n" if found else ""
    return f".. auto{name.kind}:: {name.name}\n{shown}   :member-order: bysource\n"


def link_documents(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Let docs/noise.md in a docstring be a link."""
    lines[:] = map(linked, lines)


def linked(words: str) -> str:
    """Give words in which names of documents are links."""
    return DOCUMENT.sub(r":doc:`/\g<page>`", words)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Link a name that is written without its module, or with another that publishes it."""
    if node.get("refdomain") != "py":
        return None
    found = targets().get(node["reftarget"])
    if found is None:
        return None
    place = env.domains.python_domain.objects.get(found.full)
    if place is None:
        return None
    return make_refnode(
        app.builder, node["refdoc"], place.docname, place.node_id, content, found.full
    )


@cache
def targets() -> dict[str, Name]:
    """Give the published names by all ways to write them, but for short ones that are several."""
    known = catalogue()
    short: dict[str, set[Name]] = {}
    for each in known.values():
        short.setdefault(each.name, set()).add(each)
    return known | {word: found.pop() for word, found in short.items() if len(found) == 1}


def make_pages(app: Sphinx) -> None:
    """Write the pages before Sphinx looks for them."""
    write(Path(app.srcdir) / FOLDER, pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call the functions above."""
    app.connect("builder-inited", make_pages)
    app.connect("autodoc-process-docstring", link_documents)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
