"""Where data are; how they are downloaded, converted and checked; each problem has a way out."""

import io
import zipfile

import pytest

from mislid.errors import MissingDataError
from mislid.paper.datasets import (
    CATALOGUE,
    Collection,
    DataFile,
    archive_member,
    fetch,
    locate,
    sha256,
)

# requests leaves connections that broke to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

LISTENINGS = b"userID\tartistID\tweight\r\n2\t51\t13883\r\n"
ARCHIVE, PLACE = "/lastfm.zip", "lastfm/user_artists.dat"


def zipped(**files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return archive.getvalue()


@pytest.fixture
def lastfm(site, monkeypatch):
    """The collection, served from this machine with other contents."""
    file = DataFile(PLACE, sha256(LISTENINGS), site.url(ARCHIVE), make=archive_member)
    collection = Collection("counts", "a licence", "someone", (file,))
    monkeypatch.setitem(CATALOGUE, "lastfm", collection)
    archive = zipped(**{"readme.txt": b"hello", "user_artists.dat": LISTENINGS})
    site.pages[ARCHIVE] = archive
    return collection


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_archive_becomes_the_one_file_that_is_wanted(lastfm, tmp_path):
    assert not lastfm.is_complete(tmp_path)
    (place,) = fetch("lastfm", tmp_path)
    assert place.read_bytes() == LISTENINGS
    assert files_below(tmp_path) == [PLACE]
    assert not (tmp_path / "downloads").exists()
    assert lastfm.is_complete(tmp_path)
    assert locate(PLACE, tmp_path) == place


def test_what_is_right_stays_and_what_is_wrong_is_replaced(site, lastfm, tmp_path):
    (place,) = fetch("lastfm", tmp_path)
    fetch("lastfm", tmp_path)
    assert len(site.requests) == 1
    place.write_bytes(LISTENINGS[:-5])
    fetch("lastfm", tmp_path)
    assert place.read_bytes() == LISTENINGS


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            zipped(**{"user_artists.dat": b"other"}),
            "its checksum is [0-9a-f]{64}, not",
        ),
        (
            zipped(**{"a/user_artists.dat": b"", "b/user_artists.dat": b""}),
            "must hold one file user_artists.dat",
        ),
        (zipped(**{"user_artists.dat": LISTENINGS})[:-30], "no complete .zip archive"),
    ],
)
def test_wrong_contents_are_deleted(site, lastfm, tmp_path, content, problem):
    site.pages[ARCHIVE] = content
    with pytest.raises(MissingDataError, match=f"is not the published file: .*{problem}"):
        fetch("lastfm", tmp_path)
    assert files_below(tmp_path) == []


def looked_at(content, name):
    raise AssertionError("nobody may look at it")


def test_a_download_with_another_checksum_is_not_opened(site, tmp_path, monkeypatch):
    checksums = sha256(b"made"), sha256(b"other")
    file = DataFile("instances/D.npz", checksums[0], site.url("/p"), checksums[1], looked_at)
    monkeypatch.setitem(CATALOGUE, "instances", Collection("", "", "", (file,)))
    site.pages["/p"] = b"cos\nsystem\n(S'true'\ntR."
    with pytest.raises(MissingDataError, match="hash"):
        fetch("instances", tmp_path)
    assert files_below(tmp_path) == []


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_published_files_have_the_checksums(shared_data, name):
    assert CATALOGUE[name].is_complete(shared_data)


def test_files_come_from_the_one_directory_that_is_named(monkeypatch, tmp_path):
    named, cached = tmp_path / "named", tmp_path / "cache" / "mislid"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for folder in (named, cached):
        (folder / "instances").mkdir(parents=True)
    (cached / "instances" / "D.npz").touch()
    assert locate("instances/D.npz") == cached / "instances" / "D.npz"
    with pytest.raises(MissingDataError, match=r"`mislid data fetch instances --data .*named`, or"):
        locate("instances/D.npz", named)
    monkeypatch.setenv("MISLID_DATA", str(named))
    with pytest.raises(MissingDataError, match=r"named'; get it with `mislid data fetch inst"):
        locate("instances/D.npz")
    with pytest.raises(FileNotFoundError, match=r"no own\.csv in '.*'; name a directory"):
        locate("own.csv")
