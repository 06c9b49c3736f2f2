"""A study that goes on from a snapshot is the study that was never closed."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import mislid
from helpers.forgery import entries_of
from helpers.homeless import take_home
from mislid.study import Study, packing, snapshots
from mislid.study.state import StudyState
from mislid.study.storage import MemoryStorage, Storage

FEATURES = np.random.default_rng(3).normal(size=(8, 3))
MEANS = FEATURES @ np.array([0.5, -0.3, 0.2])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where snapshots go, every 40 events."""
    monkeypatch.setenv("MISLID_SNAPSHOTS", str(tmp_path / "snapshots"))
    monkeypatch.setattr(snapshots, "EVERY", 40)
    return tmp_path / "snapshots"


def new_study(storage: Storage | None = None, **changes: object) -> Study:
    settings = {"candidates": FEATURES, "intercept": False, "m": 2, "misspecification": 0.2}
    return mislid.create_study(
        **{"study_name": "s", "noise": 0.5, "storage": storage, **settings, **changes}
    )


def value_of(trial: mislid.Trial, bernoulli: bool = False) -> float:
    noise = np.random.default_rng(trial.id).normal()
    mean = MEANS[int(trial.arm)] if str(trial.arm).isdigit() else 0.1
    value = float(mean + 0.5 * noise)
    return float(value > 0) if bernoulli else value


def measure(study: Study, times: int, bernoulli: bool = False) -> list[int]:
    arms = []
    for _ in range(times):
        trial = study.ask(worker="w", lease=60)
        arms.append(trial.arm)
        study.tell(trial, value_of(trial, bernoulli))
        study.ask()  # stays open
    return arms


def reopened(study: Study) -> Study:
    return Study("s", study._key, study._storage)


def recalled(study: Study) -> bool:
    """Whether a new process would go on from a snapshot."""
    again = reopened(study)
    again._recall()
    return again._replay.state.sequence > 0


