"""The pages in a real browser: what is told elsewhere appears, whatever happens to the server.

MISLID_PICTURES=1 renews the picture of docs/server.md.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.browser import Window, window
from helpers.serving import MEANS, Command, new_study, serving, tell_some
from mislid.study import Study
from mislid.study.storage import as_storage

pytestmark = pytest.mark.slow
DOCS = Path(__file__).resolve().parents[2] / "docs"
HOSTILE = {
    "markup": "<img src=x onerror=\"document.title='broken'\"><script>alert(1)</script>",
    "quotes": "\"'><svg/onload=alert(1)> & &lt;b&gt; `${1}`",
    "backwards": "\u202egnp.exe\u2066 left \u200f right \u2069",
    "long": "x" * 5_000 + " y" * 2_500,
}
# Marks that turn text around are shown escaped.
MARKS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\u202e\u2066\u200f\u2069"}
# The last number in the log that the page shows.
SHOWN = "document.querySelector('table.log tbody th')?.textContent.replaceAll(',', '')"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def study(lab: Path) -> Iterator[Study]:
    """The study 1, told by another process than the server's."""
    storage = as_storage(lab)
    yield new_study(storage, noise=1.0)
    storage.close()


@pytest.fixture
def server(lab: Path, study: Study) -> Iterator[Command]:
    with serving(lab) as command:
        yield command


@pytest.fixture
def opened(chromium: Any) -> Iterator[Window]:
    """A window whose pages may complain of nothing."""
    with window(chromium) as found:
        yield found
        assert found.complaints == []


def numbers_shown(opened: Window) -> list[int]:
    """The events in the log of the page, the last one first."""
    more = opened.page.locator("section[id^=log] button")
    if more.count() and "fewer" not in more.inner_text():
        more.click()
    cells = opened.page.locator("table.log tbody th").all_inner_texts()
    return [int(text.replace(",", "")) for text in cells]


def test_what_is_told_elsewhere_appears(server: Command, study: Study, opened: Window) -> None:
    opened.page.goto(f"{server.url}/studies/1")
    opened.page.get_by_text("Nothing has been measured yet").first.wait_for()
    tell_some(study, 10)
    opened.wait(f"{SHOWN} === '21'")
    opened.wait("document.querySelectorAll('section[id^=estimates] svg.chart').length === 1")
    assert numbers_shown(opened) == list(range(21, 0, -1))


def test_a_study_that_is_decided_gets_a_certificate_that_holds(
    server: Command, study: Study, opened: Window
) -> None:
    opened.page.goto(f"{server.url}/studies/1")
    opened.wait("document.getElementById('live').textContent === 'live'")
    study.add_observations(list(MEANS.items()) * 400)
    assert study.status == "decided"
    with opened.page.expect_download() as download:
        opened.page.get_by_role("link", name="Download").click()
    saved = Path(download.value.path()).read_text()
    assert mislid.verify(json.loads(saved)).ok


def test_a_killed_server_leaves_no_gap(server: Command, study: Study, opened: Window) -> None:
    opened.page.goto(f"{server.url}/studies/1")
    opened.wait("document.getElementById('live').textContent === 'live'")
    tell_some(study, 2)
    opened.wait(f"{SHOWN} === '5'")
    server.kill()
    opened.wait("document.getElementById('live').textContent.startsWith('not connected')")
    tell_some(study, 4)
    server.start()
    opened.wait(f"{SHOWN} === '13'")
    tell_some(study, 1)
    opened.wait(f"{SHOWN} === '15'")
    opened.wait("document.getElementById('live').textContent === 'live'")
    assert numbers_shown(opened) == list(range(15, 0, -1))
    opened.wait("/\\b7\\b/.test(document.querySelector('section[id^=words]').innerText)")
    # The browser complains of the server that was away, and of nothing else.
    assert all("ERR_" in text for text in opened.complaints), opened.complaints
    opened.complaints.clear()


