"""Where data are; how they are downloaded, converted and checked; each problem has a way out."""

import errno
import io
import os
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from helpers.homeless import take_home
from helpers.web_server import Page
from mislid.errors import DownloadError, MissingDataError, ProblemError
from mislid.paper.datasets import (
    CATALOGUE,
    cache_directory,
    conversion,
    data_directory,
    fetch,
    is_complete,
    locate,
)
from mislid.paper.datasets.catalogue import Collection, DataFile, Download, collection_of, sha256

LISTENINGS = b"userID\tartistID\tweight\r\n2\t51\t13883\r\n"


def zipped(**files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return archive.getvalue()


@pytest.fixture
def lastfm(site, monkeypatch):
    """The collection, served from this machine with other contents."""
    file = DataFile(
        "lastfm/user_artists.dat",
        sha256(LISTENINGS),
        (Download(site.url("/lastfm.zip"), "lastfm.zip"),),
        partial(conversion.archive_member, name="user_artists.dat"),
    )
    collection = Collection("lastfm", "counts", "a licence", "someone", (file,))
    monkeypatch.setitem(CATALOGUE, "lastfm", collection)
    archive = zipped(**{"readme.txt": b"hello", "user_artists.dat": LISTENINGS})
    site.pages["/lastfm.zip"] = Page(archive)
    return collection


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_archive_becomes_the_one_file_that_is_wanted(lastfm, tmp_path):
    assert not is_complete(lastfm, tmp_path)
    (place,) = fetch("lastfm", tmp_path)
    assert place.read_bytes() == LISTENINGS
    assert files_below(tmp_path) == ["lastfm/user_artists.dat"]
    assert not (tmp_path / "downloads").exists()
    assert is_complete(lastfm, tmp_path)
    assert locate("lastfm/user_artists.dat", tmp_path) == place


def test_what_is_there_and_right_stays(site, lastfm, tmp_path):
    (place,) = fetch("lastfm", tmp_path)
    before = place.stat().st_mtime_ns
    fetch("lastfm", tmp_path)
    assert place.stat().st_mtime_ns == before
    assert len(site.requests) == 1


def test_what_is_there_and_wrong_is_replaced(lastfm, tmp_path):
    (tmp_path / "lastfm").mkdir()
    (tmp_path / "lastfm" / "user_artists.dat").write_bytes(LISTENINGS[:-5])
    (place,) = fetch("lastfm", tmp_path)
    assert place.read_bytes() == LISTENINGS


def test_what_was_saved_by_hand_is_used(site, lastfm, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "lastfm.zip").write_bytes(site.pages["/lastfm.zip"].content)
    (place,) = fetch("lastfm", tmp_path)
    assert place.read_bytes() == LISTENINGS
    assert not site.requests
    assert files_below(tmp_path) == ["lastfm/user_artists.dat"]


def test_an_interrupted_fetch_goes_on(site, lastfm, tmp_path):
    site.pages["/lastfm.zip"].cut = 40
    with pytest.raises(DownloadError, match="goes on from there"):
        fetch("lastfm", tmp_path)
    site.pages["/lastfm.zip"].cut = None
    (place,) = fetch("lastfm", tmp_path)
    assert site.requests[-1][1]["Range"] == "bytes=40-"
    assert place.read_bytes() == LISTENINGS


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            zipped(**{"user_artists.dat": b"other"}),
            "its checksum is [0-9a-f]{64}, not [0-9a-f]{64}",
        ),
        (zipped(**{"readme.txt": b"hello"}), "must hold one file user_artists.dat"),
        (
            zipped(**{"a/user_artists.dat": b"", "b/user_artists.dat": b""}),
            "must hold one file user_artists.dat",
        ),
        (b"<html>Log in to this network</html>", "no complete .zip archive"),
        (zipped(**{"user_artists.dat": LISTENINGS})[:-30], "no complete .zip archive"),
        (b"", "no complete .zip archive"),
    ],
)
def test_wrong_contents_are_deleted(site, lastfm, tmp_path, content, problem):
    site.pages["/lastfm.zip"].content = content
    with pytest.raises(
        DownloadError, match=f"not the published file, and was deleted: .*{problem}"
    ):
        fetch("lastfm", tmp_path)
    assert files_below(tmp_path) == []


