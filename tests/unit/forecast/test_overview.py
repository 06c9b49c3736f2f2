"""A study at one moment: the same as its own methods say, and the same while it goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mislid
from helpers.report_studies import (
    MEANS,
    decided_study,
    measuring,
    new_study,
)
from mislid.errors import ContradictedWarning
from mislid.forecast.overview import Overview
from mislid.study import Study

Opener = Callable[[], Study]


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """Opens a study in a file, as any number of processes may."""
    studies = [new_study(noise=1.0, storage=tmp_path / "lab.db")]

    def opening() -> Study:
        studies.append(mislid.load_study(storage=tmp_path / "lab.db"))
        return studies[-1]

    yield opening
    for study in studies:
        study._session.storage.close()


def shown(overview: Overview) -> str:
    """All that is computed only when it is looked at, and the rest."""
    parts = (
        overview.to_dict(),
        overview.sensitivity,
        overview.best_now,
        overview.leaders,
        overview.estimates.tolist(),
        overview.intervals.tolist(),
        overview.order.tolist(),
        overview.fingerprint,
        overview.events,
    )
    return repr(parts)


@pytest.mark.parametrize("minimize", [False, True])
def test_parts_are_what_the_study_itself_says(minimize: bool) -> None:
    direction = "minimize" if minimize else "maximize"
    study = decided_study(-1.0 if minimize else 1.0, direction=direction)
    with pytest.warns(ContradictedWarning):
        study.add_observations([("a", 50.0)] * 40)
    seen, result = study.overview(), study.result
    assert result is not None
    assert (seen.decided, seen.proven, result.proven) == (False, False, False)
    assert seen.contradictions == result.contradictions != ()
    assert seen.progress == study.progress()
    assert seen.sensitivity == study.sensitivity()
    others = tuple(one for one in study.warnings() if one.kind == "disagreement")
    assert seen.warnings == others != ()
    assert seen.names(seen.leaders) == result.answer
    assert seen.names(seen.best_now) == result.best_now == seen.progress.best_now


def test_an_overview_stays_what_it_was_while_others_tell(opener: Opener) -> None:
    study, other = opener(), opener()
    study.add_observations(list(MEANS.items()) * 4)
    looked_into, closed = study.overview(), study.overview()
    before = shown(looked_into)
    other.optimize(measuring(MEANS), n_trials=20)
    study.ask(3)
    with pytest.warns(ContradictedWarning):
        study.add_observations([("c", 9.0)] * 300)
    assert study.status == "contradicted"
    assert shown(closed) == before
    assert shown(study.overview()) != before


def test_any_process_sees_the_same(opener: Opener) -> None:
    study, other = opener(), opener()
    study.optimize(measuring(MEANS), n_trials=12)
    other.tell(other.ask(), 0.4)
    other.ask(2)
    first = shown(study.overview())
    assert shown(other.overview()) == shown(opener().overview()) == first
