"""`mislid data` from parsing to printing."""

import pytest

from helpers.web_server import web_server
from mislid.cli import main
from mislid.paper.datasets import CATALOGUE, DataFile, sha256

CONTENT = b"rows\n" * 100_000


@pytest.fixture
def served(monkeypatch):
    """The drug collection, of two files on a server of this machine."""
    with web_server() as site:
        for name in ("one", "two"):
            site.pages[f"/{name}"] = CONTENT
        files = tuple(
            DataFile(f"epilepsy/{name}", sha256(CONTENT), site.url(f"/{name}"))
            for name in ("one", "two")
        )
        monkeypatch.setitem(CATALOGUE, "epilepsy", CATALOGUE["epilepsy"]._replace(files=files))
        yield site


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", str(tmp_path))
    return tmp_path


def test_paths_on_stdout_bars_licence_and_citation_on_stderr(served, data, capsys):
    assert main(["data", "fetch", "epilepsy"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(data / "epilepsy" / name) for name in ("one", "two")]
    assert said.err.count("100%") >= 2
    assert "licence: MIT" in said.err
    assert "please cite: C. Réda, E. Kaufmann, A. Delahaye-Duriez" in said.err
    assert (data / "epilepsy" / "one").read_bytes() == CONTENT


def test_problems_are_one_sentence_with_the_way_out(served, data, capsys):
    del served.pages["/two"]
    assert main(["data", "fetch", "epilepsy"]) == 1
    said = capsys.readouterr()
    assert not said.out
    *_, last = said.err.splitlines()
    assert last.startswith("Error: ")
    assert "404" in said.err
    assert f"by hand: save {served.url('/two')} as " in said.err
