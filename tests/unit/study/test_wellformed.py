"""Events that cannot have happened, although their seals are right."""

import json
from collections.abc import Callable

import pytest

import mislid
from helpers.forgery import entries_of, renumbered, with_log
from mislid.errors import CorruptStorageError
from mislid.study import Study
from mislid.study.events import Entry


@pytest.fixture
def study() -> Study:
    """Trials 0 and 1 are told, 2 is open."""
    study = mislid.create_study(candidates=list("abc"), m=1, noise="bernoulli")
    for trial in study.ask(3)[:2]:
        study.tell(trial, 1.0)
    study.add_observations([("a", 1.0), ("b", 0.0)])
    return study


def row(kind: str, **body: object) -> Entry:
    return Entry(0, 1e9, kind, json.dumps(body))


ASKED = {"trials": [3], "arms": [0], "again": [None], "worker": None, "expires": None}
DECIDED = {
    "answer": [0],
    "samples": 2,
    "rule": "guaranteed",
    "statistic": 5.0,
    "threshold": 4.0,
    "pair": [1, 0],
}
ADDED = {"candidates": {"labels": ["d"], "features": None}, "cost": None, "reason": None}
WRONG = [
    (row("told", trial=0, value=1.0), "tells trial 0, which has been told before"),
    (row("told", trial=-1, value=1.0), "is about trial -1, which was not asked"),
    (row("told", trial=True, value=1.0), "is about trial True"),
    (row("told", trial=2, value=0.5e9), "outside of 0.0 to 1.0"),
    (row("told", trial=2, value=float("nan")), "no finite number"),
    (row("told", trial=2, value="1.0"), "does not hold what such an event holds"),
    (row("told", trial=2, value=10**400), "does not hold what such an event holds"),
    (row("told", trial=2), "cannot be read"),
    (row("failed", trial=1), "told before"),
    (row("sold", trial=1), "cannot be read"),
    (row("observed", arms=[0, 3], values=[1.0, 1.0]), "names arm 3, which is not among the 3"),
    (row("observed", arms=[-1], values=[1.0]), "names arm -1"),
    (row("observed", arms=[0], values=[1.0, 1.0]), "more arms than values"),
    (row("asked", **ASKED | {"trials": [2]}), "hands out other trials than 3"),
    (row("asked", **ASKED | {"arms": [-3]}), "names arm -3"),
    (row("asked", **ASKED | {"arms": []}), "more arms than trials"),
    (row("asked", **ASKED | {"again": [0]}), "is about trial 0, which was not asked or is not"),
    (row("asked", **ASKED | {"expires": "soon"}), "does not hold"),
    (row("renewed", trials=[0], worker="w", expires=None), "is about trial 0"),
    (row("corrected", rows=[-1], values=[1.0], reason=None), "names row -1"),
    (row("corrected", rows=[0, 0], values=[1.0, 0.0], reason=None), "one row twice"),
    (row("corrected", rows=[], values=[], reason=None), "mends nothing"),
    (row("voided", rows=[4], reason=None), "names row 4"),
    (row("decided", **DECIDED | {"answer": [0, 1]}), "decides for 2 arms"),
    (row("decided", **DECIDED | {"samples": 99}), "decides after 99 of 4"),
    (row("decided", **DECIDED | {"pair": [0, 5]}), "names arm 5"),
    (row("decided", **DECIDED | {"statistic": "nan"}), "no number"),
    (row("added", **ADDED | {"cost": [1.0]}), "costs that do not fit"),
    (
        row("added", **ADDED | {"candidates": {"labels": ["a"], "features": None}}),
        "do not fit the others",
    ),
    (row("redeclared", misspecification=None, noise=[1.0, 1.0], reason=None), "other arms"),
    (
        row("contradicted", what="x", samples=1, level=1, statistic=1, threshold=1, least=1),
        "never declared",
    ),
    (Entry(0, float("nan"), "told", '{"trial":2,"value":1.0}'), "which is none"),
    (Entry(0, 1e9, "told", "[" * 100_000), "cannot be read"),
    (Entry(0, 1e9, "told", '{"trial":2,"value":' + "1" * 5000 + "}"), "cannot be read"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=range(len(WRONG)))
def test_an_event_that_cannot_have_happened(study: Study, wrong: Entry, message: str) -> None:
    forged = with_log(renumbered([*entries_of(study), wrong]), sealed=True)
    looks: tuple[Callable[[], object], ...] = (lambda: forged.status, forged.ask)
    for look in looks:
        with pytest.raises(CorruptStorageError, match=f"event 6 of the study .*{message}"):
            look()
    found = mislid.check_study(study_name="forged", storage=forged._session.storage)
    assert message in found.problems[0]


def test_candidates_are_added_only_where_all_have_one_noise_and_with_their_costs() -> None:
    for given, message in (
        ({"noise": [0.1, 0.2, 0.3]}, "adds candidates where each has its own noise"),
        ({"noise": 0.1, "cost": [1.0, 2.0, 3.0]}, "has costs that do not fit"),
    ):
        study = mislid.create_study(candidates=list("abc"), m=1, **given)
        forged = with_log(renumbered([*entries_of(study), row("added", **ADDED)]), sealed=True)
        with pytest.raises(CorruptStorageError, match=message):
            _ = forged.status


def test_a_study_begins_once(study: Study) -> None:
    first, *others = entries_of(study)
    with pytest.raises(CorruptStorageError, match=r"event 6 .* begins a study"):
        _ = with_log(renumbered([first, *others, first]), sealed=True).status
    with pytest.raises(CorruptStorageError, match=r"event 1 .* comes before the settings"):
        _ = with_log(renumbered(others), sealed=True).status
