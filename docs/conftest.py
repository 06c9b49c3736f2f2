"""Examples of the pages as tests: `pytest docs`.

Python blocks share the names of their page and are doctests if they have prompts. A block of a
language and a file name, such as `csv plate.csv`, becomes that file. A console block has lines
`$ mislid ...`, `$ cat FILE` or `$ export NAME=VALUE`, and what they print.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.parsers.abstract.codeblock import AbstractCodeBlockParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# In `make test`; all others are slow.
QUICK = {"start.md", "studies.md", "command-line.md"}


class FileParser(AbstractCodeBlockParser):
    """Blocks that are files."""

    language = "file"

    def __init__(self) -> None:
        lexer = RawFencedCodeBlockLexer(re.compile(r"\w+ (?P<name>\S+\.\w+)\n"))
        super().__init__([lexer])

    def __call__(self, document: Any) -> Any:
        """Give a region for each file."""
        for region in self.lexers(document):
            region.parsed, region.evaluator = region.lexemes["source"], self.evaluate
            yield region

    def evaluate(self, example: Example) -> None:
        """Write the file."""
        Path(example.region.lexemes["name"]).write_text(example.parsed, encoding="utf-8")


def console(example: Example) -> str | None:
    """Run the calls of a block and compare what they print on either stream."""
    for call, wanted in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", example.parsed):
        got = printed(shlex.split(call))
        if not doctest.OutputChecker().check_output(wanted, got, FLAGS):
            return f"$ {call}\nexpected:\n{wanted}got:\n{got}"
    return None


def printed(words: list[str]) -> str:
    """Do what a shell would do with the few commands that pages show."""
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        return ""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8")
    from mislid.cli import main

    assert words[0] == "mislid", f"{words[0]} is no command that pages may show"
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        main(words[1:])
    return output.getvalue()


def setup(namespace: dict[str, Any]) -> None:
    """Enter an empty directory."""
    namespace["stack"] = stack = contextlib.ExitStack()
    stack.callback(os.environ.update, dict(os.environ))
    stack.callback(os.environ.clear)
    stack.enter_context(contextlib.chdir(stack.enter_context(tempfile.TemporaryDirectory())))
    os.environ["MPLBACKEND"] = "agg"


def teardown(namespace: dict[str, Any]) -> None:
    """Leave it."""
    namespace["stack"].close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark pages that take long."""
    for item in items:
        if item.path.suffix == ".md" and item.path.name not in QUICK:
            item.add_marker(pytest.mark.slow)


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser("console", console),
        FileParser(),
    ],
    patterns=["*.md"],
    setup=setup,
    teardown=teardown,
).pytest()
