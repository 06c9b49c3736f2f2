"""The check of what git tracks."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(folder: Path) -> tuple[int, str]:
    command = [sys.executable, ROOT / "scripts" / "check_tree.py", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def track(tree: Path, name: str, content: bytes) -> None:
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_bytes(content)
    subprocess.run(["git", "-C", tree, "add", "--force", name], check=True)


def test_text_and_pictures_of_the_documentation_pass(tree: Path) -> None:
    wide = "word " * 30
    text = f"misspecification ε, then é\n| {wide} |\n```\n{wide}\n```\n"
    track(tree, "notes.md", text.encode())
    track(tree, "docs/large.png", b"\x89PNG\0" * 300_000)
    (tree / "untracked.whl").write_bytes(b"PK\3\4\0")
    assert check(tree) == (0, "2 tracked files, 0 problems\n")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("tool.whl", b"PK\3\4\0", "a binary file"),
        ("kernel.nbc", b"\x80\x04\x95", "a binary file"),
        ("docs/data.tar.gz", b"\x1f\x8b\x08", "a binary file"),
        ("picture.png", b"\x89PNG", "a binary file"),
        ("notes.md:2", b"# Wide\n" + b"word " * 30, "more than 119 characters"),
        ("runs.csv", b"1,2\n" * 250_001, "1,000,004 bytes, more than 1,000,000"),
    ],
)
def test_other_files_are_named(tree: Path, name: str, content: bytes, reason: str) -> None:
    track(tree, name.partition(":")[0], content)
    status, said = check(tree)
    assert status == 1
    assert said.startswith(f"{name}: {reason}")
    assert said.endswith("1 tracked files, 1 problems\n")


def test_a_link_is_named_wherever_it_leads(tree: Path) -> None:
    (tree / ".venv").symlink_to(tree / ".venv")
    subprocess.run(["git", "-C", tree, "add", "--force", ".venv"], check=True)
    status, said = check(tree)
    assert status == 1
    assert said.startswith(".venv: a link")


def test_a_deleted_file_is_no_problem_any_more(tree: Path) -> None:
    track(tree, "tool.whl", b"PK\3\4\0")
    (tree / "tool.whl").unlink()
    assert check(tree) == (0, "0 tracked files, 0 problems\n")


def test_a_release_without_git_passes(tmp_path: Path) -> None:
    status, said = check(tmp_path)
    assert status == 0
    assert said.startswith("no tracked files to check: ")
