"""What other sites, strangers and broken clients try: it is refused, and no token is told."""

import contextlib
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from helpers.serving import TOKEN, Site, running, wait_for
from mislid.errors import ProblemError
from mislid.server import access, answers, connections
from mislid.server.access import Policy, policy_for, read_token
from mislid.study import Study
from mislid.study.storage import Storage

PAGES = ("/", "/studies/1", "/login", "/static/app.js", "/nothing")
READS = ("/api/studies", "/api/studies/1", "/api/studies/1/events", "/api/studies/1/estimates")
STREAM = "/api/studies/1/events"
CALLS = ("", "/1/ask", "/1/tell", "/1/correct", "/1/void")


def refused(answer: httpx.Response) -> int:
    """The status of a refusal in the one form that all have."""
    assert set(answer.json()) == {"error"}
    assert {"kind", "message"} <= set(answer.json()["error"])
    return answer.status_code


def log_in(site: Site, token: str = TOKEN) -> httpx.Client:
    """A browser, as far as headers and cookies go."""
    browser = site.stranger
    browser.headers["origin"] = site.url
    browser.post("/login", data={"token": token})
    return browser


def raw(site: Site, content: bytes, seconds: float = 5.0) -> bytes:
    """What the server says to bytes that need not be HTTP, until it closes the connection."""
    place = urlsplit(site.url)
    with socket.create_connection((place.hostname, place.port), timeout=seconds) as line:
        line.sendall(content)
        found = b""
        while part := line.recv(65536):
            found += part
    return found


