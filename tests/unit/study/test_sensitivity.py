"""The misspecification dial says what studies with other misspecifications would."""

import json
import math

import numpy as np
import pytest

import mislid
from mislid.errors import ProblemError
from mislid.study import Sensitivity, Study

LINE = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0]}
# Linear but for the last, which the line puts first.
BENT = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.5}


def study_with(n: int, misspecification: float, **changes: object) -> Study:
    given = {"candidates": LINE, "m": 1, "misspecification": misspecification, **changes}
    study = mislid.create_study(**given)  # type: ignore[arg-type]
    rng = np.random.default_rng(n)
    rows = [(arm, mean + 0.1 * rng.standard_normal()) for arm, mean in BENT.items()] * n
    study.add_observations([(arm, study.settings.sign * value) for arm, value in rows])
    return study


@pytest.mark.parametrize("stopping", ["guaranteed", "mixture", "pairwise", "paper", "heuristic"])
@pytest.mark.parametrize("n", [30, 100])
def test_rows_are_what_studies_of_their_own_decide(stopping: str, n: int) -> None:
    found = study_with(n, 0.1, stopping=stopping).sensitivity()
    assert {0.0, 0.1, math.inf} <= {row.misspecification for row in found.table}
    for row in found.table[::4]:
        other = study_with(n, row.misspecification, stopping=stopping)
        assert row.decided == (other.status == "decided")
        if other.result is not None:
            assert row.answer == other.result.answer
            assert row.statistic == other.result.statistic
            assert row.threshold == other.result.threshold


def test_the_largest_is_found_to_a_thousandth() -> None:
    found = study_with(30, 0.1).sensitivity()
    assert found.largest is not None
    assert found.decides == ((0.0, found.largest),)
    assert found.answer == ("d",)
    assert study_with(30, found.largest).status == "decided"
    assert study_with(30, found.largest * 1.001).status == "running"
    below = [row.decided for row in found.table if row.misspecification <= found.largest]
    above = [row.decided for row in found.table if row.misspecification > found.largest]
    assert all(below)
    assert not any(above)


def test_where_the_answer_changes() -> None:
    (change,) = study_with(30, 0.1).sensitivity().changes
    assert (change.before, change.after) == (("d",), ("c",))
    at = change.misspecification
    answers = [study_with(3000, eps).result for eps in (at * 0.9, at * 1.1)]
    assert [result.answer for result in answers if result is not None] == [("d",), ("c",)]


def test_a_decision_may_come_back_with_another_answer() -> None:
    found = study_with(100, 0.1, stopping="heuristic").sensitivity()
    (_, first), (second, last) = found.decides
    assert first < found.changes[0].misspecification < second
    assert (last, found.largest, found.answer) == (math.inf, math.inf, ("c",))


def test_decisions_that_rest_on_a_contradicted_model_are_marked() -> None:
    found = study_with(1000, 0.1).sensitivity()
    assert found.smallest > found.changes[0].misspecification
    for row in found.table:
        assert row.contradicted == (row.misspecification < found.smallest)
        assert row.answer == (("c",) if row.misspecification > 0.39 else ("d",))


def test_nothing_decides() -> None:
    found = study_with(1, 0.1, noise=100.0).sensitivity()
    assert (found.largest, found.answer, found.decides) == (None, None, ())
    assert len(found.table) > 10


def test_before_there_is_an_estimate() -> None:
    found = mislid.create_study(candidates=LINE, m=1, misspecification=0.1).sensitivity()
    assert found == Sensitivity(0.1, None, None, 0.0, 0.01, (), (), ())


@pytest.mark.parametrize("algorithm", ["mislid-paper", "mislid-authors"])
def test_arms_that_were_never_measured(algorithm: str) -> None:
    study = mislid.create_study(candidates=LINE, m=1, misspecification=0.1, algorithm=algorithm)
    study.add_observations([("d", 4.0)] * 200)  # the design is a spanner
    found = study.sensitivity()
    assert found.table[0].answer == ("d",)
    assert not found.table[-1].decided
    assert found.smallest == 0.0
    assert study.warnings() == ()


def test_without_features_there_is_no_dial() -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1)
    with pytest.raises(ProblemError, match="sensitivity needs candidates with features"):
        study.sensitivity()


def test_with_features_that_were_not_trusted() -> None:
    found, declared = (study_with(30, eps).sensitivity() for eps in (math.inf, 0.1))
    assert found.declared == math.inf
    assert (found.table, found.decides) == (declared.table, declared.decides)


def test_minimizing_is_maximizing_the_negative() -> None:
    found, mirrored = study_with(30, 0.1), study_with(30, 0.1, direction="minimize")
    assert mirrored.sensitivity() == found.sensitivity()


def test_looking_changes_nothing() -> None:
    study, other = study_with(3, 0.1, noise=10.0), study_with(3, 0.1, noise=10.0)
    for _ in range(5):
        study.sensitivity()
        study.warnings()
        trial, expected = study.ask(), other.ask()
        assert trial.arm == expected.arm
        for one in (study, other):
            one.tell(trial.id, BENT[str(trial.arm)])
    assert len(study.events()) == len(other.events())


def test_values_of_json() -> None:
    found = study_with(1000, math.inf).sensitivity()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["declared"] == plain["largest"] == plain["table"][-1]["misspecification"] == "inf"
    assert plain["table"][0]["answer"] == ["d"]
    assert plain["decides"][-1] == [found.decides[-1][0], "inf"]
    assert plain["changes"][0]["after"] == ["c"]


def test_all_candidates_alike() -> None:
    study = mislid.create_study(candidates=LINE, m=1, misspecification=0.1)
    study.add_observations([(arm, 0.0) for arm in LINE] * 3)
    found = study.sensitivity()
    assert (found.largest, found.smallest) == (None, 0.0)


@pytest.mark.parametrize("level", [0, 1, -0.1, math.nan, "x"])
def test_a_bad_level(level: object) -> None:
    study = mislid.create_study(candidates=LINE, m=1, misspecification=0.1)
    for look in (study.sensitivity, study.warnings):
        with pytest.raises(ProblemError, match="level must be a number above 0 and below 1"):
            look(level=level)  # type: ignore[arg-type]