@pytest.mark.parametrize(
    "evil", ["../../user_artists.dat", "/tmp/user_artists.dat", "..\\..\\user_artists.dat"]
)
def test_names_in_an_archive_decide_nothing(site, lastfm, tmp_path, evil):
    site.pages["/lastfm.zip"].content = zipped(**{evil: LISTENINGS, "../other": b"evil"})
    folder = tmp_path / "deep" / "down"
    fetch("lastfm", folder)
    assert files_below(tmp_path) == ["deep/down/lastfm/user_artists.dat"]


def test_an_archive_that_claims_too_much_is_refused(site, lastfm, tmp_path, monkeypatch):
    monkeypatch.setattr("mislid.io.archives.LARGEST_UNPACKED", 3)
    with pytest.raises(DownloadError, match="must unpack to at most 3 bytes; it says that it has"):
        fetch("lastfm", tmp_path)


def break_page(site):
    site.pages["/lastfm.zip"].cut = 10


def lose_page(site):
    del site.pages["/lastfm.zip"]


def spoil_page(site):
    site.pages["/lastfm.zip"].content = zipped(**{"user_artists.dat": b"other"})


@pytest.mark.parametrize("happens", [break_page, lose_page, spoil_page])
def test_every_problem_names_the_way_out(site, lastfm, tmp_path, happens):
    happens(site)
    with pytest.raises(DownloadError) as caught:
        fetch("lastfm", tmp_path)
    by_hand = tmp_path / "downloads" / "lastfm.zip"
    assert f"by hand: save {site.url('/lastfm.zip')} as {str(by_hand)!r}" in str(caught.value)
    assert "a directory that has lastfm/user_artists.dat with --data or MISLID_DATA" in str(
        caught.value
    )


def test_a_disk_that_fills_up_at_the_last_step(lastfm, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("mislid.paper.datasets.directory.write_whole", full)
        with pytest.raises(DownloadError, match=r"no space is left for .*; free some, .*by hand"):
            fetch("lastfm", tmp_path)
    assert files_below(tmp_path) == ["downloads/lastfm.zip"]
    fetch("lastfm", tmp_path)
    assert files_below(tmp_path) == ["lastfm/user_artists.dat"]


def test_two_processes_do_not_mix_their_bytes(site, lastfm, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    handle = os.open(downloads, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(DownloadError, match="another process is fetching into"):
            fetch("lastfm", tmp_path)
    finally:
        os.close(handle)
    assert not site.requests
    fetch("lastfm", tmp_path)


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC])
def test_a_directory_that_cannot_be_made(site, lastfm, tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(
        DownloadError, match=r"name another directory with --data .*; by hand: save"
    ):
        fetch("lastfm", tmp_path)
    assert not site.requests


def test_unknown_names(tmp_path):
    with pytest.raises(ProblemError, match=r"name must be one of instances, published, .*'music'"):
        fetch("music", tmp_path)
    with pytest.raises(ProblemError, match=r"name must be one of .*; got \['lastfm'\]"):
        fetch(["lastfm"], tmp_path)


def test_whether_what_is_complete(lastfm, tmp_path):
    fetch("lastfm", tmp_path)
    assert is_complete(lastfm, str(tmp_path))
    with pytest.raises(ProblemError, match="folder must be a string or a path; got 5"):
        is_complete(lastfm, 5)
    with pytest.raises(ProblemError, match="collection must be an entry of CATALOGUE; got 'last"):
        is_complete("lastfm", tmp_path)


def test_the_catalogue():
    files = [file for collection in CATALOGUE.values() for file in collection.files]
    downloads = {wanted for file in files for wanted in file.downloads}
    assert len({wanted.name for wanted in downloads}) == len(downloads)
    assert all(wanted.url.startswith("https://") for wanted in downloads)
    assert all("/" not in wanted.name for wanted in downloads)
    assert len({file.path for file in files}) == len(files) == 10
    assert all(len(file.checksum) == 64 for file in files)
    assert all(collection.licence and collection.citation for collection in CATALOGUE.values())
    assert collection_of("instances/E.npz").name == "instances"
    assert collection_of("instances/F.npz") is None


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_published_files_have_the_checksums(shared_data, name):
    assert is_complete(CATALOGUE[name], shared_data)


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".cache/mislid"),
        ("darwin", "Library/Caches/mislid"),
        ("win32", "AppData/Local/mislid/Cache"),
    ],
)
def test_caches_of_the_systems(home, monkeypatch, platform, folder):
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_directory() == home / folder
    assert data_directory() == home / folder


