"""The check of how long sentences and pages are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = "`" * 3


def python(*arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def check(*documents: Path) -> tuple[int, str]:
    return python(ROOT / "scripts" / "check_reading.py", *documents)


def sentence(words: int) -> str:
    return "Word " + "word " * (words - 2) + "end."


def page(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def notebook(folder: Path, *cells: tuple[str, str]) -> Path:
    made = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    return page(folder, "tutorials/one.ipynb", json.dumps({"cells": made}))


def test_its_own_examples() -> None:
    assert python("-m", "doctest", ROOT / "scripts" / "check_reading.py") == (0, "")


def test_the_documentation_can_be_read() -> None:
    status, said = check(ROOT / "README.md", ROOT / "docs")
    assert status == 0, said


def test_sentences_up_to_the_limit_pass(tmp_path: Path) -> None:
    page(tmp_path, "start/one.md", f"# One\n\n{sentence(30)} Two.\n{sentence(14)}\n\nThree:\n")
    notebook(tmp_path, ("markdown", f"{sentence(10)} {sentence(20)}"))
    assert check(tmp_path) == (0, "2 documents, 0 problems\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"Short. {sentence(31)} Short. Short.", "a sentence of 31 words, above 30: Word word"),
        (f"{sentence(16)} {sentence(15)}", "15.5 words a sentence on average, above 15"),
        # No abbreviation, number or line ends a sentence; a name in code counts as one word.
        (
            f"Short. {sentence(20)[:-1]}, e.g. 0.5 of\n`a b` {sentence(10)} Short.",
            "of 34 words",
        ),
    ],
)
def test_twins_that_are_too_long_are_named(tmp_path: Path, text: str, reason: str) -> None:
    for document in (page(tmp_path, "start/one.md", text), notebook(tmp_path, ("markdown", text))):
        status, said = check(document)
        assert status == 1
        assert said.startswith(f"{document}: ")
        assert reason in said
        assert said.endswith("1 documents, 1 problems\n")
    assert check(page(tmp_path, "explained.md", text)) == (0, "1 documents, 0 problems\n")


def test_what_is_no_prose_has_no_sentences(tmp_path: Path) -> None:
    long = sentence(40)
    page(
        tmp_path,
        "start/one.md",
        f"# {long}\n\n| {long} | {long} |\n\n{FENCE}python\n# {long}\n{FENCE}\n\n"
        f"    {long}\n\n- `{long}`\n\n![{long}](a.png)\n\n<!-- {long} -->\n\n$$\n{long}\n$$\n\n"
        f"[short](https://example.org/{'a-' * 40}b)\n",
    )
    notebook(tmp_path, ("code", f"# {long}"), ("markdown", "Short."))
    assert check(tmp_path) == (0, "2 documents, 0 problems\n")


def test_pages_take_ten_minutes(tmp_path: Path) -> None:
    text = "# A page\n\n" + "A word. " * 1_000 + "\n\n| a | b |\n|---|---|\n" + "| c | d |\n" * 147
    code = f"\n{FENCE}\n{'code ' * 3_000}\n{FENCE}\n"
    document = page(tmp_path, "explained.md", text + code)
    assert check(document) == (0, "1 documents, 0 problems\n")
    page(tmp_path, "explained.md", text + code + "| e |\n| f |\n| g |\n")
    status, said = check(document, tmp_path / "absent.md")
    assert status == 1
    assert f"{document}: 2,301 words, above 2,300; split it" in said
    assert "absent.md: no such file" in said
    assert check(page(tmp_path, "benchmarks.md", text * 9)) == (0, "1 documents, 0 problems\n")
