"""One file over HTTP: whole, resumed, refused, broken."""

import contextlib
import errno
import os
import socket
from pathlib import Path

import pytest

from helpers.web_server import Page
from mislid.errors import DownloadError
from mislid.paper.datasets import download as subject
from mislid.paper.datasets.download import download

CONTENT = bytes(range(256)) * 1024


@pytest.fixture
def place(tmp_path):
    return tmp_path / "downloads" / "file.bin"


def leave_a_part(site, place, **page):
    """Have a first download break after 100,000 bytes."""
    site.pages["/file"] = Page(CONTENT, cut=100_000, **page)
    with pytest.raises(DownloadError, match=r"broke: 100,000 of 262,144 bytes came"):
        download(site.url("/file"), place)
    assert not place.exists()
    site.pages["/file"].cut = None


def only(place):
    return [other.name for other in place.parent.iterdir()] == [place.name]


def test_a_whole_file(site, place):
    site.pages["/file"] = Page(CONTENT)
    told = []
    download(site.url("/file"), place, lambda *news: told.append(news))
    assert place.read_bytes() == CONTENT
    assert only(place)
    assert told[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    _, headers = site.requests[0]
    assert headers["User-Agent"].startswith("mislid/")
    assert "Range" not in headers


def test_a_file_that_is_there_is_not_asked_for(site, place):
    place.parent.mkdir()
    place.write_bytes(b"by hand")
    download(site.url("/file"), place)
    assert place.read_bytes() == b"by hand"
    assert not site.requests


def test_a_file_of_untold_length(site, place):
    site.pages["/file"] = Page(CONTENT, length=False)
    told = []
    download(site.url("/file"), place, lambda *news: told.append(news))
    assert place.read_bytes() == CONTENT
    assert told[-1] == ("file.bin", len(CONTENT), None)


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"first"'},
        {"Last-Modified": "Sun, 01 May 2011 00:00:00 GMT"},
        {"ETag": 'W/"weak"', "Last-Modified": "Sun, 01 May 2011 00:00:00 GMT"},
    ],
)
def test_the_rest_of_a_broken_download(site, place, headers):
    leave_a_part(site, place, headers=headers)
    told = []
    download(site.url("/file"), place, lambda *news: told.append(news))
    assert place.read_bytes() == CONTENT
    assert only(place)
    _, asked = site.requests[-1]
    assert asked["Range"] == "bytes=100000-"
    assert asked["If-Range"] == list(headers.values())[-1]
    assert told[0][1] > 100_000
    assert told[-1][1:] == (len(CONTENT), len(CONTENT))


def test_a_download_that_breaks_twice(site, place):
    leave_a_part(site, place)
    site.pages["/file"].cut = 50_000
    with pytest.raises(DownloadError, match=r"150,000 of 262,144 .* same call goes on from there"):
        download(site.url("/file"), place)
    site.pages["/file"].cut = None
    download(site.url("/file"), place)
    assert place.read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_sends_everything_again(site, place):
    leave_a_part(site, place, ranges=False)
    download(site.url("/file"), place)
    assert "Range" in site.requests[-1][1]
    assert place.read_bytes() == CONTENT
    assert only(place)


def test_a_file_that_changed_is_begun_again(site, place):
    leave_a_part(site, place)
    changed = CONTENT[::-1]
    site.pages["/file"] = Page(changed, {"ETag": '"second"'})
    download(site.url("/file"), place)
    assert place.read_bytes() == changed


def test_a_file_without_a_version_is_begun_again(site, place):
    site.pages["/file"] = Page(CONTENT, {}, cut=100_000)
    with pytest.raises(DownloadError, match="the same call begins again"):
        download(site.url("/file"), place)
    site.pages["/file"].cut = None
    download(site.url("/file"), place)
    assert "Range" not in site.requests[-1][1]
    assert place.read_bytes() == CONTENT


def test_a_part_of_another_address_is_not_continued(site, place):
    leave_a_part(site, place)
    site.pages["/other"] = Page(CONTENT[::-1])
    download(site.url("/other"), place)
    assert "Range" not in site.requests[-1][1]
    assert place.read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("facts", ["", "[]", "{", '{"url": 3}'])
def test_a_part_with_damaged_facts_is_not_continued(site, place, facts):
    leave_a_part(site, place)
    place.with_name("file.bin.part.json").write_text(facts)
    download(site.url("/file"), place)
    assert place.read_bytes() == CONTENT