def test_caches_that_were_moved(home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/scratch")
    assert cache_directory() == Path("/scratch/mislid")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == home / ".cache" / "mislid"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_directory() == Path("/local/mislid/Cache")


@pytest.mark.skipif(sys.platform == "win32", reason="users of Windows have a home")
def test_without_a_home_the_way_out_is_named(monkeypatch, tmp_path):
    take_home(monkeypatch)
    monkeypatch.delenv("MISLID_DATA", raising=False)
    with pytest.raises(MissingDataError, match="name a folder for them in MISLID_DATA"):
        data_directory()
    monkeypatch.setenv("MISLID_DATA", str(tmp_path))
    assert data_directory() == tmp_path


def test_the_argument_comes_first_then_the_variable_then_the_cache(home, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", "~/data")
    monkeypatch.setenv("HOME", str(home))
    assert data_directory("given") == Path("given")
    assert data_directory() == home / "data"
    monkeypatch.setenv("MISLID_DATA", "")
    assert data_directory() == cache_directory()
    with pytest.raises(ProblemError, match="data must be a string or a path; got 3"):
        data_directory(3)


def test_files_come_from_the_one_directory_that_is_named(home, monkeypatch, tmp_path):
    named, cached = tmp_path / "named", cache_directory()
    for folder in (named, cached):
        (folder / "instances").mkdir(parents=True)
    (cached / "instances" / "D.npz").touch()
    assert locate("instances/D.npz") == cached / "instances" / "D.npz"
    with pytest.raises(MissingDataError, match=r"`mislid data fetch instances --data .*named`, or"):
        locate("instances/D.npz", named)
    monkeypatch.setenv("MISLID_DATA", str(named))
    with pytest.raises(MissingDataError, match=r"named'; get it with `mislid data fetch inst"):
        locate("instances/D.npz")
    (named / "instances" / "D.npz").touch()
    assert locate("instances/D.npz") == named / "instances" / "D.npz"


def test_files_that_nobody_publishes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no own\.csv in '.*'; name a directory"):
        locate("own.csv", tmp_path)


def looked_at(contents):
    raise AssertionError("nobody may look at it")


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize(
    ("limit", "problem"),
    [({"checksum": sha256(b"other")}, "its checksum is"), ({"largest": 3}, "more than 3 bytes")],
)
def test_nobody_looks_at_what_is_not_expected(site, tmp_path, monkeypatch, by_hand, limit, problem):
    download = Download(site.url("/pickled"), "pickled", **limit)
    file = DataFile("instances/D.npz", sha256(b"made"), (download,), looked_at)
    monkeypatch.setitem(CATALOGUE, "instances", Collection("instances", "", "", "", (file,)))
    site.pages["/pickled"] = Page(b"cos\nsystem\n(S'true'\ntR.")
    if by_hand:
        (tmp_path / "downloads").mkdir()
        (tmp_path / "downloads" / "pickled").write_bytes(site.pages["/pickled"].content)
    with pytest.raises(DownloadError, match=problem):
        fetch("instances", tmp_path)
    assert files_below(tmp_path) == []