def _head(site: Site, method: str, path: str, *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {urlsplit(site.url).netloc}", *more, "", ""]
    return "\r\n".join(lines).encode()


# --- other names and other sites ------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8600", "127.0.0.1", "", "[::1]"])
def test_a_foreign_name_is_refused_everywhere(site: Site, host: str) -> None:
    """A name of an attacker that leads here (DNS rebinding)."""
    for path in (*PAGES, *READS):
        answer = site.get(path, headers={"host": host})
        assert refused(answer) == 421


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_other_sites_get_nothing(writing: Site, headers: dict[str, str]) -> None:
    """Not even with the token: a browser of somebody who knows it is what they use."""
    for path in (*PAGES, *READS):
        assert refused(writing.get(path, headers=headers)) == 403, path
    for call in CALLS:
        assert refused(writing.post(f"/api/studies{call}", headers=headers)) == 403
    assert refused(writing.post("/login", headers=headers)) == 403


def test_links_of_other_sites_lead_to_pages_and_to_nothing_else(site: Site) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert site.get("/studies/1", headers=link).status_code == 200
    assert refused(site.get("/api/studies", headers=link)) == 403
    assert refused(site.get(STREAM, headers=link)) == 403
    assert refused(site.post("/login", headers=link)) == 403


def test_browsers_are_told_to_refuse_the_rest(writing: Site) -> None:
    answers = [writing.get(path) for path in (*PAGES, *READS)]
    answers += [writing.stranger.get(path) for path in (*PAGES, *READS)]
    answers += [writing.get("/", headers={"host": "evil"}), writing.post("/api/studies")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


# --- tokens ---------------------------------------------------------------------------------


WRONG = [
    *("", "Bearer", "Bearer wrong", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", "Bearer \xe9"),
    *(f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN, f"Bearer, Bearer {TOKEN}"),
]


def test_nobody_without_the_token(writing: Site) -> None:
    client = writing.stranger
    for headers in ({}, *({"authorization": value.encode("latin-1")} for value in WRONG)):
        for path in READS:
            assert refused(client.get(path, headers=headers)) == 401
        for call in CALLS:
            assert refused(client.post(f"/api/studies{call}", json={}, headers=headers)) == 401
    assert not client.cookies


def test_pages_ask_for_the_token(writing: Site) -> None:
    answer = writing.stranger.get("/studies/1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert writing.stranger.get(f"/api/studies?token={TOKEN}").status_code == 401


def test_a_browser_gets_a_cookie_that_is_not_the_token(writing: Site) -> None:
    answer = writing.stranger.post("/login", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    browser = log_in(writing)
    assert browser.get("/studies/1").status_code == 200
    assert browser.get("/api/studies").status_code == 200
    assert browser.post("/api/studies/1/ask", json={}).status_code == 200


def test_the_cookie_is_for_https_only_where_that_is_used(study: Study, storage: Storage) -> None:
    sent = {"x-forwarded-proto": "https"}
    for proxies, is_secure in (((), False), (("127.0.0.1",), True), (("10.0.0.0/8",), False)):
        with running(storage, write=True, proxies=proxies) as site:
            answer = site.stranger.post("/login", data={"token": TOKEN}, headers=sent)
            assert ("Secure" in answer.headers["set-cookie"]) == is_secure


@pytest.mark.parametrize("proxy", ["*", "localhost", "10.0.0.1/8"])
def test_proxies_have_addresses(proxy: str) -> None:
    with pytest.raises(ProblemError, match="--trusted-proxy must be an address"):
        policy_for("127.0.0.1", 8600, write=False, token=None, proxies=[proxy])


def test_a_wrong_token_gives_no_cookie(writing: Site) -> None:
    for content in ("", "token=", "token=wrong", "a=1&" * 50, "%ff=%fe", "token"):
        answer = writing.stranger.post("/login", content=content.encode())
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


def test_a_cookie_without_an_origin_cannot_write(writing: Site) -> None:
    browser = log_in(writing)
    del browser.headers["origin"]
    assert browser.get("/api/studies").status_code == 200
    assert refused(browser.post("/api/studies/1/ask", json={})) == 403


def test_a_stolen_cookie_is_of_no_use(study: Study, storage: Storage) -> None:
    with running(storage, write=True, proxies=["127.0.0.1"]) as site:
        _try_stolen(site)


def _try_stolen(site: Site) -> None:
    browser = log_in(site)
    ((name, value),) = dict(browser.cookies).items()
    stranger = site.stranger
    as_token = {"authorization": f"Bearer {value}"}
    assert refused(stranger.get("/api/studies", headers=as_token)) == 401
    stolen = {"cookie": f"{name}={value}"}
    assert stranger.get("/api/studies", headers=stolen).status_code == 200  # at this address
    elsewhere = stolen | {"x-forwarded-for": "203.0.113.7"}
    assert refused(stranger.get("/api/studies", headers=elsewhere)) == 401
    for forged in (f"{value}0", f"9{value}", value[::-1], "", "9999999999.", "x.y", value[:-1]):
        answer = stranger.get("/api/studies", headers={"cookie": f"{name}={forged}"})
        assert refused(answer) == 401, forged


def test_a_cookie_is_for_one_address_and_one_token() -> None:
    policy, other = (Policy(frozenset(), TOKEN + more, True) for more in ("", "2"))
    cookie = policy.cookie("10.0.0.1")
    assert policy.knows_cookie(cookie, "10.0.0.1")
    assert not policy.knows_cookie(cookie, "10.0.0.2")
    assert not other.knows_cookie(cookie, "10.0.0.1")
    assert other.cookie_name != policy.cookie_name
    assert TOKEN not in repr(policy)


def test_nothing_that_is_logged_has_the_token(
    study: Study,
    storage: Storage,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore"):  # the client's own
        caplog.set_level(logging.ERROR, logger=name)
    with running(storage, write=True) as site:
        browser = log_in(site)
        ((_, cookie),) = dict(browser.cookies).items()
        log_in(site, "wrong-token-of-somebody")
        site.get("/api/studies/1")
        site.get("/api/studies/999")
        site.post("/api/studies/1/tell", {"trial": "x"})
        site.get("/", headers={"host": TOKEN})
        site.client.post("/login", content=f"token={TOKEN}&" * 20)
        raw(site, f"GET /\x00 HTTP/9.9\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(storage, "read", lambda *_: 1 / 0)
            assert site.get("/api/studies/1/events").status_code == 500
    out, err = capfd.readouterr()
    said = caplog.text + out + err
    assert "ZeroDivisionError" in said  # the log says what went wrong
    for secret in (TOKEN, cookie, "wrong-token"):
        assert secret not in said


def test_errors_of_the_server_are_not_told(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("a secret of the server")

    monkeypatch.setattr(storage, "lines", broken)
    with running(storage) as site:
        for path in ("/api/studies/1", "/studies/1", STREAM):
            answer = site.get(path)
            assert answer.status_code == 500
            assert "secret" not in answer.text
            assert "Traceback" not in answer.text


def test_token_files_are_for_their_owner(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.write_text(f"  {TOKEN}\n")
    file.chmod(0o600)
    assert read_token(str(file)) == TOKEN
    for mode in (0o640, 0o604, 0o666):
        file.chmod(mode)
        if os.name == "posix":
            with pytest.raises(ProblemError, match="chmod 600"):
                read_token(str(file))
    file.chmod(0o600)
    for text in ("", "short", "two words that are long enough", "\x00" * 30, "é" * 30, "x" * 5000):
        file.write_text(text)
        with pytest.raises(ProblemError, match="in one word"):
            read_token(str(file))
    file.write_bytes(b"\xff" * 30)
    for bad in (file, tmp_path / "none", tmp_path):
        with pytest.raises(ProblemError, match="cannot be read"):
            read_token(str(bad))


@pytest.mark.parametrize(("host", "write"), [("0.0.0.0", False), ("127.0.0.1", True)])
def test_writing_and_other_addresses_need_a_token(host: str, write: bool) -> None:
    with pytest.raises(ProblemError, match="a token must be given"):
        policy_for(host, 8600, write=write, token=None)
    assert policy_for(host, 8600, write=write, token=TOKEN).token == TOKEN
    assert policy_for("127.0.0.1", 8600, write=False, token=None).token is None


# --- too much, too slow ---------------------------------------------------------------------


def test_requests_that_bring_too_much(writing: Site) -> None:
    long = b'{"trial": "' + b"x" * answers.MOST_BYTES + b'"}'
    answer = writing.client.post("/api/studies/1/tell", content=long)
    assert refused(answer) == 413

    def parts() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 50_000

    for path in ("/api/studies/1/tell", "/login"):
        assert writing.client.post(path, content=parts()).status_code == 413


@pytest.mark.parametrize("kilobytes", [33, 120, 2_000])
@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_long_head_is_refused(site: Site, kilobytes: int, end: bytes) -> None:
    """Before it is complete, and where all of it comes at once."""
    head = _head(site, "GET", "/", "Connection: close").removesuffix(b"\r\n")
    said = raw(site, head + b"X: " + b"x" * 1024 * kilobytes + end)
    assert said.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    error = json.loads(said.partition(b"\r\n\r\n")[2])["error"]
    assert error["message"] == "the head of a request may have at most 32768 bytes"


def test_a_long_address_is_refused(site: Site) -> None:
    assert refused(site.get("/?" + "x" * 33 * 1024)) == 431
    assert site.get("/?" + "x" * 31 * 1024).status_code == 200


def test_what_is_no_request_is_refused(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for content in (
        b"\x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01" * 9 + b"\n" * 4,
    ):
        assert raw(site, content).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    # A body that breaks off into nonsense after the answer.
    head = _head(site, "GET", "/static/icon.svg", "Transfer-Encoding: chunked")
    place = urlsplit(site.url)
    with socket.create_connection((place.hostname, place.port), timeout=5) as line:
        line.sendall(head)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(b"nonsense\r\n")
        while line.recv(65536):
            pass
    assert "Traceback" not in caplog.text


def _trickle(line: socket.socket, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        line.sendall(b"X")
        time.sleep(0.1)


def test_a_head_that_trickles_ends(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.6)
    with running(storage) as site:
        place = urlsplit(site.url)
        with socket.create_connection((place.hostname, place.port), timeout=5) as line:
            line.sendall(_head(site, "GET", "/static/icon.svg"))
            assert line.recv(65536).startswith(b"HTTP/1.1 200")
            begun = time.monotonic()
            with pytest.raises(OSError, match=r"reset|Broken pipe|abort"):
                _trickle(line, 5.0)
            assert time.monotonic() - begun < 4.0


@pytest.mark.parametrize("content", [b"", b"GET / HTT"])
def test_a_connection_without_a_request_ends(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.4)
    with running(storage) as site:
        assert raw(site, content, seconds=10.0) == b""


@pytest.mark.parametrize("path", ["/login", "/api/studies/1/tell"])
def test_slow_bodies_end(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(answers, "PATIENCE", 0.3)
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    with running(storage, write=True) as site:
        more = (f"Authorization: Bearer {TOKEN}", "Content-Length: 100")
        said = raw(site, _head(site, "POST", path, *more) + b"{")
    assert said.startswith(b"HTTP/1.1 408")


# --- paths ----------------------------------------------------------------------------------

TRICKS = [
    "/static/../app.py",
    "/static/..%2fapp.py",
    "/static/%2e%2e%2fapi/studies",
    "/static/%2fetc%2fpasswd",
    "/static/%00",
    "/static/app.js%00.css",
    "//api/studies",
    "/api//studies",
    "/login/../api/studies",
    "/login%2f..%2fapi%2fstudies",
    "/studies/%31%2f..",
    f"/api/studies/{'9' * 5000}/state",
    "/%ff%fe",
]


def test_connections_at_once_are_bounded(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that say nothing count as well."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    with running(storage) as site, contextlib.ExitStack() as opened:
        place = urlsplit(site.url)
        for _ in range(3):
            opened.enter_context(socket.create_connection((place.hostname, place.port)))
        extra = opened.enter_context(socket.create_connection((place.hostname, place.port)))
        extra.settimeout(5)
        assert extra.recv(1) == b""  # closed at once


def _are_open(lines: list[socket.socket]) -> list[bool]:
    """Which of these connections the server has not closed."""
    found = []
    for line in lines:
        line.settimeout(0.1)
        try:
            found.append(line.recv(1) != b"")
        except TimeoutError:
            found.append(True)
        except ConnectionError:
            found.append(False)
    return found


@pytest.mark.parametrize("proxies", [(), ("127.0.0.0/8",)])
def test_connections_of_an_address_are_bounded(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]
) -> None:
    """Those of a proxy are of many clients."""
    monkeypatch.setattr(connections, "MOST_OF_ADDRESS", 3)
    with running(storage, proxies=proxies) as site, contextlib.ExitStack() as opened:
        at = (urlsplit(site.url).hostname, urlsplit(site.url).port)
        lines = [opened.enter_context(socket.create_connection(at)) for _ in range(6)]
        assert _are_open(lines) == [True] * 3 + [bool(proxies)] * 3
        lines[0].close()
        # What is closed counts no longer.
        wait_for(lambda: _are_open([opened.enter_context(socket.create_connection(at))])[0])


def test_requests_of_a_client_are_bounded(
    study: Study, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the address that the proxy forwards, in whatever number of connections."""
    monkeypatch.setattr(access, "MOST_REQUESTS", 2)
    one, other = ({"x-forwarded-for": f"203.0.113.{number}"} for number in (7, 8))
    with running(storage, proxies=["127.0.0.1"]) as site:
        with site.stream(1, after="0", **one) as first, site.stream(1, after="0", **one) as second:
            assert next(first).name == next(second).name == "logged"
            assert refused(site.get("/api/studies", headers=one)) == 503
            assert site.get("/api/studies", headers=other).status_code == 200
        wait_for(lambda: site.get("/api/studies", headers=one).status_code == 200)


def test_tricks_with_paths_give_nothing(writing: Site) -> None:
    """Neither to strangers nor to those who know the token."""
    for path in TRICKS:
        for more in ([], [f"Authorization: Bearer {TOKEN}"]):
            said = raw(writing, _head(writing, "GET", path, "Connection: close", *more))
            assert said.split()[1] in (b"303", b"400", b"401", b"404"), (path, said)
            for found in (b"import", b'"studies"', b"root:", b"Traceback"):
                assert found not in said.replace(b"importance", b""), path


def test_nothing_is_written_without_write(site: Site, study: Study) -> None:
    for call in CALLS:
        assert refused(site.post(f"/api/studies{call}")) == 405
    assert len(study.events()) == 1


def test_other_methods_are_refused(site: Site, writing: Site) -> None:
    for method in ("DELETE", "TRACE", "NONSENSE"):
        for client in (site.client, writing.client, writing.stranger):
            for path in (*PAGES, *READS, "/api/studies/1/tell"):
                answer = client.request(method, path)
                assert refused(answer) == 405
                assert answer.headers["allow"] == "GET, HEAD, POST"
