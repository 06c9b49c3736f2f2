"""A study at one moment: the same as its own methods say, and the same while it goes on."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import mislid
from helpers.report_studies import (
    MEANS,
    OBJECTS,
    decided_study,
    measuring,
    new_study,
    ruled_by_objects,
)
from mislid.errors import ContradictedWarning
from mislid.forecast.overview import Overview
from mislid.study import Study
from mislid.study.events import entry_of

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
        overview.what_ifs,
        overview.sensitivity,
        overview.best_now,
        overview.leaders,
        overview.estimates.tolist(),
        overview.half_widths.tolist(),
        overview.order.tolist(),
        None if overview.optimal is None else overview.optimal.tolist(),
        None if overview.history is None else overview.history.closest.shares.tolist(),
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


def test_the_plain_form_is_strict_json(running_overview: Overview) -> None:
    said = json.loads(json.dumps(running_overview.to_dict(), allow_nan=False))
    assert (said["study"], said["status"], said["answer"]) == ("assay", "running", None)
    assert (said["samples"], said["pending"]) == (30, 2)
    assert said["more"] == running_overview.progress.more
    tied = new_study(candidates=["a", "b"])
    tied.add_observations([("a", 0.5), ("b", 0.5)])
    assert tied.overview().to_dict()["lower_bound"] == "inf"


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


def test_the_fingerprint_is_that_of_the_log(opener: Opener) -> None:
    study, other = opener(), opener()
    seen = set()
    for act in (study.ask, other.ask, lambda: other.tell(0, 0.5), lambda: study.tell(1, 0.5)):
        act()
        head = ""
        for entry in map(entry_of, study.events()):
            line = f"{head}\n{entry.sequence} {entry.time!r} {entry.kind} {entry.body}"
            head = hashlib.sha256(line.encode()).hexdigest()
        assert study.overview().fingerprint == head
        seen.add(head)
    assert len(seen) == 4


def of_objects(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test for each kind of rules that are objects, early, in the middle and at the end."""
    trials = pytest.mark.parametrize("n_trials", [3, 30])
    return pytest.mark.parametrize("rules", OBJECTS)(trials(test))


@of_objects
def test_without_the_objects_all_is_shown_that_needs_no_rules(
    rules: str, n_trials: int, tmp_path: Path
) -> None:
    study = ruled_by_objects(rules, n_trials, tmp_path)
    with pytest.warns(ContradictedWarning):
        study.add_observations([("a", 50.0)] * 40)
    known, elsewhere = study.overview(), mislid.load_study(storage=tmp_path / "lab.db")
    seen = elsewhere.overview()
    assert seen.what_ifs == ()
    assert seen.progress.note.startswith("no forecast")
    assert seen.decided is known.decided
    if known.leaders:  # the objects wait for all arms
        assert seen.leaders == known.leaders
        np.testing.assert_allclose(seen.estimates, known.estimates, rtol=1e-9)
        assert (seen.history is None) == (known.history is None)
        wanted = None if "stopping" in OBJECTS[rules] else known.sensitivity
        assert repr(seen.sensitivity) == repr(wanted)
    assert known.leaders or n_trials == 3
    assert {one.kind for one in seen.warnings} == {one.kind for one in known.warnings}
    assert seen.contradictions == known.contradictions != ()
    if study.result is not None:
        assert elsewhere.result is not None
        assert elsewhere.result.best_now == study.result.best_now
    json.dumps(seen.to_dict(), allow_nan=False)
    for one in (study, elsewhere):
        one._session.storage.close()
