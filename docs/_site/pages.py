"""Generated pages: what every generator of them needs."""

import re
from collections.abc import Mapping
from pathlib import Path


def title(words: str, line: str = "=") -> str:
    """Give a heading in reStructuredText.

    >>> print(title("Study"))
    Study
    =====
    <BLANKLINE>
    """
    return f"{escaped(words)}\n{line * (len(escaped(words)) + 1)}\n"


def escaped(words: str) -> str:
    r"""Give words of which no character is markup.

    >>> print(escaped("n_* [x]"))
    n\_\* [x]
    """
    return re.sub(r"([\\`*_|<>])", r"\\\1", words)


def indented(text: str, by: int = 3) -> str:
    """Give lines that begin further right."""
    return "\n".join(" " * by + line if line.strip() else "" for line in text.splitlines())


def toctree(pages: list[str]) -> str:
    """Give a table of contents that only the sidebar shows."""
    return ".. toctree::\n   :hidden:\n\n" + indented("\n".join(pages)) + "\n"


def table(rows: Mapping[str, str]) -> str:
    """Give names and a sentence for each of them."""
    lines = [f"* - {name}\n  - {words}" for name, words in rows.items()]
    return (
        ".. list-table::\n   :widths: auto\n   :class: names\n\n"
        + indented("\n".join(lines))
        + "\n"
    )


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Write pages by their names below a folder, and leave nothing else there.

    Those that stay the same are not written, so that Sphinx does not read them again.
    """
    wanted = {folder / f"{name}.rst": text for name, text in pages.items()}
    for old in set(folder.rglob("*.rst")) - set(wanted):
        old.unlink()
    for file, text in wanted.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
