"""The connection breaks at a commit: what came of it is found out, and a retry counts once."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import RootTransaction

import mislid
from helpers.postgresql import Server
from helpers.proxy import Proxy, proxy_before
from helpers.rows import rows_of
from mislid.errors import ProblemError, StorageError, UnknownOutcomeError
from mislid.study import Study
from mislid.study.session import Session
from mislid.study.storage import Storage, as_storage
from mislid.study.storage.database import Database, _is_answer

ROWS = [("a", 0.2), ("b", 0.9), ("a", 0.25)]


class Breaking:
    """Loses commits, or their answers, on any database."""

    def __init__(self, lose: Callable[[list[str]], None], heal: Callable[[], None]) -> None:
        self.lose, self.heal = lose, heal


def failing_disk(patch: pytest.MonkeyPatch) -> Breaking:
    """SQLite as it is when the disk fails just then."""
    words: list[str] = []
    commit = Database._commit

    def broken(database: Database, transaction: RootTransaction) -> None:
        def fail() -> None:
            problem = sqlite3.OperationalError("disk I/O error")
            problem.sqlite_errorname = "SQLITE_IOERR_FSYNC"
            raise sa.exc.OperationalError("COMMIT", {}, problem)

        if not words:
            return commit(database, transaction)
        word = words.pop(0)
        (transaction.rollback if word == "commit" else transaction.commit)()
        closed.append(word == "server")
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(RootTransaction, "commit", lambda _self: fail())
            return commit(database, transaction)

    closed: list[bool] = []
    connected = Database.connected

    def refusing(database: Database, *, writing: bool = False) -> object:
        if any(closed):
            raise StorageError("the disk is gone")
        return connected(database, writing=writing)

    patch.setattr(Database, "_commit", broken)
    patch.setattr(Database, "connected", refusing)
    return Breaking(words.extend, closed.clear)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str, Breaking]]:
    """An address that breaks, one that does not, and how to break it."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'lab.db'}"
        yield address, address, failing_disk(monkeypatch)
        return
    server: Server = request.getfixturevalue("postgresql")
    address = server.new_schema()
    with proxy_before(server.port) as proxy:
        through = address.replace(f":{server.port}/", f":{proxy.port}/")
        yield through, address, Breaking(proxy.lose.extend, opening(proxy))


def opening(proxy: Proxy) -> Callable[[], None]:
    def heal() -> None:
        proxy.closed = False

    return heal


@pytest.fixture
def storage(place: tuple[str, str, Breaking]) -> Iterator[Storage]:
    storage = as_storage(place[0])
    yield storage
    storage.close()


@pytest.fixture
def breaking(place: tuple[str, str, Breaking]) -> Breaking:
    return place[2]


@pytest.fixture
def study(storage: Storage) -> Study:
    return mislid.create_study(
        study_name="s", candidates=["a", "b"], m=1, noise=1.0, storage=storage
    )


LOSSES = [["answer"], ["commit"], ["answer", "answer"], ["commit", "answer"], ["commit"] * 3]


@pytest.mark.parametrize("losses", LOSSES, ids="-".join)
class TestFoundOut:
    """The server is back at once: nobody notices anything."""

    def test_observations_count_once(
        self, study: Study, breaking: Breaking, losses: list[str]
    ) -> None:
        breaking.lose(losses)
        study.add_observations(ROWS)
        assert study.samples == 3
        assert [event.sequence for event in study.events()] == [1, 2]

    def test_trials_are_handed_out_once(
        self, study: Study, breaking: Breaking, losses: list[str]
    ) -> None:
        breaking.lose(losses)
        trials = study.ask(2)
        assert [trial.id for trial in trials] == [0, 1]
        assert study.pending == trials
        named = study.ask(worker="lab")
        assert (named.id, len(study.pending)) == (2, 3)

    def test_a_tell_counts_once(self, study: Study, breaking: Breaking, losses: list[str]) -> None:
        trial = study.ask()
        breaking.lose(losses)
        study.tell(trial, 0.5)
        assert (study.samples, study.pending) == (1, [])

    def test_who_is_far_behind_has_not_written_yet(
        self, study: Study, breaking: Breaking, losses: list[str], place: tuple[str, str, Breaking]
    ) -> None:
        """A commit that is lost while one only catches up is none of the call."""
        trial, other = study.ask(), mislid.load_study(study_name="s", storage=place[1])
        for _ in range(60):
            other.add_observations(ROWS)
        breaking.lose(list(losses))
        assert [one.id for one in study.ask(2)] == [1, 2]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mislid.study.session._MANY", 0)  # as if others wrote all the time
            breaking.lose(list(losses))
            study.tell(trial, 0.5)
        assert (other.samples, [one.id for one in other.pending]) == (181, [1, 2])
        other._session.storage.close()

    def test_mends_and_declarations(
        self, study: Study, breaking: Breaking, losses: list[str]
    ) -> None:
        study.add_observations(ROWS)
        for act in (
            lambda: study.correct(row=0, value=0.3),
            lambda: study.void(row=1),
            lambda: study.redeclare(noise=2.0),
            lambda: study.add_counts("a", n=4, sum=1.0),
        ):
            before = len(study.events())
            breaking.lose(list(losses))
            act()
            assert len(study.events()) == before + 1

    def test_a_study_is_created_once(
        self, storage: Storage, breaking: Breaking, losses: list[str]
    ) -> None:
        breaking.lose(losses[:1])
        study = mislid.create_study(
            study_name="t", candidates=["a", "b"], m=1, noise=1.0, storage=storage
        )
        assert list(storage.names()) == ["t"]
        assert study.ask().id == 0


