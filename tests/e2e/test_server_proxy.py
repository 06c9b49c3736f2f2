"""The proxies of docs/server.md, with TLS: pages, cookies, and streams that come at once."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from helpers.serving import TOKEN, Command, logged, messages, new_study, serving, tell_some
from mislid.study import Study
from mislid.study.storage import as_storage

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text("utf-8")
NAME = "lab.example.org"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def example(begin: str) -> str:
    """The block of the document that begins so."""
    (found,) = re.findall(rf"(?ms)^```\n({begin}.*?)^```", DOCUMENT)
    return str(found).replace("127.0.0.1:8600", "127.0.0.1:BEHIND")


@contextmanager
def nginx(folder: Path, behind: int, port: int) -> Iterator[None]:
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NAME}"]
    words += ["-keyout", str(folder / "lab.key"), "-out", str(folder / "lab.pem")]
    subprocess.run(words, check=True, capture_output=True)
    server = example("server").replace("/etc/ssl", str(folder)).replace("BEHIND", str(behind))
    server = server.replace("listen 443", f"listen 127.0.0.1:{port}")
    places = "".join(
        f"{kind}_temp_path {folder / kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log {folder}/log; daemon off; events {{}}\n"
        f"http {{ access_log off; {places}\n{server} }}"
    )
    with _running(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "log")]):
        yield


@contextmanager
def caddy(folder: Path, behind: int, port: int) -> Iterator[None]:
    server = example(NAME).replace("BEHIND", str(behind)).replace("{", "{\n    tls internal", 1)
    ours = f"admin off\n auto_https disable_redirects\n skip_install_trust\n https_port {port}"
    (folder / "Caddyfile").write_text(f"{{\n {ours}\n}}\n{server}")
    words = ["env", f"XDG_DATA_HOME={folder}", f"XDG_CONFIG_HOME={folder}", "caddy", "run"]
    with _running([*words, "--config", str(folder / "Caddyfile")]):
        yield


@contextmanager
def _running(words: list[str]) -> Iterator[None]:
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


Proxy = Callable[[Path, int, int], Any]


@pytest.fixture(params=[nginx, caddy], ids=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest) -> Proxy:
    found: Proxy = request.param
    if shutil.which(request.node.callspec.id) is None:
        pytest.skip(f"{request.node.callspec.id} is not installed")
    return found


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with closing(as_storage(tmp_path / "lab.db")) as storage:
        yield new_study(storage)


@pytest.fixture
def server(tmp_path: Path, study: Study) -> Iterator[Command]:
    token = tmp_path / "token.txt"
    token.write_text(TOKEN)
    token.chmod(0o600)
    # As the document says.
    (line,) = re.findall(r"^mislid serve lab\.db (.*--trusted-proxy.*)$", DOCUMENT, re.MULTILINE)
    with serving(tmp_path / "lab.db", *line.replace("token.txt", str(token)).split()) as found:
        yield found


class Browser:
    """As far as headers and cookies go; names are not looked up."""

    def __init__(self, port: int) -> None:
        self.client = httpx.Client(
            base_url=f"https://127.0.0.1:{port}", verify=False, trust_env=False, timeout=20,
            headers={"host": NAME},
        )  # fmt: skip

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        stream = options.pop("stream", False)
        request = self.client.build_request(method, path, **options)
        request.extensions["sni_hostname"] = NAME
        return self.client.send(request, stream=stream)


def wait_until_ready(browser: Browser) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            if browser.send("GET", "/login").status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, "the proxy does not answer"
        time.sleep(0.1)


@pytest.mark.slow
def test_the_example_of_the_document(
    proxy: Proxy, server: Command, study: Study, tmp_path: Path
) -> None:
    port = free_port()
    with proxy(tmp_path, server.port, port):
        browser = Browser(port)
        wait_until_ready(browser)
        assert browser.send("GET", "/studies/1").headers["location"] == "/login"
        own = {"origin": f"https://{NAME}"}
        answer = browser.send("POST", "/login", data={"token": TOKEN}, headers=own)
        assert answer.status_code == 303, answer.text
        cookie = answer.headers["set-cookie"]
        assert {"secure", "httponly"} <= {part.strip().lower() for part in cookie.split(";")}
        sent = {"cookie": cookie.partition(";")[0]}
        assert browser.send("GET", "/studies/1", headers=sent).status_code == 200
        # Of another site, under another name, or from an address that the browser made up.
        for more, status in (
            ({"origin": "https://evil.example"}, 403),
            ({"x-forwarded-for": "203.0.113.9"}, 200),
        ):
            found = browser.send("GET", "/api/studies", headers=sent | more)
            assert found.status_code == status, more
        _stream_comes_at_once(browser, study, sent)


def _stream_comes_at_once(browser: Browser, study: Study, sent: dict[str, str]) -> None:
    path, wanted = "/api/studies/1/events?after=1", {"accept": "text/event-stream"}
    with closing(browser.send("GET", path, headers=sent | wanted, stream=True)) as answer:
        told = messages(answer.iter_lines())
        assert next(told).name == "state"
        begun = time.monotonic()
        tell_some(study, 1)
        assert [one.id for one in logged(told, 2)] == [2, 3]
        assert time.monotonic() - begun < 5.0