@pytest.mark.parametrize("extra", [b"", b"more"])
def test_a_part_as_long_as_the_file_or_longer_is_begun_again(site, place, extra):
    leave_a_part(site, place)
    place.with_name("file.bin.part").write_bytes(b"x" * len(CONTENT) + extra)
    download(site.url("/file"), place)
    assert place.read_bytes() == CONTENT


def test_a_range_that_begins_elsewhere_is_not_believed(site, place):
    leave_a_part(site, place)
    site.pages["/file"].shift = 1
    download(site.url("/file"), place)
    assert place.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [403, 404, 500])
def test_errors_of_the_server(site, place, status):
    site.pages["/file"] = Page(CONTENT, status=status)
    with pytest.raises(DownloadError, match=rf"/file cannot be had: the server answers {status} "):
        download(site.url("/file"), place)
    assert not list(place.parent.iterdir())


def test_a_server_that_never_has_the_range(site, place):
    site.pages["/file"] = Page(CONTENT, status=416)
    with pytest.raises(DownloadError, match="refuses to send all of it"):
        download(site.url("/file"), place)


def test_nobody_listens(place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadError, match=rf"no connection to 127.0.0.1:{port} \(Connection ref"):
        download(f"http://127.0.0.1:{port}/file", place)


def test_no_such_host(place):
    with pytest.raises(DownloadError, match=r"no connection to mislid\.invalid \("):
        download("https://mislid.invalid/file", place)


def test_a_server_that_falls_silent(place, monkeypatch):
    monkeypatch.setattr(subject, "_PATIENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(DownloadError, match=r"no connection to .* \(timed out\)"):
            download(f"http://127.0.0.1:{port}/file", place)


def test_a_full_disk(site, place, monkeypatch):
    leave_a_part(site, place)

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(DownloadError, match=r"no space is left for '.*downloads'; free some"):
        download(site.url("/file"), place)
    assert not place.exists()


def part_of(place):
    return place.with_name("file.bin.part")


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_links_in_the_place_of_a_part_are_not_written_through(site, place, tmp_path, link):
    leave_a_part(site, place)
    other = tmp_path / "other"
    other.write_bytes(CONTENT[:100_000])
    part_of(place).unlink()
    link(part_of(place), other)
    download(site.url("/file"), place)
    assert other.read_bytes() == CONTENT[:100_000]
    assert place.read_bytes() == CONTENT
    assert not place.is_symlink()
    assert "Range" not in site.requests[-1][1]


def test_a_link_that_appears_while_the_server_answers_is_refused(site, place, tmp_path):
    leave_a_part(site, place)
    other = tmp_path / "other"
    other.write_bytes(b"")
    asked = subject._asked

    def swapped(*arguments):
        part_of(place).unlink(missing_ok=True)
        part_of(place).symlink_to(other)
        return asked(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(subject, "_asked", swapped)
        with contextlib.suppress(DownloadError):
            download(site.url("/file"), place)
    assert other.read_bytes() == b""


def test_links_in_the_place_of_facts_are_not_written_through(site, place, tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    place.parent.mkdir()
    place.with_name("file.bin.part.json").symlink_to(other)
    site.pages["/file"] = Page(CONTENT)
    download(site.url("/file"), place)
    assert other.read_text() == "precious"


@pytest.mark.parametrize("length", [True, False])
def test_what_is_too_large_is_not_kept(site, place, length):
    site.pages["/file"] = Page(CONTENT, length=length)
    download(site.url("/file"), place.with_name("just"), largest=len(CONTENT))
    with pytest.raises(DownloadError, match="more than 262,143 bytes, so that it is not the file"):
        download(site.url("/file"), place, largest=len(CONTENT) - 1)
    assert [other.name for other in place.parent.iterdir()] == ["just"]


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "\u00b2", "1 2", ""])
def test_lengths_that_are_none(site, place, length):
    site.pages["/file"] = Page(CONTENT, {"Content-Length": length}, length=False)
    try:
        download(site.url("/file"), place)
    except DownloadError:
        return  # the library closes what has a length below 0
    assert place.read_bytes() == CONTENT


def test_a_range_that_begins_at_no_number(site, place):
    leave_a_part(site, place)
    site.pages["/file"].first = "9" * 5000
    download(site.url("/file"), place)
    assert place.read_bytes() == CONTENT


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_directory_that_cannot_be_written_to(site, place, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(DownloadError, match=r"cannot be written to \(.*name another directory"):
        download(site.url("/file"), place)
    assert not site.requests


def test_a_directory_below_a_file(site, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match="cannot be written: "):
        download(site.url("/file"), tmp_path / "file" / "downloads" / "file.bin")
