"""What programs read: exactly what the Python objects say."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mislid
from helpers.serving import MEANS, Site, new_study, running, tell_some
from mislid.errors import ContradictedWarning, ProblemError, StorageError
from mislid.forecast.evidence import estimate_rows
from mislid.server.answers import refused
from mislid.study import Study
from mislid.study.storage import Storage, as_storage

STUDY = "/api/studies/1"


def plain(value: Any) -> Any:
    """As JSON has it."""
    return json.loads(json.dumps(value))


def test_answers_are_what_the_objects_say(site: Site, study: Study) -> None:
    tell_some(study, 6)
    overview = study.overview()
    state = site.json(STUDY)["state"]
    words = state.pop("words")
    assert state.pop("proof") == study.sensitivity().statement
    assert state == plain(overview.to_dict(forecast=False))
    assert "Which of 4 candidates has the largest mean?" in words
    rows = [row.to_dict() for row in estimate_rows(study.overview())]
    assert site.json(f"{STUDY}/estimates")["estimates"] == plain(rows)
    forecast = site.json(f"{STUDY}/forecast")["forecast"]
    assert set(forecast) == set(plain(study.progress().to_dict()))


def test_a_certificate_comes_with_the_decision(site: Site, study: Study) -> None:
    assert site.get(f"{STUDY}/certificate").status_code == 409
    study.add_observations(list(MEANS.items()) * 15)
    assert study.result is not None
    answer = site.get(f"{STUDY}/certificate")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.json() == plain(study.result.certificate.to_dict())
    assert mislid.verify(answer.json()).ok
    with pytest.warns(ContradictedWarning):
        study.correct(row=0, value=5.0)
    assert study.result is None
    assert site.get(f"{STUDY}/certificate").status_code == 409


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("/api/studies/9", 404, "no study '9'"),
        ("/api/studies/%3Cb%3E", 404, "no study '<b>'"),
        (f"{STUDY}/events?after=-1", 422, "after must be a whole number"),
        (f"{STUDY}/events?after={'9' * 5000}", 422, "after must be a whole number"),
    ],
)
def test_errors_say_what_is_wrong(site: Site, path: str, status: int, part: str) -> None:
    answer = site.get(path)
    assert answer.status_code == status
    assert part in answer.json()["error"]["message"]


def test_pages_escape_names(storage: Storage) -> None:
    new_study(storage, "<script>alert('x')</script>\"")
    with running(storage) as site:
        text = site.get("/studies/1").text
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text
        for path in ("/studies/9", "/studies/<b>"):
            answer = site.get(path)
            assert answer.status_code == 404
            assert answer.headers["content-type"].startswith("text/html")
            assert 'href="/"' in answer.text
            assert "<b>" not in answer.text


@pytest.mark.skipif(os.name != "posix", reason="files that are open cannot be deleted elsewhere")
def test_a_storage_that_was_deleted_or_replaced_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place, other in ((tmp_path / "gone.db", None), (tmp_path / "new.db", tmp_path / "o.db")):
        storage = as_storage(place)
        new_study(storage)
        if other is not None:
            another = as_storage(other)
            new_study(another, "another")
            another.close()
        with running(storage) as site, site.stream(1, after="0") as told:
            assert next(told).name == "logged"
            for file in place.parent.glob(f"{place.name}*"):
                file.unlink()
            if other is not None:
                other.rename(place)
            said = next(told)
            assert (said.name, said.data["error"]["kind"]) == ("trouble", "StorageError")
            assert str(tmp_path) not in str(said.data)
            for path in ("/api/studies", STUDY, "/studies/1"):
                answer = site.get(path)
                assert answer.status_code == 503
                assert str(tmp_path) not in answer.text
        # However often somebody asks; the minute may change meanwhile.
        assert caplog.text.count(f"{place}' was changed while it was open") in (1, 2)
        storage.close()


def test_a_damaged_study_does_not_hide_others(site: Site, study: Study, tmp_path: Path) -> None:
    tell_some(study, 1)
    with closing(sqlite3.connect(tmp_path / "lab.db")) as file, file:
        file.execute("UPDATE mislid_events SET body = '{' WHERE sequence = 2")
        file.execute("UPDATE mislid_studies SET summary = NULL")
    new_study(tmp_path / "lab.db", "other")
    first, second = site.json("/api/studies")["studies"]
    assert first == {"id": 1, "name": "assay", "status": "damaged"}
    assert (second["name"], second["status"]) == ("other", "running")
    for path in ("", "/events"):
        answer = site.get(f"{STUDY}{path}")
        assert answer.json()["error"]["kind"] == "CorruptStorageError"
        assert answer.status_code == 503


def test_neither_the_log_nor_an_error_moves_a_cursor(caplog: pytest.LogCaptureFixture) -> None:
    answered = refused(StorageError("\x1b[2K\r\n\u202e"))
    assert answered.status_code == 503
    assert r"\x1b[2K\r\n\u202e" in caplog.text
    assert "\x1b" not in caplog.text
    said = json.loads(bytes(refused(ProblemError("got \x1b[2K\n")).body))["error"]["message"]
    assert said == r"got \x1b[2K\n"
