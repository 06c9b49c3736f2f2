"""The documentation site, built without a network, and what its pages refer to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
# Python loads this before all else: whoever asks another machine fails.
OFFLINE = """
import sys

def refuse(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host not in (None, "", "localhost", "127.0.0.1", "::1", b"localhost", b"127.0.0.1"):
        raise RuntimeError(f"no network here: {event} {host!r}")

sys.addaudithook(refuse)
"""
# What a browser loads of itself: by attribute, for these tags.
LOADED = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "input", "script", "source"), "src"),
    **dict.fromkeys(("image", "link", "use"), "href"),
    "object": "data",
    "video": "src",
}
# Links in the head that name another page, and load nothing.
NAMES = {"canonical", "index", "search", "next", "prev", "author"}
IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


def offline(folder: Path) -> dict[str, str]:
    """An environment in which Python reaches this machine alone."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(OFFLINE)
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), known]))}


def copy_sources(folder: Path) -> Path:
    """The documents and what builds them, apart from the tree: building adds pages to them."""
    generated = shutil.ignore_patterns("api", "commands", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=generated)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    return folder / "docs"


def build(docs: Path, site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the site; notebooks are run by tests of their own."""
    work = site.parent
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    command += ["-d", str(work / "doctrees"), "-D", "nb_execution_mode=off", *options]
    return subprocess.run(
        [*command, str(docs), str(site)],
        capture_output=True,
        text=True,
        check=False,
        env=offline(work / "offline"),
    )


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a server that gives a site out, until the end."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@dataclass
class Page(HTMLParser):
    """What one page offers and refers to."""

    text: str
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        styles = re.findall(r"(?s)<style[^>]*>(.*?)</style>", self.text)
        self.loads += [found for style in styles for found in style_loads(style)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if set(given.get("rel", "").split()) & NAMES:
            self.links.append(given["href"])
        elif tag in LOADED and LOADED[tag] in given:
            self.loads.append(given[LOADED[tag]])
        self.loads += [each.split()[0] for each in given.get("srcset", "").split(",") if each]
        self.loads += style_loads(given.get("style", ""))


def style_loads(style: str) -> list[str]:
    """What a style sheet loads."""
    found = ["".join(match) for match in IN_STYLES.findall(style)]
    return [each for each in found if not each.startswith("data:")]


def pages(site: Path) -> dict[Path, Page]:
    """All pages of a site, by their files."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def is_elsewhere(address: str) -> bool:
    """Whether an address is on another machine."""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ftp", "ws")


def dead_links(read: dict[Path, Page]) -> Iterator[str]:
    """Say which links within the site lead nowhere."""
    for path, page in read.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            offered = read[place].anchors if place in read else set()
            if not place.is_file() or (parts.fragment and unquote(parts.fragment) not in offered):
                yield f"{path.name}: {link}"
