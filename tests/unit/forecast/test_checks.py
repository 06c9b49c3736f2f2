"""Sensitivity to the misspecification, and warnings."""

import math

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.study import Study
from mislid.study.events import Asked, Chain, entry_of
from mislid.study.storage import MemoryStorage

pytestmark = pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
LINE = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0]}
# Linear but for the last, which the line puts first.
BENT = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.5}


def study_with(n: int, misspecification: float, **changes: object) -> Study:
    given = {"candidates": LINE, "intercept": False, "m": 1, "noise": 1.0, **changes}
    given["misspecification"] = misspecification
    study = mislid.create_study(**given)  # type: ignore[arg-type]
    rng = np.random.default_rng(n)
    rows = [(arm, mean + 0.1 * rng.standard_normal()) for arm, mean in BENT.items()] * n
    study.add_observations([(arm, study.settings.sign * value) for arm, value in rows])
    return study


def test_a_rule_without_a_proof_states_only_what_is_refuted() -> None:
    found = study_with(1000, 0.1, stopping="heuristic").sensitivity()
    assert (found.largest, found.answer, found.proven) == (None, None, False)
    assert 0.0 < found.smallest <= study_with(1000, 0.1).sensitivity().smallest
    assert found.statement.startswith("nothing is proved; the data refute any below")


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("eps", [0.01, 0.05, 0.2, 0.4, 0.7])
def test_a_study_that_declares_a_value_says_the_same_of_it(n: int, eps: float) -> None:
    known, other = study_with(n, 0.1).sensitivity(), study_with(n, eps)
    assert known.proven
    assert known.largest is not None
    assert (other.status == "contradicted") == (eps < known.smallest)
    if other.status != "contradicted" and other._now().decision is not None:
        assert (other.result.answer == known.answer) == (eps <= known.largest)


def test_the_largest_is_found_to_a_thousandth() -> None:
    found = study_with(30, 0.1).sensitivity()
    assert found.largest is not None
    assert found.answer == ("d",)
    assert study_with(30, found.largest).status == "decided"
    assert study_with(30, found.largest * 1.01).status == "running"


def told_one_by_one(n: int, later: int) -> Study:
    """Decided by two clear arms, whose means then come so close that they would not decide."""
    study = mislid.create_study(
        candidates=LINE, intercept=False, m=1, misspecification=0.05, noise=0.5
    )
    for _ in range(n):
        study.add_observations([("a", 1.0), ("b", 2.0), ("c", 2.5), ("d", 4.0)])
    study.add_observations([("c", 4.0), ("b", 4.0), ("a", 4.0)] * later)
    return study


def test_what_two_arms_settled_earlier_holds_for_every_misspecification() -> None:
    study = told_one_by_one(20, 0)
    assert study.status == "decided"
    assert study.sensitivity().largest == math.inf
    later = told_one_by_one(20, 300)
    assert later.result is not None
    assert later.result.answer == ("d",)
    found = later.sensitivity()
    assert (found.largest, found.answer) == (math.inf, ("d",))
    # At once, the same data decide nothing.
    again = mislid.create_study(
        candidates=LINE, intercept=False, m=1, misspecification=0.05, noise=0.5
    )
    again.add_observations([(row.arm, row.value) for row in rows_of(later)])
    assert again.sensitivity().largest != math.inf


def test_what_features_settled_earlier_holds_up_to_the_declared_one() -> None:
    study = mislid.create_study(
        candidates=LINE, intercept=False, m=1, misspecification=0.05, noise=0.5
    )
    study.add_observations([("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)] * 2)
    assert study.status == "decided"
    before = study.sensitivity().largest
    assert before is not None
    assert 0.05 <= before < math.inf
    study.add_observations([(arm, 0.0) for arm in LINE] * 200)
    found = study.sensitivity()
    assert (found.largest, found.answer) == (0.05, ("d",))


def test_refuted_values_are_said_to_be_left_out() -> None:
    found = study_with(1000, 0.1).sensitivity()
    assert found.answer == ("d",)
    assert found.largest is not None
    assert found.statement.startswith(
        f"proved for every misspecification up to {found.largest:.3g}"
    )
    assert f"; the data refute any below {found.smallest:.3g}" in found.statement


@pytest.mark.parametrize("scatter", [0.1, 0.02])
def test_nothing_is_proved_where_the_noise_is_refuted(scatter: float) -> None:
    """As a server, `status` and reports show it."""
    study = mislid.create_study(
        candidates={"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [0.5, 0.2]},
        m=1,
        noise=0.02,
        misspecification=0.1,
        intercept=False,
    )
    means = {"a": 0.3, "b": 0.5, "c": 0.8, "d": 0.25}
    rows = [(arm, mean + sign * scatter) for arm, mean in means.items() for sign in (-1, 1)]
    study.add_observations(rows * 6)
    seen, refuted = study.overview(), scatter > 0.02
    assert (study.status == "contradicted") == refuted
    assert study.sensitivity().proven != refuted
    assert seen.sensitivity == study.sensitivity()
    assert (seen.proved is None) == refuted
    if refuted:
        assert study.sensitivity().statement.startswith("nothing is proved")
        plain = seen.to_dict()
        names = ("proved_up_to", "refuted_below", "proven")
        assert [plain[name] for name in names] == [None, None, False]
        assert (seen.progress.more, seen.progress.statistic) == (None, None)
        assert not study.what_if(delta=0.3).decided_now
        (warning,) = study.warnings()
        assert warning.kind == "noise"
        assert warning.message.startswith(seen.contradictions[0])
        assert "scatter most" in warning.message
        assert seen.warnings == ()


def test_a_log_that_the_rules_would_not_have_written() -> None:
    study = mislid.create_study(candidates=LINE, m=1, misspecification=0.1, noise=0.1)
    study.add_observations(list(BENT.items()))
    for _ in range(3):
        study.tell(study.ask(), 0.1)
    events = study.events()
    place = next(k for k, event in enumerate(events) if isinstance(event.fact, Asked))
    asked = events[place].fact
    assert isinstance(asked, Asked)
    other = asked._replace(arms=((asked.arms[0] + 1) % 4,))
    events[place] = events[place]._replace(fact=other)
    storage = MemoryStorage()
    storage.create("s", Chain("s").seal([entry_of(event) for event in events]))
    copy = mislid.load_study(storage=storage)
    assert "diverged" in [warning.kind for warning in copy.warnings()]
    assert "diverged" not in [warning.kind for warning in study.warnings()]


@pytest.mark.parametrize("noise", ["unknown", "unknown-equal"])
def test_equal_values_are_doubted_where_the_noise_is_unknown(noise: str) -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=noise)
    study.add_observations([("a", 0.3), ("b", 0.5)] * 2)
    assert not study.warnings()
    study.add_observations([("a", 0.3)])
    [warning] = study.warnings()
    assert warning.kind == "constant"
    assert "random seed" in warning.message
    study.add_observations([("b", 0.6)])
    assert not study.warnings()
