"""Check that pages can be read: short sentences for newcomers, ten minutes for everything.

In Start and Tutorials no sentence has more than 30 words, and those of one document have at most
15 on average. Sentences are those of the prose: not of code, formulas, tables and headings. A name
in code, or a formula within a sentence, is one word. Any page has at most 2,300 words, tables and
headings included, code and formulas not; generated appendices are exempt.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from check_docs import FENCE, LINK, documents

LONGEST_SENTENCE = 30
AVERAGE_SENTENCE = 15
LONGEST_PAGE = 2_300
FOR_NEWCOMERS = {"start", "tutorials"}
APPENDICES = {"benchmarks.md", "published-tables.md", "reproduction.md"}

DISPLAYED = re.compile(r"(?ms)^:::.*?^:::$|\$\$.*?\$\$|<!--.*?-->|\A---\n.*?^---$")
FORMULA = re.compile(r"(?m)(?:(?<=\n\n)|\A)(?: {4}.*\n?)+")
IN_LINE = re.compile(r"`+[^`]+`+|\$[^$\n]+\$")
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINKED = re.compile(r"\[([^\]]*)" + LINK.pattern)
ITEM = re.compile(r"(?m)^ *(?:[-*+]|\d+[.)]) +")
NO_PROSE = re.compile(r"(?m)^(?:\s*\||#+ |\s*>? *[-=*_]{3,} *$).*$")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9])")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|et al|vs|cf|approx|Fig|Eq|Sec|Dr)\.")
WORD = re.compile(r"\S*\w\S*")


def notebooks(arguments: list[str]) -> Iterator[Path]:
    """Give the notebooks contained in the directories named."""
    for folder in filter(Path.is_dir, map(Path, arguments)):
        yield from sorted(folder.rglob("*.ipynb"))


def text_of(document: Path) -> str:
    """Give a page, or the Markdown cells of a notebook."""
    text = document.read_text(encoding="utf-8")
    if document.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def without_code(text: str) -> str:
    r"""Leave out blocks and pictures, and let names in code and formulas be one word.

    >>> without_code("Call `ask(n=3)` once." + chr(10))
    'Call Code once.\n'
    """
    text = DISPLAYED.sub("", PICTURE.sub("", FENCE.sub("", text)))
    return LINKED.sub(r"\1", IN_LINE.sub("Code", FORMULA.sub("", text)))


def sentences(text: str) -> Iterator[str]:
    r"""Give the sentences of prose; a list's item, or a paragraph, ends the last one.

    >>> list(sentences("# No\n\nOne has 0.5 g, e.g. `x`.\nTwo.\n\n- an item\n- (Three.)\n"))
    ['One has 0.5 g, e.g Code.', 'Two.', 'an item', '(Three.)']
    """
    prose = ITEM.sub("\n\n", NO_PROSE.sub("\n", without_code(text)))
    for paragraph in re.split(r"\n\s*\n", ABBREVIATION.sub(r"\1", prose)):
        for sentence in SENTENCE_END.split(" ".join(paragraph.split())):
            if WORD.search(sentence):
                yield sentence


def words(text: str) -> int:
    """Count words: whatever has a letter or a digit in it."""
    return len(WORD.findall(text))


def hard_sentences(document: Path) -> Iterator[str]:
    """Say which sentences of a document are too long, alone or on average."""
    counted = [(words(sentence), sentence) for sentence in sentences(text_of(document))]
    for count, sentence in counted:
        if count > LONGEST_SENTENCE:
            yield f"{document}: a sentence of {count} words, above {LONGEST_SENTENCE}: {sentence}"
    average = sum(count for count, _ in counted) / max(len(counted), 1)
    if average > AVERAGE_SENTENCE:
        yield f"{document}: {average:.1f} words a sentence on average, above {AVERAGE_SENTENCE}"


def problems(document: Path) -> Iterator[str]:
    """Say what makes a document hard to read."""
    if document.parent.name in FOR_NEWCOMERS:
        yield from hard_sentences(document)
    count = words(without_code(text_of(document)).replace("|", " "))
    if count > LONGEST_PAGE and document.name not in APPENDICES:
        yield f"{document}: {count:,} words, above {LONGEST_PAGE:,}; split it"


def main(arguments: list[str]) -> int:
    """Check all documents; the exit status is 1 when anything is wrong."""
    named = [*documents(arguments), *notebooks(arguments)]
    found = [path for path in named if path.is_file()]
    wrong = [f"{path}: no such file" for path in named if path not in found]
    wrong += [problem for path in found for problem in problems(path.resolve())]
    print("\n".join([*wrong, f"{len(found)} documents, {len(wrong)} problems"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
