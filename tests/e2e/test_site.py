"""The site of the documentation: built without a network, whole, and readable in a browser."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mislid
import mislid.server
from helpers.browser import Window, window
from helpers.commands import every_command
from helpers.site import (
    Page,
    build,
    copy_sources,
    dead_links,
    is_elsewhere,
    offline,
    pages,
    served,
    style_loads,
)

pytestmark = pytest.mark.slow
SHOWN = ["index", "benchmarks", "studies", "reference/api/mislid/Study", "reference/commands/study"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, once for all tests of this module."""
    folder = tmp_path_factory.mktemp("site")
    done = build(copy_sources(folder), folder / "site")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder / "site"


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Page]:
    return pages(site)


def test_no_page_loads_anything_from_elsewhere(site: Path, read: dict[Path, Page]) -> None:
    assert len(read) > 200
    assert sum(len(page.loads) for page in read.values()) > 1000
    found = {path.name: list(filter(is_elsewhere, page.loads)) for path, page in read.items()}
    assert {name: loads for name, loads in found.items() if loads} == {}
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not list(filter(is_elsewhere, style_loads(sheet.read_text()))), sheet


def test_every_link_within_the_site_leads_somewhere(read: dict[Path, Page]) -> None:
    assert list(dead_links(read)) == []


def published() -> Iterator[str]:
    """Every name that a module of the package publishes, found anew."""
    left = [mislid, mislid.server]
    while left:
        module = left.pop()
        yield module.__name__
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.ismodule(value):
                left.append(value)
            else:
                yield f"{module.__name__}.{name}"


def test_every_published_name_has_a_page(site: Path, read: dict[Path, Page]) -> None:
    names = sorted(set(published()))
    assert len(names) > 150
    reference = site / "reference" / "api"
    for name in names:
        module, _, short = name.rpartition(".")
        table = reference / module / "index.html"
        if (reference / name / "index.html").is_file():  # a module
            continue
        places = {(table.parent / link.partition("#")[0]).resolve() for link in read[table].links}
        found = [place for place in places if place.stem.rstrip("-") == short]
        anchors = {
            each for place in found if reference in place.parents for each in read[place].anchors
        }
        assert short in {anchor.rpartition(".")[2] for anchor in anchors}, name


def test_public_methods_are_on_the_pages_of_their_classes(
    site: Path, read: dict[Path, Page]
) -> None:
    page = read[site / "reference/api/mislid/Study.html"]
    for name in ("ask", "tell", "status", "estimates", "correct", "retire"):
        assert f"mislid.Study.{name}" in page.anchors


def test_every_command_has_a_page(site: Path, read: dict[Path, Page]) -> None:
    paths = [path for path, _ in every_command()]
    assert len(paths) > 30
    for path in paths:
        page = read[site / "reference/commands" / f"{'-'.join(path) or 'index'}.html"]
        assert " ".join(["mislid", *path, "[OPTIONS]"]) in page.text
    create = read[site / "reference/commands/study-create.html"]
    assert "cmdoption-mislid-study-create-misspecification" in create.anchors


def test_the_index_of_the_search_knows_words_of_all_kinds_of_pages(site: Path) -> None:
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    documents = index["docnames"]

    def places(word: str) -> set[str]:
        found = [index[kind].get(word, []) for kind in ("terms", "titleterms")]
        numbers = [each if isinstance(each, list) else [each] for each in found]
        return {documents[n] for each in numbers for n in each}

    assert "certificate" in places("certif")
    assert "reference/api/mislid/create_study" in places("misspecif")
    assert "reference/commands/serve" in places("browser")


def build_small(folder: Path, **texts: str) -> subprocess.CompletedProcess[str]:
    """Build a site of a few pages, without the reference."""
    docs = copy_sources(folder)
    for page in docs.glob("*.md"):
        page.unlink()
    for part in ("reference", "start", "tutorials"):
        shutil.rmtree(docs / part)
    for name, text in texts.items():
        (docs / f"{name}.md").write_text(text)
    return build(docs, folder / "site", "-D", "extensions=myst_nb,formulas")


def test_formulas_need_no_script(tmp_path: Path) -> None:
    done = build_small(tmp_path, index="# Home\n\n$\\frac12 x_k$ and\n\n$$\\sum_k w_k^2$$\n")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    text = re.sub(r"\s", "", (tmp_path / "site" / "index.html").read_text(encoding="utf-8"))
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac><msub><mi>x</mi><mi>k</mi></msub>" in text
    assert '<divclass="formula"><math' in text
    assert "mathjax" not in text.lower()


def test_what_is_wrong_fails_the_build(tmp_path: Path) -> None:
    done = build_small(
        tmp_path,
        index="# Home\n\n[a](one.md#here) [b](two.md) $\\foo$\n",
        one="# One\n\n## There\n\n```{toctree}\nabsent\n```\n",
    )
    assert done.returncode != 0
    for words in (
        "'myst' cross-reference target not found: 'two.md'",
        "local id not found in doc 'one': 'here'",
        "nonexisting document 'absent'",
        "document isn't included in any toctree",
        'Unknown LaTeX command "\\foo"',
    ):
        assert words in done.stderr


def test_builds_are_offline(tmp_path: Path) -> None:
    call = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    done = subprocess.run(
        [sys.executable, "-c", call],
        env=offline(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "no network here" in done.stderr


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_are_readable_in_windows_of_all_sizes(
    site: Path, chromium: Any, width: int, scheme: str
) -> None:
    with window(chromium, width=width, color_scheme=scheme) as opened:
        asked: list[str] = []
        opened.page.on("request", lambda request: asked.append(request.url))
        for name in SHOWN:
            opened.page.goto((site / f"{name}.html").as_uri())
            assert opened.wide() <= 0, name
            dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (dark != "rgb(255, 255, 255)") == (scheme == "dark"), name
        assert opened.complaints == []
        assert asked
        assert not list(filter(is_elsewhere, asked))


@pytest.fixture
def opened(site: Path, chromium: Any) -> Iterator[Window]:
    """A page with examples, from a server: what pages say of results is fetched."""
    with served(site) as address, window(chromium) as found:
        found.page.goto(f"{address}/studies.html")
        yield found
        assert found.complaints == []


def test_code_can_be_copied_and_the_search_finds(opened: Window) -> None:
    assert opened.page.locator("button.copybtn").count() > 5
    opened.page.fill("input.sidebar-search", "certificate")
    with opened.page.expect_navigation():
        opened.page.keyboard.press("Enter")
    opened.wait("document.querySelectorAll('#search-results li a').length > 5")
    assert "The certificate of a decision" in opened.text("#search-results")
