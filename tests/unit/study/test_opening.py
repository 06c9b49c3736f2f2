"""What it takes to open a study, and to list them."""

from collections.abc import Callable

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.engine import Engine, EventBatch
from mislid.study import Study
from mislid.study.storage import MemoryStorage, Storage

VALUES = {"a": 0.1, "b": 0.5, "c": 0.9}


def new_study(storage: Storage | None = None, name: str = "first") -> Study:
    return mislid.create_study(
        study_name=name, candidates=list(VALUES), m=1, noise=0.1, storage=storage
    )


class TestList:
    @pytest.mark.parametrize("stale", [None, "[]", "[3]", "no JSON", '["a", 1]', "3", "{}"])
    def test_without_a_summary_the_log_is_read(self, stale: str | None) -> None:
        """As after a release that knew of none."""
        storage = MemoryStorage()
        study = new_study(storage)
        study.tell(study.ask(), 0.5)
        whole = mislid.list_studies(storage=storage)
        older = storage._summaries[study._session.key]
        study.ask()
        storage._summaries[study._session.key] = stale
        found = mislid.list_studies(storage=storage)
        assert [line.pending for line in found] == [1]
        storage._summaries[study._session.key] = older
        assert mislid.list_studies(storage=storage) == found != whole


def test_rules_that_were_interrupted_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    study = new_study()
    for trial in study.ask(5):
        study.tell(trial, VALUES[trial.arm])
    again = mislid.load_study(storage=study._session.storage)
    assert again.samples == 5
    follow = Engine.follow

    def interrupted(engine: Engine, script: EventBatch) -> None:
        follow(engine, script)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "follow", interrupted)
        with pytest.raises(KeyboardInterrupt):
            again.ask()
    assert again.ask().arm == study.pending[-1].arm
    state, other = (one._session.engine for one in (again, study))
    np.testing.assert_array_equal(state.counts, other.counts)
    assert again._session.diverged == 0


@pytest.mark.parametrize("at_once", [1, 2, 4, 11, 12, 100])
def test_a_long_log_is_read_in_parts(
    opener: Callable[[], Storage], monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    study = new_study(opener())
    for trial in [*study.ask(3), study.ask(), study.ask(), study.ask(), study.ask()]:
        study.tell(trial, VALUES[trial.arm])
    assert len(study.events()) >= 12
    monkeypatch.setattr("mislid.study.session._AT_ONCE", at_once)
    again = mislid.load_study(storage=opener())
    assert rows_of(again) == rows_of(study)
    assert again.ask().arm == study.pending[-1].arm
