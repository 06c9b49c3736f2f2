"""`mislid serve`: what it refuses before it listens, and how it ends."""

import signal
import socket
from pathlib import Path

import httpx
import pytest

from helpers.command_line import command
from helpers.serving import TOKEN, Command, new_study, serving
from mislid.study.storage import as_storage


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    place = tmp_path / "lab.db"
    storage = as_storage(place)
    new_study(storage)
    storage.close()
    return place


def refused(*words: object) -> str:
    done = command("serve", *words)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_cannot_be_served_is_refused(lab: Path, tmp_path: Path) -> None:
    assert "storage must be there" in refused(tmp_path / "none.db")
    assert "cannot be read" in refused(lab, "--token-file", tmp_path / "none")
    token = tmp_path / "token.txt"
    token.write_text("short")
    token.chmod(0o600)
    assert "20 or more letters" in refused(lab, "--token-file", token)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "no other program listens" in refused(lab, "--port", port)


def test_a_token_of_a_file_is_not_printed(lab: Path, tmp_path: Path) -> None:
    token = tmp_path / "token.txt"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with serving(lab, "--token-file", str(token)) as server:
        known = {"authorization": f"Bearer {TOKEN}"}
        url = f"{server.url}/api/studies"
        assert httpx.get(url, trust_env=False).status_code == 401
        assert httpx.get(url, headers=known, trust_env=False).status_code == 200
        assert TOKEN not in server.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_told_though_somebody_listens(lab: Path, number: signal.Signals) -> None:
    server = Command(lab)
    url, accept = f"{server.url}/api/studies/1/events", {"accept": "text/event-stream"}
    with httpx.stream("GET", url, headers=accept, trust_env=False, timeout=30) as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()
        next(lines)
        server.process.send_signal(number)
        list(lines)  # which ends
    status = server.process.wait(10)
    assert status == (0 if number == signal.SIGINT else -signal.SIGTERM)
    said = server.log.read_text()
    assert "Traceback" not in said
    assert "ERROR" not in said
