"""Bring one file from the web; what an interrupted call leaves behind, the next one continues."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mislid import __version__
from mislid.errors import DownloadError

ByteListener = Callable[[str, int, int | None], object]
"""Called with a file's name, the bytes that are there, and all bytes or None."""

_CHUNK = 1 << 16
_PATIENCE = 30.0  # seconds without a byte
_NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


def download(url: str, place: Path, progress: ByteListener | None = None) -> None:
    """Bring a file from the web, whole or not at all; do nothing if it is there.

    `progress` is called with the file's name, the bytes that have come, and all bytes or None.
    """
    if place.exists():
        return
    with disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(place, url)
    with _answer(url, part) as response:
        done, total = _begun(response, part)
        part.note(_validator(response), done)
        for chunk in _chunks(response, part):
            part.append(chunk)
            done += len(chunk)
            if progress is not None:
                progress(place.name, done, total)
    if total is not None and done != total:
        raise part.broken(f"{done:,} of {total:,} bytes came")
    part.finish()


@contextlib.contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Say in plain words why nothing can be written."""
    try:
        yield
    except OSError as problem:
        folder = str(place.parent)
        if problem.errno in _NO_SPACE:
            raise DownloadError(
                f"no space is left for {folder!r}; free some, or name another directory with "
                "--data or MISLID_DATA"
            ) from None
        if problem.errno in _NOT_ALLOWED:
            raise DownloadError(
                f"{folder!r} cannot be written to ({problem.strerror}); name another directory "
                "with --data or MISLID_DATA"
            ) from None
        raise DownloadError(f"{str(place)!r} cannot be written: {problem.strerror}") from None


class _Part:
    """The bytes that came so far, `NAME.part`, and which version of the file they are of."""

    def __init__(self, place: Path, url: str) -> None:
        self.place, self.url = place, url
        self.bytes = place.with_name(f"{place.name}.part")
        self.facts = place.with_name(f"{place.name}.part.json")

    def range(self) -> dict[str, str]:
        """Headers that ask for the rest, or for everything where that would not be safe."""
        validator = self._known().get("validator")
        if not validator or not self.size():
            return {}
        return {"Range": f"bytes={self.size()}-", "If-Range": str(validator)}

    def size(self) -> int:
        return self.bytes.stat().st_size if self.bytes.exists() else 0

    def note(self, validator: str | None, start: int) -> None:
        """Remember the version; forget the bytes unless they are continued from `start`."""
        with disk_errors(self.place):
            if start == 0:
                self.bytes.open("wb").close()
            self.facts.write_text(json.dumps({"url": self.url, "validator": validator}))

    def append(self, chunk: bytes) -> None:
        with disk_errors(self.place), self.bytes.open("ab") as file:
            file.write(chunk)

    def finish(self) -> None:
        with disk_errors(self.place):
            self.bytes.replace(self.place)
            self.facts.unlink(missing_ok=True)

    def discard(self) -> None:
        with disk_errors(self.place):
            self.bytes.unlink(missing_ok=True)
            self.facts.unlink(missing_ok=True)

    def broken(self, what: str) -> DownloadError:
        again = "goes on from there" if self.range() else "begins again"
        return DownloadError(
            f"the connection to {urlsplit(self.url).netloc} broke: {what}; the same call {again}"
        )

    def _known(self) -> dict[str, Any]:
        try:
            facts = json.loads(self.facts.read_text())
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) and facts.get("url") == self.url else {}


def _answer(url: str, part: _Part) -> http.client.HTTPResponse:
    """The server's answer to a request for the rest, or, where it has none, for everything."""
    wanted = part.range()
    if wanted:
        response = _asked(url, wanted)
        if response is not None and (
            response.status == 200 or _first_byte(response) == part.size()
        ):
            return response
        if response is not None:
            response.close()
        part.discard()
    response = _asked(url, {})
    if response is None:
        raise DownloadError(f"{url} cannot be had: the server refuses to send all of it")
    return response


def _asked(url: str, headers: dict[str, str]) -> http.client.HTTPResponse | None:
    """The answer; None where the server does not have the range."""
    agent = {"User-Agent": f"mislid/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=agent | headers)  # noqa: S310 - from the catalogue
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(  # noqa: S310 - the same
            request, timeout=_PATIENCE
        )
    except urllib.error.HTTPError as problem:
        problem.close()
        if problem.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        raise DownloadError(
            f"{url} cannot be had: the server answers {problem.code} {problem.reason}"
        ) from None
    except (OSError, http.client.HTTPException) as problem:
        reason = getattr(problem, "reason", problem)
        words = getattr(reason, "strerror", None) or reason
        raise DownloadError(f"no connection to {urlsplit(url).netloc} ({words})") from None
    return response


def _begun(response: http.client.HTTPResponse, part: _Part) -> tuple[int, int | None]:
    """How many bytes are there already, and how many there will be."""
    start = part.size() if response.status == http.client.PARTIAL_CONTENT else 0
    length = response.headers.get("Content-Length", "")
    return start, start + int(length) if length.isdigit() else None


def _first_byte(response: http.client.HTTPResponse) -> int | None:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _validator(response: http.client.HTTPResponse) -> str | None:
    """What If-Range may name: a strong tag, else a date."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified")


def _chunks(response: http.client.HTTPResponse, part: _Part) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(_CHUNK)
        except (OSError, http.client.HTTPException) as problem:
            raise part.broken(str(problem) or type(problem).__name__) from None
        if not chunk:
            return
        yield chunk