RULES = [
    {},
    {"algorithm": "lucb"},
    {"algorithm": "lingape"},
    {"algorithm": "lingifa"},
    {"algorithm": "uniform"},
    {"algorithm": "mislid-paper", "stopping": "paper"},
    {"stopping": "heuristic"},
    {"misspecification": None},
    {"noise": "unknown", "misspecification": None},
    {"noise": "unknown-equal"},
    {"noise": None, "rewards": "bernoulli", "misspecification": None},
    {"candidates": list(range(8)), "misspecification": None},
    {"direction": "minimize", "noise": 0.6},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_it_goes_on_as_if_nothing_had_happened(rules: dict[str, object]) -> None:
    if isinstance(rules.get("candidates"), list):
        rules = {**rules, "intercept": None}
    bernoulli = "rewards" in rules
    study = new_study(**rules)
    measure(study, 45, bernoulli)
    goes_on(study, bernoulli)


def goes_on(study: Study, bernoulli: bool = False) -> None:
    """A copy that is recalled from the study's snapshot, and the study, do the same from now on."""
    storage = MemoryStorage()
    mislid.copy_study(from_study_name="s", from_storage=study._storage, to_storage=storage)
    again = Study("s", storage.find("s"), storage)
    again._recall()
    assert 40 <= again._replay.state.sequence <= study._replay.state.sequence
    again._now()
    for name in StudyState.__slots__:
        assert getattr(again._replay.state, name) == getattr(study._replay.state, name), name
    mine, its = measure(study, 40, bernoulli), measure(again, 40, bernoulli)
    assert its == mine
    first, second = study._replay.engine, again._replay.engine
    for one, other in ((first.sums, second.sums), (first.estimate, second.estimate)):
        np.testing.assert_array_equal(one, other)
    assert first.settled() == second.settled()
    assert (again.status, again._replay.verdict) == (study.status, study._replay.verdict)
    assert (again.result is None) == (study.result is None)
    assert again._replay.diverged == study._replay.diverged == 0


MEASURED = [(str(arm), float(MEANS[arm])) for arm in range(8)]


def typo(study: Study) -> None:
    study.add_observations([("0", 0.1), ("1", 91.0), ("2", 0.3)])
    study.correct(row=1, value=0.91, reason="a point was missed")
    study.void(row=2)
    study.void(row=0, reason="a drop")
    study.correct(row=2, value=0.2)


def other_candidates(study: Study) -> None:
    study.add_observations(MEASURED)
    study.add_candidates({"early": [0.3, -0.2, 0.1]}, informed=False)
    study.redeclare(noise=[0.5 + 0.01 * arm for arm in range(9)])
    study.retire("3", leave=True)
    study.retire("5")
    study.redeclare(misspecification=0.25, noise=[0.6 + 0.01 * arm for arm in range(8)])


def late_candidates(study: Study) -> None:
    study.add_observations(MEASURED)
    study.add_candidates({"late": [0.1, 0.2, -0.1]})
    study.retire("3", leave=True)
    study.redeclare(noise=0.7)


def withdrawn(study: Study) -> None:
    study.add_observations(MEASURED * 60)
    assert study.status == "decided"
    study.correct(row=5, value=1.3)
    study.redeclare(misspecification=0.21)
    study.void(row=6)


def refuted_noise(study: Study) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        study.add_observations([(arm, mean + 3 * rng.normal()) for arm, mean in MEASURED])


@pytest.mark.parametrize(
    "change", [typo, other_candidates, late_candidates, withdrawn, refuted_noise]
)
@pytest.mark.parametrize("rules", [{}, {"misspecification": None}], ids=str)
@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
@pytest.mark.filterwarnings("ignore::mislid.errors.ImplausibleValueWarning")
def test_a_study_that_was_mended_or_changed(
    change: Callable[[Study], None], rules: dict[str, object]
) -> None:
    study = new_study(**rules, candidates={str(arm): row for arm, row in enumerate(FEATURES)})
    change(study)
    assert study._replay.state.revision or study.status == "contradicted"
    measure(study, 45)
    goes_on(study)


def test_a_decided_study(home: Path) -> None:
    study = new_study(noise=0.05)
    study.optimize(lambda trial: float(MEANS[trial.arm]))
    study.ask(3)
    while len(study.events()) < 60:
        study.ask()
    again = reopened(study)
    assert recalled(study)
    assert (again.status, again.result) == ("decided", study.result)
    assert again.result.certificate.to_dict()["evidence"]
    assert mislid.verify(again.result.certificate.to_dict())


def test_only_what_is_new_is_read(
    opener: Callable[[], Storage], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = opener()
    study = new_study(storage)
    measure(study, 60)
    again, read, seen = reopened(study), type(storage).read, []

    def counted(place: Storage, key: int, after: int = 0, most: int | None = None) -> list:
        found = read(place, key, after, most)
        seen.append(len(found))
        return found

    monkeypatch.setattr(type(storage), "read", counted)
    assert again.samples == 60
    assert sum(seen) < 60


class TestNotTrusted:
    def test_over_another_log(self) -> None:
        """One that begins in the same way, and was written anew."""
        study = new_study()
        measure(study, 45)
        storage = MemoryStorage()
        storage.create("s", entries_of(study)[:3])
        other = Study("s", 1, storage)
        assert other.samples == 1
        for _ in range(60):
            other.ask()
        storage = MemoryStorage()
        storage.create("s", entries_of(other))
        assert Study("s", 1, storage).samples == 1

    def test_if_it_is_damaged(self, home: Path) -> None:
        study = new_study()
        measure(study, 45)
        assert recalled(study)
        (file,) = home.iterdir()
        whole = file.read_bytes()
        for content in (
            whole[:-1],
            whole[:100],
            b"",
            whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
            hashlib.sha256(b"x").digest() + b"x",
        ):
            file.write_bytes(content)
            assert not recalled(study)
            assert reopened(study).samples == 45

    def test_if_others_can_write_it(self, home: Path) -> None:
        study = new_study()
        measure(study, 45)
        home.chmod(0o777)
        assert not recalled(study)
        home.chmod(0o700)
        (file,) = home.iterdir()
        file.chmod(0o666)
        assert not recalled(study)

    def test_of_another_release(self, monkeypatch: pytest.MonkeyPatch) -> None:
        study = new_study()
        measure(study, 45)
        monkeypatch.setattr(snapshots, "_stamp", lambda: "another")
        assert not recalled(study)

    def test_what_was_changed_before_it_decides_nothing(self) -> None:
        """Values that were derived from sealed events stay; a check names what was changed."""
        study = new_study()
        measure(study, 60)
        log = study._storage._logs[study._key]
        before = study.observation_rows()
        at = next(k for k, one in enumerate(log) if one.kind == "told")
        log[at] = replace(log[at], body='{"trial":0,"value":7.5}')
        assert reopened(study).observation_rows() == before
        assert not mislid.check_study(study_name="s", storage=study._storage)


class TestNotKept:
    def test_of_rules_written_in_python(self, home: Path) -> None:
        class Turns:
            def propose(self, view: mislid.View) -> int:
                return view.samples % 8

        study = new_study(algorithm=Turns())
        measure(study, 60)
        assert not home.exists() or not list(home.iterdir())

    def test_where_nobody_wants_them(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MISLID_SNAPSHOTS", "")
        measure(new_study(), 60)
        assert not home.exists()

    def test_where_nothing_can_be_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("MISLID_SNAPSHOTS", str(tmp_path / "file"))
        study = new_study()
        measure(study, 60)
        assert reopened(study).samples == 60

    def test_of_a_state_that_has_more(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever adds to a state has to say here how that is kept."""

        @dataclass
        class More:
            sequence: int

        monkeypatch.setattr(packing, "_FIELDS", {**packing._FIELDS, More: "sequence other"})
        measure(new_study(), 60)
        assert not home.exists()

    def test_more_than_a_few(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(snapshots, "_MOST", 2)
        studies = [new_study() for _ in range(3)]
        for study in studies:
            measure(study, 45)
        assert len(list(home.iterdir())) == 2
        assert recalled(studies[-1])


def test_a_deleted_study_leaves_none(home: Path) -> None:
    study = new_study()
    measure(study, 45)
    assert list(home.iterdir())
    mislid.delete_study(study_name="s", storage=study._storage)
    assert not list(home.iterdir())


def test_all_that_a_state_has_is_kept() -> None:
    study = new_study()
    measure(study, 45)
    assert packing.can_be_packed(study._replay)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no list of users")
def test_a_user_without_a_home_has_no_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISLID_SNAPSHOTS")
    take_home(monkeypatch)
    assert snapshots.folder() is None
    assert not snapshots.are_kept()
