"""The documents: examples, links, published names, notebooks, and the site."""

import contextlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import mislid
from helpers.commands import every_command

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCES = Path(mislid.__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))
LINK = re.compile(r"\]\((?P<target>[^)\s#:]+)(?:#[^)\s]*)?\)")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", README)


def test_the_readme_is_short_and_its_example_prints_what_is_shown():
    assert len(README.splitlines()) <= 80
    [code], [shown] = blocks("python"), blocks("text")
    assert re.findall(r"noise=([\d.]+)", code) == re.findall(r"gauss\(.*, ([\d.]+)\)", code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == shown


@pytest.mark.slow
def test_the_numbers_of_the_demonstration_are_those_of_a_run():
    from mislid.paper.demo import run_demo

    demo = run_demo()
    for name in ("mislid", "uniform", "LinGapE"):
        assert f"{demo.found[name].samples:,}" in README, name
    assert demo.found["mislid"].correct
    assert demo.instance.top(1)[0] not in demo.found["LinGapE"].answer


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_root_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = [match["target"] for match in LINK.finditer(text)]
    assert targets or name == "CHANGELOG.md"
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_leaves_nothing_behind(path, tmp_path):
    folder = tmp_path / "tutorial"
    shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"))
    before = set(folder.rglob("*"))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    places = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    client.execute(env={**os.environ, "PYTHONPATH": places})
    litter = {path for path in set(folder.rglob("*")) - before if "__pycache__" not in path.parts}
    assert litter == set()


def test_data_of_tutorials_are_what_their_script_writes(tmp_path):
    script = DOCS / "tutorials" / "made_up.py"
    shutil.copy(script, tmp_path)
    subprocess.run([sys.executable, tmp_path / script.name], check=True)
    written = sorted(tmp_path.glob("*.csv"))
    assert written
    for path in written:
        assert (script.parent / path.name).read_text() == path.read_text(), path.name


@pytest.mark.slow
def test_the_site_is_built_and_has_every_name_and_command(tmp_path):
    docs, site = tmp_path / "docs", tmp_path / "site"
    shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("api"))
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    command += ["-d", tmp_path / "doctrees", "-D", "nb_execution_mode=off", docs, site]
    places = os.pathsep.join([str(SOURCES), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": places}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    text = (site / "reference" / "api" / "mislid.html").read_text(encoding="utf-8")
    for name in mislid.__all__:
        if name != "__version__" and not inspect.ismodule(getattr(mislid, name)):
            assert f'"mislid.{name}"' in text, name
    commands = (site / "reference" / "index.html").read_text(encoding="utf-8")
    for path, _ in every_command():
        assert f'id="{"-".join(["mislid", *path])}"' in commands, path
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img)[^>]+src="(https?:[^"]+)', page.read_text("utf-8"))
        assert loaded == [], page.name
