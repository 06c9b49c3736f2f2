"""`mislid data` from parsing to printing."""

import os
from dataclasses import replace

import pytest

from helpers.web_server import Page, web_server
from mislid.cli import main
from mislid.cli.data import NAMES
from mislid.paper.datasets import CATALOGUE
from mislid.paper.datasets.catalogue import DataFile, Download, sha256

CONTENT = b"rows\n" * 100_000


@pytest.fixture
def served(monkeypatch):
    """The drug collection, of two files on a server of this machine."""
    with web_server() as site:
        for name in ("one", "two"):
            site.pages[f"/{name}"] = Page(CONTENT)
        files = tuple(
            DataFile(f"epilepsy/{name}", sha256(CONTENT), (Download(site.url(f"/{name}"), name),))
            for name in ("one", "two")
        )
        monkeypatch.setitem(CATALOGUE, "epilepsy", replace(CATALOGUE["epilepsy"], files=files))
        yield site


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("MISLID_DATA", str(tmp_path))
    return tmp_path


def test_the_command_knows_the_catalogue():
    assert tuple(CATALOGUE) == NAMES


def test_paths_on_stdout_bars_licence_and_citation_on_stderr(served, data, capsys):
    assert main(["data", "fetch", "epilepsy"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(data / "epilepsy" / name) for name in ("one", "two")]
    assert said.err.count("100%") >= 2
    assert "licence: MIT" in said.err
    assert "please cite: C. Réda, E. Kaufmann, A. Delahaye-Duriez" in said.err
    assert (data / "epilepsy" / "one").read_bytes() == CONTENT


def test_quiet_says_only_the_paths(served, data, tmp_path, capsys):
    other = tmp_path / "other"
    assert main(["data", "fetch", "epilepsy", "--quiet", "--data", str(other)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(other / "epilepsy" / name) for name in ("one", "two")]
    assert not said.err


def test_what_is_here(served, data, capsys):
    assert main(["data", "list"]) == 0
    before = capsys.readouterr().out
    assert [line.split()[:2] for line in before.splitlines()] == [[n, "missing"] for n in NAMES]
    main(["data", "fetch", "epilepsy"])
    capsys.readouterr()
    main(["data", "list"])
    states = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines())
    assert states == dict.fromkeys(NAMES, "missing") | {"epilepsy": "here"}


def test_where_it_is(served, data, capsys):
    assert main(["data", "path"]) == 0
    assert capsys.readouterr().out == f"{data}{os.linesep}"
    assert main(["data", "path", "epilepsy"]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert "get it with `mislid data fetch epilepsy`" in said.err
    main(["data", "fetch", "epilepsy"])
    capsys.readouterr()
    assert main(["data", "path", "epilepsy"]) == 0
    assert capsys.readouterr().out.split() == [str(data / "epilepsy" / n) for n in ("one", "two")]


def test_problems_are_one_sentence_with_the_way_out(served, data, capsys, monkeypatch):
    monkeypatch.setattr("mislid.paper.datasets.directory.RETRIES", 0)
    del served.pages["/two"]
    assert main(["data", "fetch", "epilepsy", "--quiet"]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith("Error: ")
    assert len(said.err.splitlines()) == 1
    assert "404" in said.err
    assert f"by hand: save {served.url('/two')} as " in said.err


@pytest.mark.parametrize("arguments", [["fetch"], ["fetch", "music"], ["path", "music"], ["fly"]])
def test_wrong_calls_exit_with_2(arguments, capsys):
    assert main(["data", *arguments]) == 2
    assert "Error: " in capsys.readouterr().err