class TestUnknown:
    """The server stays away after it has taken the commit, or not."""

    def test_the_same_call_again_counts_once(self, study: Study, breaking: Breaking) -> None:
        breaking.lose(["server"])
        with pytest.raises(UnknownOutcomeError) as caught:
            study.add_observations(ROWS)
        assert "did not say whether it has written" in str(caught.value)
        assert "nothing was added" not in str(caught.value)
        with pytest.raises(StorageError):
            study.add_observations(ROWS)
        breaking.heal()
        study.add_observations(ROWS)
        assert study.samples == 3
        study.add_observations(ROWS)  # from here on it is another one
        assert study.samples == 6

    def test_another_process_repeats_it_with_the_key(
        self, study: Study, breaking: Breaking, place: tuple[str, str, Breaking]
    ) -> None:
        breaking.lose(["server"])
        with pytest.raises(UnknownOutcomeError) as caught:
            study.add_observations(ROWS)
        breaking.heal()
        other = mislid.load_study(study_name="s", storage=place[1])
        other.add_observations(ROWS, key=caught.value.key)
        assert other.samples == 3
        other._session.storage.close()


@pytest.mark.parametrize(
    ("states", "answered"),
    [("53100 58030 57P01 08006 XX000", False), ("40001 40P01 23505 25P02 25P03 55P03", True)],
)
def test_a_server_that_fails_at_a_commit_may_have_made_it(states: str, answered: bool) -> None:
    """One that undoes it has not made it."""
    for state in states.split():
        failure = type("Failure", (Exception,), {"sqlstate": state})
        assert _is_answer(failure()) is answered


class TestKeys:
    def test_a_call_with_a_key_counts_once(self, study: Study) -> None:
        study.add_observations(ROWS, key="plate 7")
        again = Study(Session("s", study._session.key, study._session.storage))
        for one in (study, again):
            one.add_observations(ROWS, key="plate 7")
            one.add_counts("a", n=2, sum=1.0, key="counts")
            one.correct(row=0, value=0.5, key="first")
            one.correct(row=0, value=0.7, key="second")
            one.redeclare(noise=2.0, key="wider")
            one.redeclare(noise=3.0, key="wider still")
        assert study.samples == 5
        assert rows_of(study)[0].value == 0.7
        assert study.settings.noise == (3.0,)
        assert len(study.events()) == 7

    def test_candidates_that_have_left_meanwhile(self, study: Study) -> None:
        study.add_candidates(["c"])
        calls = (
            lambda: study.add_observations([("c", 0.5), ("a", 0.2)], key="plate 7"),
            lambda: study.add_counts("c", n=2, sum=1.0, key="counts"),
        )
        for call in calls:
            call()
        study.retire("c", leave=True)
        before = len(study.events())
        for call in calls:
            call()
        assert len(study.events()) == before
        with pytest.raises(ProblemError, match="recorded something else"):
            study.add_observations([("c", 0.6)], key="plate 7")
        with pytest.raises(ProblemError, match="arm of observation 0"):
            study.add_observations([("c", 0.5)], key="plate 8")

    def test_asking_again_gives_the_same_trials(self, study: Study) -> None:
        trials = study.ask(3, key="monday")
        study.tell(trials[0], 0.5)
        again = Study(Session("s", study._session.key, study._session.storage)).ask(3, key="monday")
        assert again == trials
        assert study.ask(3, key="tuesday")[0].id == 3
        one = study.ask(key="wednesday")
        assert study.ask(key="wednesday") == one

    def test_a_key_is_for_one_call(self, study: Study) -> None:
        trial = study.ask(key="k")
        for act in (
            lambda: study.add_observations(ROWS, key="k"),
            lambda: study.ask(2, key="k"),
            lambda: study.tell(trial, 0.5, key="k"),
        ):
            with pytest.raises(ProblemError, match="event 2 recorded something else"):
                act()
        study.tell(trial, 0.5, key="told")
        study.tell(trial, 0.5, key="told")
        assert study.samples == 1

    @pytest.mark.parametrize("key", ["", " ", 3, "x" * 201, "a\nb", "\ud800"])
    def test_what_is_no_key(self, study: Study, key: object) -> None:
        with pytest.raises(ProblemError, match="key must be a text"):
            study.add_observations(ROWS, key=key)  # type: ignore[arg-type]
        assert study.samples == 0
