"""The reference of the commands: a page for each of them, made from what `--help` says."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
from pages import escaped, indented, table, title, toctree, write
from sphinx.application import Sphinx

from mislid.cli.app import LazyGroup
from mislid.cli.app import app as program

FOLDER = "reference/commands"


def context(command: click.Command, above: click.Context | None = None) -> click.Context:
    """Give the context in which a command is called."""
    name = command.name if above else "mislid"
    return click.Context(command, parent=above, info_name=name, **command.context_settings)


def below(here: click.Context) -> list[click.Context]:
    """Give the commands of a group; others have none."""
    group = here.command
    if not isinstance(group, click.Group):
        return []
    found = [group.get_command(here, name) for name in group.list_commands(here)]
    return [context(each, here) for each in found if each is not None]


def pages(here: click.Context) -> dict[str, str]:
    """Give the pages of a command and of all below it, by their names."""
    found = {file(here): page(here)}
    for each in below(here):
        found |= pages(each)
    return found


def file(here: click.Context) -> str:
    """Give the name of a command's page; that of the program is the first."""
    return here.command_path.partition(" ")[2].replace(" ", "-") or "index"


def page(here: click.Context) -> str:
    """Give the page of a command."""
    usage = " ".join([here.command_path, *here.command.collect_usage_pieces(here)])
    return "\n".join(
        [
            title(here.command_path if here.parent else "Commands"),
            f".. code-block:: text\n\n   {usage}\n",
            prose(here.command.help or "") + "\n",
            f".. program:: {here.command_path}\n",
            *options(here),
            *examples(here.command.epilog or ""),
            *contents(here),
        ]
    )


def prose(words: str) -> str:
    """Give the words of a help, in which single backquotes are code."""
    parts = re.split(r"`([^`]*)`", inspect.cleandoc(words))
    return "".join(f"``{part}``" if n % 2 else escaped(part) for n, part in enumerate(parts))


def options(here: click.Context) -> Iterator[str]:
    """Give what a command may be called with, but for --help."""
    for each in here.command.params:
        names, words = each.get_help_record(here) or ("", "")
        if words:
            shown = re.sub(r"  (\[[^\[]*\])$", r" \1", words)
            yield f".. option:: {names.replace(' / ', ', ')}\n\n{indented(prose(shown))}\n"


def examples(epilog: str) -> Iterator[str]:
    """Give the calls at the end of a help."""
    calls = [line.strip() for line in epilog.splitlines() if line.startswith("  ")]
    if calls:
        lines = "\n".join(f"$ {call}" for call in calls)
        yield f".. rubric:: Examples\n\n.. code-block:: console\n\n{indented(lines)}\n"


def contents(here: click.Context) -> Iterator[str]:
    """Give the table of a group's commands, with a sentence for each."""
    if found := below(here):
        links = {each: f":doc:`{each.command_path} <{file(each)}>`" for each in found}
        yield ".. rubric:: Commands\n"
        yield table({links[each]: prose(summary(each)) for each in found})
        yield toctree([f"{each.command_path} <{file(each)}>" for each in found])


def summary(here: click.Context) -> str:
    """Give the sentence that a group has for one of its commands."""
    group = here.parent.command if here.parent else None
    if isinstance(group, LazyGroup):
        return group.summaries[str(here.info_name)]
    return here.command.get_short_help_str(limit=200)


def make_pages(app: Sphinx) -> None:
    """Write the pages before Sphinx looks for them."""
    write(Path(app.srcdir) / FOLDER, pages(context(program)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Sphinx call the function above."""
    app.connect("builder-inited", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
