"""Bring one file from the web; what an interrupted call leaves behind, the next one continues."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import os
import re
import stat
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from mislid import __version__
from mislid.errors import DownloadError
from mislid.io import write_whole

ByteListener = Callable[[str, int, int | None], object]
"""Called with a file's name, the bytes that are there, and all bytes or None."""

LARGEST = 1 << 24
"""Bytes of a file that is downloaded; the largest that anybody wants has 2.6 million."""

_CHUNK = 1 << 16
_PATIENCE = 30.0  # seconds without a byte
_NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


def download(
    url: str, place: Path, progress: ByteListener | None = None, *, largest: int = LARGEST
) -> None:
    """Bring a file from the web, whole or not at all; do nothing if it is there.

    `progress` is called with the file's name, the bytes that have come, and all bytes or None. What
    has more than `largest` bytes is refused, and nothing of it is kept.
    """
    if place.exists():
        return
    with disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(place, url)
    with _answer(url, part) as response:
        done, total = _begun(response, part)
        _refuse_larger(total or 0, largest, part)
        with part.opened(_validator(response), done) as file:
            for chunk in _chunks(response, part):
                done += len(chunk)
                _refuse_larger(done, largest, part)
                with disk_errors(place):
                    file.write(chunk)
                if progress is not None:
                    progress(place.name, done, total)
    if total is not None and done != total:
        raise part.broken(f"{done:,} of {total:,} bytes came")
    part.finish()


def _refuse_larger(size: int, largest: int, part: _Part) -> None:
    if size > largest:
        part.discard()
        raise DownloadError(
            f"{part.url} has more than {largest:,} bytes, so that it is not the file that is "
            "wanted; nothing of it was kept"
        )


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
        """Bytes that can be continued; 0 where the name stands for anything but a file of ours."""
        try:
            about = self.bytes.lstat()
        except OSError:
            return 0
        return about.st_size if stat.S_ISREG(about.st_mode) and about.st_nlink == 1 else 0

    @contextlib.contextmanager
    def opened(self, validator: str | None, start: int) -> Iterator[BinaryIO]:
        """The file for the bytes from `start` on; those of a version that is remembered.

        No link is followed, which somebody else may have put there: what is begun anew is a new
        file, and what is continued is a file that has this one name.
        """
        with disk_errors(self.place):
            if start == 0:
                self.bytes.unlink(missing_ok=True)
            how = os.O_CREAT | os.O_EXCL if start == 0 else os.O_APPEND
            how |= os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            file = os.fdopen(os.open(self.bytes, how, 0o600), "ab", buffering=0)
        with file:
            with disk_errors(self.place):
                facts = json.dumps({"url": self.url, "validator": validator})
                write_whole(self.facts, facts.encode())
            yield file

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
            with self.facts.open("rb") as file:
                facts = json.loads(file.read(_CHUNK))
        except (OSError, ValueError, RecursionError):
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
    length = _whole(response.headers.get("Content-Length", ""))
    return start, None if length is None else start + length


def _first_byte(response: http.client.HTTPResponse) -> int | None:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return _whole(match[1]) if match else None


def _whole(digits: str) -> int | None:
    """A number of bytes, if a header has one; servers may write what they like."""
    return int(digits) if re.fullmatch(r"[0-9]{1,18}", digits) else None


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
