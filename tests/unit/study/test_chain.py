"""A log that was changed is named, and nothing is decided from it."""

import random
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import mislid
from helpers.forgery import entries_of, entry, renumbered, with_log
from mislid.errors import CorruptStorageError, UnknownTrialError
from mislid.study import Study
from mislid.study.events import Decided, Entry, Told
from mislid.study.storage import MemoryStorage, Storage

VALUES = {"good": 0.9, "bad": 0.1, "other": 0.4}


def new_study(storage: object = None, *, noise: float = 1.0) -> Study:
    return mislid.create_study(
        study_name="s", candidates=list(VALUES), m=1, noise=noise, storage=storage
    )


def measured(storage: object = None, *, trials: int = 12) -> Study:
    study = new_study(storage)
    for trial in study.ask(trials):
        study.tell(trial, VALUES[trial.arm] + 0.01 * trial.id)
    return study


def test_every_changed_digit_is_found() -> None:
    """Of all digits of all entries, 500 of them at random."""
    whole, rng = entries_of(measured()), random.Random(1)
    places = [
        (k, found.start()) for k, one in enumerate(whole) for found in re.finditer(r"\d", one.body)
    ]
    for k, at in rng.sample(places, min(500, len(places))):
        body = whole[k].body
        digit = str((int(body[at]) + rng.randint(1, 9)) % 10)
        changed = list(whole)
        changed[k] = whole[k]._replace(body=body[:at] + digit + body[at + 1 :])
        with pytest.raises(CorruptStorageError, match=f"event {k + 1} of the study is not what"):
            _ = with_log(changed).status


ATTACKS: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "a row is missing": (lambda log: [*log[:4], *log[5:]], "event 5 of the study is missing"),
    "a row is missing, the others moved up": (
        lambda log: renumbered([*log[:4], *log[5:]]),
        "event 5 of the study is not what was written",
    ),
    "two rows are swapped": (
        lambda log: renumbered([*log[:4], log[5], log[4], *log[6:]]),
        "event 5 of the study is not what was written",
    ),
    "a decision is inserted": (
        lambda log: renumbered([*log, entry(Decided((1,), 12, "guaranteed", 99.0, 4.0, (0, 1)))]),
        "event 15 of the study is not what was written: its seal is missing",
    ),
    "a second told": (
        lambda log: renumbered([*log, entry(Told(0, 7.0))._replace(seal="ab" * 32)]),
        "event 15 of the study is not what was written: its seal is of something else",
    ),
    "a seal is taken away": (
        lambda log: [*log[:4], log[4]._replace(seal=""), *log[5:]],
        "event 5 of the study is not what was written: its seal is missing",
    ),
    "a time is changed": (
        lambda log: [*log[:4], log[4]._replace(time=1.0), *log[5:]],
        "event 5 of the study is not what was written",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_are_named_and_nothing_is_decided(name: str) -> None:
    change, message = ATTACKS[name]
    forged = with_log(change(entries_of(measured())))
    looks = (
        lambda: forged.status,
        lambda: forged.result,
        forged.ask,
        forged.events,
        forged.overview,
        lambda: forged.add_observations([("good", 1.0)]),
        lambda: mislid.copy_study(
            from_study_name="forged",
            from_storage=forged._session.storage,
            to_storage=MemoryStorage(),
        ),
    )
    for look in looks:
        with pytest.raises(CorruptStorageError, match=message):
            look()
    found = mislid.check_study(study_name="forged", storage=forged._session.storage)
    assert not found.ok
    assert re.search(message, found.problems[0])
    assert found.decision == "not checked"


@pytest.mark.parametrize("samples", [1, 12])
def test_a_decision_that_does_not_follow_is_not_believed(samples: int) -> None:
    """Although its seal is right."""
    log = entries_of(measured())
    fake = entry(Decided((1,), samples, "guaranteed", 99.0, 4.0, (0, 1)))
    forged = with_log(renumbered([*log, fake]), sealed=True)
    assert forged.status == "contradicted"
    assert not forged.result.proven
    assert "does not follow from them" in forged.result.contradictions[0]
    assert not forged.overview().decided
    found = mislid.check_study(study_name="forged", storage=forged._session.storage)
    assert (found.ok, found.decision) == (False, "not confirmed")


@pytest.mark.parametrize("stopping", ["guaranteed", "heuristic", "paper"])
def test_a_true_decision_with_another_number_is_not_believed(stopping: str) -> None:
    study = mislid.create_study(candidates=list(VALUES), m=1, noise=0.1, stopping=stopping)
    study.optimize(lambda trial: VALUES[trial.arm])
    log = entries_of(study)
    again = with_log(log, sealed=True)
    assert (again.status, again.result.answer) == ("decided", ("good",))
    name = again._session.storage
    assert mislid.check_study(study_name="forged", storage=name).decision == "confirmed"
    decided = log[-1].body
    earlier = decided.replace(f'"samples":{study.result.samples}', '"samples":2')
    assert earlier != decided
    forged = with_log([*log[:-1], log[-1]._replace(body=earlier)], sealed=True)
    assert forged.status == "contradicted"


class TestCheck:
    def test_a_head_that_was_written_down(self, opener: Callable[[], Storage]) -> None:
        storage = opener()
        study = measured(storage)
        head = mislid.check_study(study_name="s", storage=storage).head
        assert head == study.overview().fingerprint == study.overview().to_dict()["head"]
        study.ask()
        assert mislid.check_study(study_name="s", storage=storage, head=head)
        # The whole chain is written anew: only the head tells.
        rewritten = with_log(
            [one._replace(body=one.body.replace("0.4", "0.5")) for one in entries_of(study)],
            sealed=True,
        )
        place = rewritten._session.storage
        assert mislid.check_study(study_name="forged", storage=place)
        found = mislid.check_study(study_name="forged", storage=place, head=head)
        assert "no event has the head" in found.problems[0]
        # Its end is cut off.
        cut = with_log(entries_of(study)[:-2])
        found = mislid.check_study(study_name="forged", storage=cut._session.storage, head=head)
        assert found.problems


class TestDatabase:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "lab.db"
        study = measured(file)
        study._session.storage.close()
        return file

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE mislid_events SET body = replace(body, '0.9', '0.1')", "not what was written"),
            ("DELETE FROM mislid_events WHERE sequence = 5", "event 5 of the study is missing"),
            ("DELETE FROM mislid_events WHERE sequence > 10", "event 11 of the study is missing"),
            ("UPDATE mislid_events SET sequence = 33 WHERE sequence = 3", "1 events are outside"),
            ("UPDATE mislid_events SET seal = ''", "event 1 .* its seal is missing"),
            (
                """INSERT INTO mislid_events SELECT key, sequence + 1, time, kind, body, seal
                FROM mislid_events ORDER BY sequence DESC LIMIT 1""",
                "1 events are outside of the log",
            ),
            ("UPDATE mislid_studies SET summary = replace(summary, 'running', 'decided')", "list"),
        ],
    )
    def test_changed_rows_are_named(self, file: Path, statement: str, message: str) -> None:
        with closing(sqlite3.connect(file)) as other:
            other.execute(statement)
            other.commit()
        found = mislid.check_study(study_name="s", storage=file)
        assert re.search(message, found.problems[0])

    def test_the_end_is_cut_off_with_its_number(self, file: Path) -> None:
        """Only a head that was written down tells."""
        head = mislid.check_study(study_name="s", storage=file).head
        with closing(sqlite3.connect(file)) as other:
            other.execute("DELETE FROM mislid_events WHERE sequence > 10")
            other.execute("UPDATE mislid_studies SET last = 10, summary = NULL")
            other.commit()
        assert mislid.check_study(study_name="s", storage=file)
        found = mislid.check_study(study_name="s", storage=file, head=head)
        assert "was cut off or rewritten" in found.problems[0]

    def test_a_writer_notices_what_was_changed_under_it(self, file: Path) -> None:
        study = mislid.load_study(study_name="s", storage=file)
        _ = study.status
        with closing(sqlite3.connect(file)) as other:
            other.execute("UPDATE mislid_studies SET last = 10")
            other.execute("DELETE FROM mislid_events WHERE sequence > 10")
            other.commit()
        with pytest.raises(CorruptStorageError, match="event 11 must come next"):
            study.ask()


