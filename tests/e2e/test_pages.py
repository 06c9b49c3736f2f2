"""Examples of the pages of the documentation.

The blocks of a page share their names. Python blocks are doctests if they have prompts. A block of
a language and a file name, such as `csv plate.csv`, becomes that file. A console block has lines
`$ mislid ...`, `$ cat FILE` or `$ export NAME=VALUE`, and what they print on either stream.
"""

import doctest
import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.abstract.codeblock import AbstractCodeBlockParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

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
