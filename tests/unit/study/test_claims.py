"""What was settled at earlier times, and when one may look."""

import math

import numpy as np

import mislid
from mislid.forecast import evidence_summary as claims
from mislid.forecast.evidence_summary import Claims
from mislid.study import Study

LINE = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [4.0]}


def claims_of(study: Study) -> Claims:
    study.samples  # noqa: B018 - reads the log
    return Claims.of(study._session.replay, study._session.replay.engine)


def rising(rounds: int, noise: float = 1.0) -> Study:
    study = mislid.create_study(
        candidates=LINE, intercept=False, m=1, misspecification=0.3, noise=noise
    )
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        study.add_observations([(arm, x + rng.standard_normal()) for arm, (x,) in LINE.items()])
    return study


def test_one_looks_after_events_and_not_within() -> None:
    study = mislid.create_study(
        candidates=LINE, intercept=False, m=1, misspecification=0.1, noise=1.0
    )
    assert claims_of(study).looks.tolist() == []
    study.add_observations([("a", 1.0), ("b", 2.0), ("c", 3.0)])
    trial = study.ask()
    study.tell(trial, 4.0)
    study.add_observations([("a", 1.0), ("d", 2.0)])
    assert claims_of(study).looks.tolist() == [3, 4, 6]


def test_two_arms_at_the_best_of_all_times() -> None:
    study = rising(30)
    seen = claims_of(study)
    now = seen.pairs_of((3,), structured=True)
    families, best = now.data.families, np.full(3, -math.inf)
    for time in seen.looks.tolist():
        counts = np.bincount(seen.arms[:time], minlength=4)
        means = np.bincount(seen.arms[:time], seen.values[:time], 4) / counts
        gap = means[3] - means[:3]
        w = counts.astype(float)
        best = np.maximum(best, claims.by_two_arms(families.two_arms, gap, w[:3], np.full(3, w[3])))
    np.testing.assert_allclose(now.always, best)


def test_what_was_settled_is_known_up_to_the_declared_misspecification() -> None:
    study = rising(6, noise=1.5)
    seen = claims_of(study)
    settled = seen.engine.settled()
    assert 0 < len(settled) < 3
    found = seen.pairs_of(seen.answer, structured=True)
    known = {tuple(pair) for pair in found.pairs[found.known > -math.inf].tolist()}
    assert known == set(settled)
    assert found.declared == 0.3
    # By another M nothing of it is known.
    assert seen.pairs_of(seen.answer, structured=False).known is None
