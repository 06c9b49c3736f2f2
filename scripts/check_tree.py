"""Check what git tracks: text, pictures of the documentation, nothing large, no wide documents.

Wheels, archives, compiled kernels and databases are not UTF-8 text, so none of them passes.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST = 1_000_000
# Characters of a line of Markdown, but for tables, pictures and code.
WIDEST = 119
PICTURES = {".png", ".svg"}


def tracked(folder: Path) -> list[Path]:
    """Give the tracked files below a folder; git must be there and keep it."""
    listed = subprocess.run(
        ["git", "-C", folder, "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    files = [folder / name for name in listed.stdout.split("\0")]
    # What is deleted but not yet committed is still listed.
    return [file for file in files if file.is_symlink() or file.is_file()]


def problems(folder: Path, file: Path) -> Iterator[str]:
    """Say what keeps a file from belonging into the tree."""
    place = file.relative_to(folder)
    if file.is_symlink():
        yield f"{place}: a link, which leads elsewhere on other machines (git rm --cached {place})"
        return
    if place.parts[0] == "docs" and file.suffix in PICTURES:
        return
    content = file.read_bytes()
    if len(content) > LARGEST:
        yield f"{place}: {len(content):,} bytes, more than {LARGEST:,}; keep it out of the tree"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        yield f"{place}: a binary file; only pictures in docs/ may be (git rm --cached {place})"
    if file.suffix == ".md":
        for number in wide_lines(text):
            yield f"{place}:{number}: more than {WIDEST} characters; wrap the line"


def wide_lines(text: str) -> Iterator[int]:
    """Give the numbers of lines of Markdown that are too wide to read side by side.

    >>> list(wide_lines("short" + chr(10) + "long " * 30 + chr(10) + "| cell " * 30))
    [2]
    """
    code = False
    for number, line in enumerate(text.splitlines(), start=1):
        start = line.lstrip()
        code = code != start.startswith("```")
        if len(line.rstrip()) > WIDEST and not code and not start.startswith(("|", "![", "```")):
            yield number


def main(arguments: list[str]) -> int:
    """Check the tree of a folder; the exit status is 1 when anything is wrong."""
    folder = Path(arguments[0] if arguments else ".").resolve()
    try:
        files = tracked(folder)
    except (FileNotFoundError, subprocess.CalledProcessError) as problem:
        # An unpacked release is no repository, and its checks should pass as well.
        print(f"no tracked files to check: {getattr(problem, 'stderr', problem)}".strip())
        return 0
    found = [problem for file in files for problem in problems(folder, file)]
    print("\n".join([*found, f"{len(files)} tracked files, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
