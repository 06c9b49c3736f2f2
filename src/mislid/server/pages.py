"""Pages: what a browser gets first. A script fills them and keeps them up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mislid import __version__
from mislid._html import Html, element
from mislid.report.style import style_sheet
from mislid.server.access import Policy, logged_in
from mislid.server.answers import answer
from mislid.server.bodies import content_of
from mislid.server.reading import hub_of, is_whole, key_of

_FIELD = '<input id="token" name="token" type="password" autocomplete="current-password" required>'


def _page(
    title: str, *parts: str, status: int = 200, data: Mapping[str, str] | None = None
) -> Response:
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        Html('<link rel="icon" href="/static/icon.svg">'),
        Html('<link rel="stylesheet" href="/static/style.css">'),
        Html('<script type="module" src="/static/app.js"></script>'),
    )
    marks = {f"data_{name}": value for name, value in (data or {}).items()}
    bar = element(
        "header",
        element("a", "mislid", href="/", class_="home"),
        element("span", "", id="live", role="status"),
    )
    main = element("main", *parts, id="main", tabindex="-1", **marks)
    skip = element("a", "Skip to the content", href="#main", class_="skip")
    body = element("body", skip, bar, main, element("footer", f"mislid {__version__}"))
    text = f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{body}\n</html>\n'
    return HTMLResponse(text, status)


async def studies(_request: Request) -> Response:
    """All studies."""
    wait = element("p", "The studies are being read.", class_="note")
    return _page("Studies", element("h1", "Studies"), wait, _no_script(), data={"page": "studies"})


async def study(request: Request) -> Response:
    """One study."""
    key = key_of(request)
    name, last = await hub_of(request).name_of(key)
    parts = element("h1", name), element("p", "The study is being read.", class_="note")
    marks = {"page": "study", "id": str(key), "name": name, "after": str(last)}
    return _page(f"{name}: a study", *parts, _no_script(), data=marks)


async def compare(request: Request) -> Response:
    """Two studies side by side."""
    wanted = [text for text in request.query_params.getlist("id") if is_whole(text)][:2]
    hub = hub_of(request)
    found = [(int(text), *await hub.name_of(int(text))) for text in wanted]
    ids = " ".join(str(key) for key, *_ in found)
    lasts = " ".join(str(last) for *_, last in found)
    title = " and ".join(name for _, name, _ in found) or "Two studies"
    marks = {"page": "compare", "id": ids, "after": lasts}
    return _page(title, element("h1", title), _no_script(), data=marks)


async def login(request: Request) -> Response:
    """Ask for the token, and let the browser keep what stands for it."""
    policy: Policy = request.app.state.policy
    said = ""
    if request.method == "POST":
        if policy.knows(_token_of(await content_of(request))):
            return logged_in(policy, request.scope)
        await asyncio.sleep(0.5)
        said = "That is not the token."
    form_parts = (
        element("label", "Token", for_="token"),
        Html(_FIELD),
        element("button", "Show the studies", type="submit"),
    )
    form_element = element("form", *form_parts, method="post", action="/login", class_="login")
    words = element("p", "The server printed a token when it was started, or reads it from a file.")
    wrong = element("p", said, role="alert") if said else ""
    status = 401 if said else 200
    return _page("Token", element("h1", "Token"), words, wrong, form_element, status=status)


def _token_of(form: bytes) -> str:
    try:
        given = parse_qs(form.decode("utf-8", "replace"), max_num_fields=5)
    except ValueError:
        return ""
    return given.get("token", [""])[0].strip()


def problem(status: int, said: str) -> Response:
    """A page that says what is wrong."""
    back = element("p", element("a", "All studies", href="/"))
    return _page("Nothing here", element("h1", said[:1].upper() + said[1:]), back, status=status)


def _no_script() -> Html:
    words = "This page needs JavaScript. `mislid study report` writes one that does not."
    return element("noscript", element("p", words))


@cache
def _style() -> bytes:
    own = (Path(__file__).parent / "static" / "app.css").read_text(encoding="utf-8")
    return (style_sheet() + own).encode()


async def style(request: Request) -> Response:
    """The rules of reports, and those of pages."""
    return answer(request, _style(), "text/css")
