"""Candidates that come and go: what counts, what is asked, what is proven, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.errors import ProblemError
from mislid.study.candidates import Candidates
from mislid.study.roster import Roster
from mislid.study.storage import MemoryStorage

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [0.5, 0.2], "e": [0.2, 0.7]}
MEANS = {"a": 0.3, "b": 0.5, "c": 0.8, "d": 0.25, "e": 0.4, "f": 1.6, "g": 0.1}


def study_of(features: bool = True, **given: Any) -> mislid.Study:
    candidates: Any = FEATURES if features else list(FEATURES)
    if features:
        given = {"misspecification": 0.05, "intercept": False, **given}
    return mislid.create_study(**{"candidates": candidates, "m": 1, "noise": 0.2, **given})


def go_on(study: mislid.Study, seed: int, most: int = 4_000) -> int:
    rng = np.random.default_rng(seed)
    for done in range(most):
        if study.status != "running":
            return done
        trial = study.ask()
        study.tell(trial, MEANS[str(trial.arm)] + 0.2 * rng.standard_normal())
    return most


@pytest.mark.parametrize("features", [True, False])
def test_an_added_candidate_is_compared_and_may_win(features: bool) -> None:
    study = study_of(features)
    go_on(study, 1)
    assert study.result is not None
    assert study.result.answer == ("c",)
    more: Any = {"f": [2.0, 2.0]} if features else ["f"]
    study.add_candidates(more, reason="second plate")
    # By its features it is so much better that nothing has to be measured.
    assert study.status == ("decided" if features else "running")
    assert study.overview().withdrawn[-1].cause == "'f' added"
    go_on(study, 2)
    assert study.result.answer == ("f",)
    assert study.result.proven


def test_a_late_value_of_one_that_left_is_kept_but_does_not_count() -> None:
    study = study_of(features=False, m=2)
    trials = study.ask(5)
    for trial in trials[:4]:
        study.tell(trial, MEANS[str(trial.arm)])
    study.retire(trials[4].arm, leave=True)
    before = study.samples
    study.tell(trials[4], 9.0)
    assert study.samples == before
    with pytest.raises(ProblemError, match="n and sd must be left out"):
        study.tell(trials[4], 9.0, n=3, sd=0.1)
    with pytest.raises(ProblemError, match="must be one of the 4 candidates"):
        study.add_observations([(trials[4].arm, 1.0)])


@pytest.mark.parametrize("features", [True, False])
def test_every_process_comes_to_the_same(features: bool) -> None:
    lab = MemoryStorage()
    study = study_of(features, study_name="s", storage=lab, m=2)
    rng = np.random.default_rng(8)

    def some(n: int) -> None:
        for trial in study.ask(n):
            study.tell(trial, MEANS[str(trial.arm)] + 0.2 * rng.standard_normal())

    some(8)
    study.retire("e", leave=True)
    some(5)
    study.add_candidates({"f": [2.0, 2.0], "g": [0.1, 0.0]} if features else ["f", "g"])
    some(6)
    study.retire("a")
    some(6)
    again = mislid.load_study(storage=lab)
    assert rows_of(again) == rows_of(study)
    assert again.settings == study.settings
    assert again.estimates().equals(study.estimates())
    assert again.overview().warnings == ()  # not diverged


def test_a_question_that_changes_costs_a_part_of_delta() -> None:
    study = study_of(features=False)
    study.add_observations([(arm, MEANS[arm]) for arm in study.candidates.labels])
    study.retire("b")
    assert study.settings.delta == 0.05
    study.add_candidates(["f"])
    # One change; 6 x 5 ordered pairs of candidates, of which one answer has 5.
    assert study.settings.delta == 0.05 / (4 * 6)
    assert study.settings.error_rate == 0.05
    study.retire("d", leave=True)
    # Two changes, one of them an addition; five candidates; which one of six left.
    assert study.settings.delta == 0.05 / (2 * 9 * 5 * 6)
    study.retire("f", leave=True)
    # The one that was added counts twice: it came, and it left.
    assert study.settings.delta == 0.05 / (3 * 16 * 4 * 15)


def test_a_change_costs_as_much_before_anything_was_told() -> None:
    """Values may be at hand that were not told yet."""
    study = study_of(features=False)
    study.ask(30)
    study.retire("a", leave=True)
    assert study.settings.delta == 0.05 / (4 * 5)
    study = study_of(features=False)
    study.add_candidates(["f"])
    assert study.settings.delta == 0.05 / (4 * 6)


def test_shares_of_all_questions_add_up_to_at_most_one() -> None:
    m, K0, total = 2, 70, Fraction(0)
    for n in range(1, 60):
        for added in range(n + 1):
            left = n - added
            ever, K = K0 + added, K0 + added - left
            labels = tuple(f"c{k}" for k in range(ever))
            roster = Roster(
                Candidates(labels, None),
                mislid.create_study(candidates=["x", "y", "z"], m=m, noise=1).settings,
                late=frozenset(range(K0, ever)),
                gone=frozenset(range(left)),
            )
            # All sets that may have left; all ordered pairs have the weight of so many answers.
            pairs = -(-K * (K - 1) // (m * (K - m))) if added else 1
            total += Fraction(math.comb(ever, left) * pairs, roster.price)
    assert Fraction(95, 100) < total < 1


def test_coordinates_of_the_others_do_not_depend_on_who_came_late() -> None:
    from mislid.geometry.coordinates import coordinates

    rng = np.random.default_rng(9)
    for _ in range(200):
        K, d, n = int(rng.integers(5, 9)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        rank = int(rng.integers(1, d + 1))
        span = rng.normal(size=(rank, d))
        old = rng.normal(size=(K, rank)) @ span
        found = []
        for _ in range(2):
            features = np.concatenate([old, 3.0 * rng.normal(size=(n, rank)) @ span])
            labels = tuple(range(K + n))
            late = Candidates(labels, features, None, tuple(range(K, K + n)))
            model = late.model(0.1)
            at = coordinates(model)
            np.testing.assert_allclose(
                at.matrix @ model.features[at.basis], model.features, atol=1e-9
            )
            assert at.basis.max() < K
            found.append((at.basis, at.matrix[:K]))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.add_candidates({"a": [1, 1]}), "must be new to the study; got 'a'"),
        (lambda s: s.add_candidates(["f"]), "candidates must have features, as the others do"),
        (lambda s: s.add_candidates({"f": [1.0]}), "must have 2 features, as the others do; got 1"),
        (
            lambda s: s.add_candidates({1: [1.0, 2.0]}),
            "named as the others are, such as 'a'; got 1",
        ),
        (lambda s: s.add_candidates({"f": [1, 1]}, noise=0.3), "noise must be the same for all"),
        (
            lambda s: s.add_candidates({"f": [1, 1]}, cost=2.0),
            "cost must be left out in a study without costs",
        ),
        (lambda s: s.add_candidates({"f": [1e9, 1]}), "features like those of the others"),
        (lambda s: s.retire("z"), "arm must be one of the 5 candidates"),
        (lambda s: s.retire("d"), "arm must be one that was measured"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(change: Any, words: str) -> None:
    study = study_of()
    study.add_observations([("a", 0.3), ("b", 0.5)])
    events = study.events()
    with pytest.raises(ProblemError, match=words):
        change(study)
    assert study.events() == events


def test_noise_of_each_candidate_keeps_others_out() -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=[0.1, 0.2])
    events = study.events()
    for noise in (None, 0.1, [0.3]):
        with pytest.raises(ProblemError, match=r"noise must be the same for all .* 0\.1 to 0\.2"):
            study.add_candidates(["c"], noise=noise)
    assert study.events() == events


def test_new_directions_are_refused() -> None:
    """Else a later candidate could change the coordinates of those that were measured before."""
    study = mislid.create_study(
        candidates={"a": [1, 0, 0], "b": [0, 1, 0], "c": [1, 1, 0]},
        m=1,
        noise=0.2,
        misspecification=0.05,
        intercept=False,
    )
    study.add_observations([("a", 0.3), ("b", 0.5)])
    with pytest.raises(ProblemError, match="combinations of the others"):
        study.add_candidates({"d": [1, 1, 1]})
    study.add_candidates({"d": [2, 1, 0]})
    study.retire("a", leave=True)
    with pytest.raises(ProblemError, match="combinations of the others"):
        study.retire("b", leave=True)  # then only late ones would have this direction


def test_a_key_is_of_noise_and_cost_as_well() -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=0.1, cost=[1.0, 2.0])
    for _ in range(2):
        study.add_candidates(["c"], noise=0.1, cost=3.0, key="second plate")
    assert study.register.K == 3
    for other in ({"noise": 0.4, "cost": 3.0}, {"noise": 0.1, "cost": 4.0}):
        with pytest.raises(ProblemError, match="key must be new"):
            study.add_candidates(["c"], **other, key="second plate")
