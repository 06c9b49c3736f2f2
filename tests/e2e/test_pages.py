"""Examples of the pages of the documentation.

The blocks of a page share their names. Python blocks are doctests if they have prompts. A block of
a language and a file name, such as `csv plate.csv`, becomes that file. A console block has lines
`$ mislid ...`, `$ cat FILE` or `$ export NAME=VALUE`, and what they print on either stream.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.abstract.codeblock import AbstractCodeBlockParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from mislid.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
QUICK = {"start", "studies", "command-line"}
PAGES = [
    pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(DOCS.glob("*.md"))
]


class FileParser(AbstractCodeBlockParser):
    """Blocks that are files."""

    language = "file"

    def __init__(self):
        super().__init__([RawFencedCodeBlockLexer(re.compile(r"\w+ (?P<name>\S+\.\w+)\n"))])

    def __call__(self, document):
        for region in self.lexers(document):
            region.parsed, region.evaluator = region.lexemes["source"], self.evaluate
            yield region

    def evaluate(self, example):
        Path(example.region.lexemes["name"]).write_text(example.parsed, encoding="utf-8")


def console(example):
    """Run the calls of a block and compare what they print."""
    for call, wanted in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", example.parsed):
        got = printed(shlex.split(call))
        if not doctest.OutputChecker().check_output(wanted, got, FLAGS):
            return f"$ {call}\nexpected:\n{wanted}got:\n{got}"
    return None


def printed(words):
    """Do what a shell would do with the few commands that pages show."""
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        return ""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8")
    assert words[0] == "mislid", f"{words[0]} is no command that pages may show"
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        main(words[1:])
    return re.sub(r"(?m)^\r?mislid: compiling, .*\n", "", output.getvalue())


PARSERS = [
    PythonCodeBlockParser(doctest_optionflags=FLAGS),
    CodeBlockParser("console", console),
    FileParser(),
]


@pytest.mark.parametrize("path", PAGES)
def test_examples_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("MISLID_STORAGE", "")  # restored, whatever the page exports
    monkeypatch.delenv("MISLID_STORAGE")
    for example in Sybil(PARSERS).parse(path).examples():
        example.evaluate()
