"""What is read from a file, and what is refused before it is parsed."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

import mislid
from helpers.certificates import certificate_of, text_of
from mislid.verification import reading


def failure_of(given: Any) -> str:
    """Why something is no certificate, in one sentence and at once."""
    began = time.perf_counter()
    outcome = mislid.verify(given)
    assert time.perf_counter() - began < 5.0
    assert not outcome.ok
    assert (outcome.answer, outcome.proven) == ((), None)
    assert outcome.failure is not None
    assert "\n" not in outcome.failure
    assert len(outcome.failure) < 300
    return outcome.failure


@pytest.mark.parametrize("given", [None, 3, 2.5, True, b"file.json", [], [{}], object(), ...])
def test_things_that_are_no_certificates(given: Any) -> None:
    assert failure_of(given).startswith("certificate must be the path of a file, or a mapping; got")


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a": NaN}', "NaN is not a number of JSON"),
        (b"[]", "certificate must be an object"),
        (b"{}", "schema must be one of mislid-certificate; got None"),
        (b'{"schema": "mislid-certificate", "version": 4}', "version must be 3"),
        (b'{"schema": "mislid-certificate", "version": 3}', "study is missing"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"7" * 2_000_000 + b"}", "over 1000 digits"),
        (b'{"a": 0.' + b"7" * 2_000_000 + b"}", "over 1000 digits"),
        (b'{"a": 1, "b": 2, "a": 3}', "a key twice"),
        (b'"' + b"\\" * 1_000_001, "not JSON"),
        (b'["' + b"[" * 100_000 + b'"]', "certificate must be an object"),
    ],
)
def test_files_that_are_no_certificates(content: bytes, failure: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(content)
    assert failure in failure_of(tmp_path / "file.json")


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of("by both")
    (tmp_path / "file.json").write_text(text)
    monkeypatch.setattr(reading, "MOST_BYTES", len(text))
    assert mislid.verify(tmp_path / "file.json").ok
    monkeypatch.setattr(reading, "MOST_BYTES", len(text) - 1)
    assert failure_of(tmp_path / "file.json") == f"the file must have at most {len(text) - 1} bytes"


def test_a_file_without_an_end_or_a_writer(tmp_path: Path) -> None:
    for path in filter(os.path.exists, ["/dev/zero", "/dev/null", "/dev/tty"]):
        assert failure_of(path).startswith("the file cannot be read")
    os.mkfifo(tmp_path / "pipe")
    assert failure_of(tmp_path / "pipe") == "the file cannot be read: it is no regular file"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path, tmp_path / "loop", tmp_path / "absent", "a\0b", "", "x" * 5000):
        assert failure_of(path).startswith("the file cannot be read")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(1 << 40)  # of holes
    assert "at most" in failure_of(huge)


def test_values_that_are_deep_or_turn_back() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    around: dict[str, Any] = certificate_of("by both")
    around["log"] = around
    for place in ("study", "candidates", "settings", "data", "evidence", "log", "seal"):
        found = certificate_of("by both")
        found[place] = deep
        assert not mislid.verify(found).ok
    assert not mislid.verify(around).ok
    assert "mapping" not in failure_of({"schema": deep})
    while deep:  # without recursion
        deep = deep[0]
