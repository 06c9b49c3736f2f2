import importlib
import re
import subprocess
import sys
from pathlib import Path

import mislid
from mislid.simulation.job import Row

ROOT = Path(__file__).resolve().parents[2]
FENCE = "`" * 3


def check(*documents):
    command = [sys.executable, ROOT / "scripts" / "check_docs.py", *documents]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_links_lead_somewhere_and_examples_run():
    done = check(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_finds_what_is_wrong(tmp_path):
    (tmp_path / "good.md").write_text(
        f"# One `title`\n[up](#one-title) [web](https://example.org)\n"
        f"{FENCE}python\nx = 1\n{FENCE}\n{FENCE}python\n>>> x\n1\n{FENCE}\n"
        f"{FENCE}\n>>> 1\n2\n{FENCE}\n"
    )
    (tmp_path / "calls.md").write_text(
        f"{FENCE}csv arms.csv\nmean,x\n0,1\n1,2\n{FENCE}\n"
        f"{FENCE}console\n$ export MISLID_STORAGE=no.db\n$ cat arms.csv\nmean,x\n...\n1,2\n"
        f"$ mislid study list\nError: storage must be there; got 'no.db', ...\n{FENCE}\n"
    )
    assert check(tmp_path).returncode == 0
    (tmp_path / "bad.md").write_text(
        f"[page](missing.md) [place](good.md#two)\n"
        f"{FENCE}python\n1 / 0\n{FENCE}\n{FENCE}python\n>>> 1\n2\n{FENCE}\n"
        f"{FENCE}console\n$ mislid study list\nnothing\n{FENCE}\n{FENCE}console\n$ rm x\n{FENCE}\n"
    )
    done = check(tmp_path, tmp_path / "absent.md")
    assert done.returncode == 1
    assert "missing.md, which does not exist" in done.stdout
    assert "good.md#two, a heading that does not exist" in done.stdout
    assert "bad.md:3: the block fails" in done.stdout
    assert "bad.md:6: the block fails" in done.stdout
    assert "bad.md:10: the block fails" in done.stdout
    assert "bad.md:14: the block fails" in done.stdout
    assert "absent.md: no such file" in done.stdout
    assert "3 documents, 7 problems" in done.stdout


def text_of(*patterns):
    return {path: path.read_text() for pattern in patterns for path in ROOT.glob(pattern)}


# What kernels of others are made of: docs/extending.md says that these are not promised.
OF_COMPILED_RULES = ("mislid._kernels.", "mislid.engine.compiled")
IMPORT = re.compile(r"from (mislid[\w.]*) import ([\w, ]+)")


def unpublished(text):
    """Names that a text imports from where they are not published."""
    for module, names in IMPORT.findall(text):
        if not module.startswith(OF_COMPILED_RULES):
            known = getattr(importlib.import_module(module), "__all__", ())
            yield from (f"{module}.{name}" for name in names.split(", ") if name not in known)


def test_documents_import_published_names_only():
    texts = text_of("README.md", "docs/**/*.md", "docs/tutorials/*.ipynb")
    assert sum(len(IMPORT.findall(text)) for text in texts.values()) > 30
    found = {path.name: list(unpublished(text)) for path, text in texts.items()}
    assert {name: each for name, each in found.items() if each} == {}
    twin = "from mislid.simulation.ledger import merge"
    assert list(unpublished(twin)) == ["mislid.simulation.ledger.merge"]


def test_one_is_not_called_the_1_best():
    texts = text_of("src/**/*.py", "docs/*.md", "README.md", "examples/*.py")
    assert len(texts) > 100
    for path, text in texts.items():
        assert "the 1 best" not in text, path
        assert not re.search(r"the \{[a-z_.\[\]']*m'?\]?\} best", text), path


def test_the_tolerance_is_promised_alike_everywhere():
    for name in ("identify", "create_study", "Question"):
        words = " ".join(getattr(mislid, name).__doc__.split())
        assert "none of them worse than the m-th best by more than this" in words, name
    words = " ".join(mislid.closest_alternative.__doc__.split())
    assert "worse than the m-th best by more than this" in words


def test_columns_of_csv_are_documented():
    text = (ROOT / "docs" / "running.md").read_text()
    for column in (*Row._fields, "characteristic_time", "lower", "upper", "allocation_0"):
        assert f"`{column}`" in text, column
