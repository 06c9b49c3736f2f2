"""Wrong words and errors: one sentence each, with the way out."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click
import pytest

from helpers.study_calls import Call
from mislid.cli import main
from mislid.cli.app import app
from mislid.engine.view import BLAME
from mislid.errors import MislidError
from mislid.study import create_study


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("studdy", "study"),
        ("study staus", "status"),
        ("study tell p 0 -0.5 --formt=csv", "--format"),
        ("study correct p 0 -0.4 --raeson typo", "--reason"),
    ],
)
def test_misspelt_commands_and_options(
    call: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call.split()) == 2
    said = capsys.readouterr().err
    assert "No such" in said
    assert repr(meant) in said


@pytest.mark.parametrize("call", ["tell s {} 0.5", "void s {}"])
def test_trial_numbers_without_end(created: Call, call: str) -> None:
    done = created(*call.format("1" * 5000).split())
    assert done.status == 1
    assert "trial must be the number of one that was asked; got '1111" in done.err
    assert len(done.err) < 400


def test_a_name_that_is_no_text(created: Call) -> None:
    """Python gives a lone surrogate for an argument that is not UTF-8."""
    done = created("ask", "s", "--worker", "a\udcff")
    assert done.status == 1
    assert "worker must be text of Unicode characters" in done.err


@pytest.fixture
def raising(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Exception], str]:
    """`mislid` with a command that raises something: what it says."""

    def call(problem: Exception) -> str:
        def command() -> None:
            raise problem

        monkeypatch.setattr(app, "get_command", lambda *_: click.Command("x", callback=command))
        assert main(["data"]) == 1
        return capsys.readouterr().err

    return call


def database_errors() -> list[Exception]:
    exc = pytest.importorskip("sqlalchemy.exc")
    spoken = "(sqlite3.DatabaseError) database disk image is malformed\n[SQL: SELECT 1]"
    address = "could not reach postgresql://lab:secret@host/x?password=secret"
    return [
        sqlite3.DatabaseError("database disk image is malformed"),
        exc.DatabaseError("SELECT 1", {}, sqlite3.DatabaseError("malformed")),
        exc.OperationalError(spoken, {}, Exception(spoken)),
        exc.ArgumentError(address),
    ]


@pytest.mark.parametrize("problem", database_errors(), ids=lambda one: type(one).__name__)
def test_whatever_a_database_says_is_one_sentence(raising, problem: Exception) -> None:
    said = raising(problem)
    assert said.startswith("Error: the storage does not work")
    assert said.count("\n") == 1
    assert "secret" not in said


def test_expected_errors_are_one_sentence_and_mistakes_of_ours_are_not(raising) -> None:
    assert "not enough memory" in raising(MemoryError())
    assert raising(MislidError("a sentence")) == "Error: a sentence.\n"
    with pytest.raises(KeyError):
        raising(KeyError("x"))
    problem = ZeroDivisionError("division by zero")
    problem.add_note(f"{BLAME}, Coin.propose")
    assert (
        raising(problem) == f"Error: ZeroDivisionError: division by zero ({BLAME}, Coin.propose).\n"
    )


ESCAPES = "\x1b[2K\x1b[1A\r\n\x9b\u202e"
ESCAPED = r"\x1b[2K\x1b[1A\r\n\x9b\u202e"


def is_plain(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def test_labels_of_foreign_logs_move_no_cursor(
    folder: Path, study_command: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        old.setattr("mislid.study.candidates.refuse_controls", lambda *_: None)
        study = create_study(
            study_name="s", candidates=["a", ESCAPES], m=1, noise=0.1, storage=folder / "lab.db"
        )
    study.add_observations([("a", 0.5), (ESCAPES, 0.9)] * 20)
    with closing(sqlite3.connect(folder / "lab.db")) as file, file:
        file.execute("UPDATE mislid_studies SET summary = NULL")
    for words in (("status", "s"), ("result", "s"), ("ask", "s"), ("list",)):
        done = study_command(*words)
        assert done.status == 0, done
        assert is_plain(done.out + done.err)
        assert ESCAPED in done.out or words[0] in ("ask", "list")


def test_errors_and_warnings_move_no_cursor(created: Call, raising) -> None:
    assert raising(MislidError(f"not {ESCAPES}")) == f"Error: not {ESCAPED}.\n"
    calls = [("ask", "s", "--worker", ESCAPES), ("status", ESCAPES), ("ask", "s", f"--{ESCAPES}")]
    for words in calls:
        done = created(*words)
        assert done.status in (1, 2)
        assert is_plain(done.err), done.err