class TestNames:
    def test_swapped_names_are_noticed(self, tmp_path: Path) -> None:
        file = tmp_path / "lab.db"
        for name, value in (("a", 0.1), ("b", 0.9)):
            study = mislid.create_study(
                study_name=name, candidates=list(VALUES), m=1, noise=0.1, storage=file
            )
            study.add_observations([("good", value)])
        with closing(sqlite3.connect(file)) as other, other:
            for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
                other.execute("UPDATE mislid_studies SET name = ? WHERE name = ?", (new, old))
        for name in "ab":
            found = mislid.check_study(study_name=name, storage=file)
            assert not found.ok
            assert "study of another name" in found.problems[0]
            with pytest.raises(CorruptStorageError, match="event 1 of the study is not what was"):
                mislid.load_study(study_name=name, storage=file)
            with pytest.raises(CorruptStorageError, match="event 1 of the study is not what was"):
                mislid.copy_study(
                    from_study_name=name, from_storage=file, to_storage=MemoryStorage()
                )

    def test_copies_hold_under_either_name(self) -> None:
        lab, other = MemoryStorage(), MemoryStorage()
        study = measured(lab)
        trial = study.ask()
        for place, name in ((other, "s"), (other, "t")):
            mislid.copy_study(
                from_study_name="s", from_storage=lab, to_storage=place, to_study_name=name
            )
        head = mislid.check_study(study_name="s", storage=lab).head
        same = mislid.check_study(study_name="s", storage=other, head=head)
        assert (same.ok, same.head) == (True, head)
        renamed = mislid.check_study(study_name="t", storage=other)
        assert renamed.ok
        assert renamed.events == same.events
        assert renamed.head != head
        assert not mislid.check_study(study_name="t", storage=other, head=head).ok
        mislid.load_study(study_name="s", storage=other).tell(trial, 0.5)
        copy = mislid.load_study(study_name="t", storage=other)
        with pytest.raises(UnknownTrialError, match="of a copy"):
            copy.tell(trial, 0.5)
        copy.tell(trial.id, 0.5)