def test_hostile_names_are_text(
    lab: Path, chromium: Any, opened: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("_validation", "study.candidates"):  # as in a log of others
        monkeypatch.setattr(f"mislid.{module}.refuse_controls", lambda *_: None)
    storage = as_storage(lab)
    for at, name in enumerate(HOSTILE.values()):
        labels = [f"{one}{number}" for number, one in enumerate(HOSTILE.values())]
        study = mislid.create_study(
            study_name=f"{at} {name}", candidates=labels, m=1, noise=1.0, storage=storage
        )
        study.add_observations([(label, float(n)) for n, label in enumerate(labels)] * 2)
        study.void(row=0, reason=name[:500])
        study.ask(worker=name[:100])
    storage.close()
    opened.page.on("dialog", lambda dialog: opened.complaints.append(f"dialog {dialog.message}"))
    with serving(lab) as server:
        opened.page.goto(server.url)
        opened.wait("document.querySelectorAll('main a').length >= 4")
        shown = opened.page.locator("main a").all_text_contents()
        for at, name in enumerate(HOSTILE.values()):
            assert any(f"{at} {name.translate(MARKS)}" in text for text in shown)
        assert opened.wide() == 0
        for key in range(1, 5):
            opened.page.goto(f"{server.url}/studies/{key}")
            opened.wait(f"{SHOWN} === '4'")
            opened.page.wait_for_selector("svg.chart")
            name = f"{key - 1} {list(HOSTILE.values())[key - 1]}"
            assert opened.page.locator("h1").text_content() == name.translate(MARKS)
            assert opened.page.locator("main script, main img").count() == 0
            assert opened.wide() == 0, key
            assert opened.page.title() != "broken"


def test_a_token_is_asked_for_once(lab: Path, study: Study, opened: Window, tmp_path: Path) -> None:
    with serving(lab, "--write") as server:
        assert server.token is not None
        page = opened.page
        page.goto(f"{server.url}/studies/1")
        assert page.url.endswith("/login")
        page.get_by_label("Token").fill("not the token")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=alert]")
        page.get_by_label("Token").fill(server.token)
        page.keyboard.press("Enter")
        page.wait_for_selector("main a")
        page.goto(f"{server.url}/studies/1")
        opened.wait("document.getElementById('live').textContent === 'live'")
        assert page.evaluate("document.cookie") == ""
        server.kill()
        server.start()  # with another token
        page.wait_for_url(f"{server.url}/login")
    opened.complaints.clear()  # of the 401, and of the connection that was lost


@pytest.mark.parametrize(("width", "height", "scheme"), [(1280, 900, "light"), (390, 844, "dark")])
def test_pages_fit_and_follow_the_scheme(
    lab: Path, chromium: Any, width: int, height: int, scheme: str
) -> None:
    _compounds(lab)
    options: dict[str, Any] = {"width": width, "height": height, "color_scheme": scheme}
    with serving(lab) as server, window(chromium, **options) as found:
        for path, shown in (("/", "main a"), ("/studies/1", "svg.chart")):
            found.page.goto(f"{server.url}{path}")
            found.page.wait_for_selector(shown, timeout=30_000)
            assert found.wide() == 0, path
            assert found.complaints == [], path
            light = found.page.evaluate(
                "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
            )
            assert (sum(light[:3]) > 382) == (scheme == "light")
        if os.environ.get("MISLID_PICTURES") and scheme == "light":
            found.page.wait_for_timeout(1500)
            found.page.screenshot(path=DOCS / "server.png")


def _compounds(lab: Path) -> None:
    """Two studies of twelve compounds, half way."""
    rng = np.random.default_rng(7)
    features = rng.normal(size=(12, 3))
    means = features @ [0.6, -0.3, 0.2] + rng.uniform(-0.1, 0.1, size=12)
    names = [f"compound {number:02d}" for number in range(1, 13)]
    storage = as_storage(lab)
    for title, rounds in (("potency", 7), ("solubility", 4)):
        study = mislid.create_study(
            study_name=title, candidates=dict(zip(names, features.tolist(), strict=True)), m=3,
            misspecification=0.2, noise=0.4, storage=storage,
        )  # fmt: skip
        for _ in range(rounds):
            for trial in study.ask(12):
                mean = means[names.index(str(trial.arm))]
                study.tell(trial, round(float(mean + 0.4 * rng.normal()), 3))
    storage.close()
