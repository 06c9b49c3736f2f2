"""Check the documentation: relative links lead somewhere and blocks run.

A Python block with `>>>` prompts is a doctest; one without is executed. A console block has lines
`$ mislid ...` (also `$ cat FILE` and `$ export NAME=VALUE`) and what they print, in which `...`
stands for anything. A block of a language and a file name, such as `csv plate.csv`, is that file.
The blocks of one file share their names, and run in an empty directory so that what they save
litters nothing.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```")
LINK = re.compile(r"\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HEADING = re.compile(r"(?m)^#+ +(?P<title>.+?) *$")


def documents(arguments: list[str]) -> Iterator[Path]:
    """Give the Markdown files named or contained in the directories named."""
    for argument in map(Path, arguments):
        if argument.is_dir():
            yield from sorted(argument.rglob("*.md"))
        else:
            yield argument


def anchors(text: str) -> set[str]:
    """Give the fragments that GitHub makes of the headings.

    >>> sorted(anchors("# The `Model` set, twice" + chr(10)))
    ['the-model-set-twice']
    """
    titles = (match["title"] for match in HEADING.finditer(FENCE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(document: Path) -> Iterator[str]:
    """Say which relative links of a document lead nowhere."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target, _, fragment = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = document.parent / target if target else document
        if not place.exists():
            yield f"{document}: link to {match['target']}, which does not exist"
        elif fragment and fragment not in anchors(place.read_text(encoding="utf-8")):
            yield f"{document}: link to {match['target']}, a heading that does not exist"


def failing_blocks(document: Path) -> Iterator[str]:
    """Say which blocks of a document fail."""
    text = document.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    before = dict(os.environ)
    for match in FENCE.finditer(text):
        line = text[: match.start("body")].count("\n")
        body = re.sub(f"(?m)^{match['indent']}", "", match["body"])
        language, _, file = match["info"].strip().partition(" ")
        good = True
        if file:
            Path(file).write_text(body, encoding="utf-8")
        elif language == "python":
            good = runs(body, names, runner, str(document), line)
        elif language == "console":
            good = prints(body, f"{document}:{line + 1}")
        if not good:
            yield f"{document}:{line + 1}: the block fails"
    os.environ.clear()
    os.environ.update(before)


def prints(body: str, place: str) -> bool:
    """Run the calls of one console block and compare what they print, on either stream."""
    checker, good = doctest.OutputChecker(), True
    for call, wanted in re.findall(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", body):
        got = printed(shlex.split(call))
        if not checker.check_output(wanted, got, FLAGS):
            print(f"{place}: $ {call}\nexpected:\n{wanted}got:\n{got}")
            good = False
    return good


def printed(words: list[str]) -> str:
    """Do what a shell would, for the few commands that documents need."""
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        return ""
    if words[0] == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in words[1:])
    from mislid.cli import main as mislid

    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        if words[0] == "mislid":
            mislid(words[1:])
        else:
            print(f"{words[0]}: not a command that documents may show")
    return output.getvalue()


def runs(
    body: str, names: dict[str, object], runner: doctest.DocTestRunner, document: str, line: int
) -> bool:
    """Run one block, with the names that earlier blocks left behind."""
    if ">>>" not in body:
        try:
            exec(compile("\n" * line + body, document, "exec"), names)
        except Exception as problem:  # noqa: BLE001 - any failure of the example is a finding
            print(f"{document}: {type(problem).__name__}: {problem}")
            return False
        return True
    test = doctest.DocTestParser().get_doctest(body, names, document, document, line)
    failed = runner.run(test, clear_globs=False).failed
    names.update(test.globs)
    return failed == 0


def main(arguments: list[str]) -> int:
    """Check all documents; the exit status is 1 when anything is wrong."""
    named = [path.resolve() for path in documents(arguments)]
    found = [path for path in named if path.is_file()]
    problems = [f"{path}: no such file" for path in named if path not in found]
    problems += [problem for path in found for problem in broken_links(path)]
    os.environ.setdefault("MPLBACKEND", "agg")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        problems += [problem for path in found for problem in failing_blocks(path)]
    print("\n".join([*problems, f"{len(found)} documents, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
