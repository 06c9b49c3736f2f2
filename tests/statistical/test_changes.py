"""A question that is chosen after a look: paid for, it errs as promised; unpaid, far more often."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mislid
from mislid.stopping.evidence import by_two_arms, families_of
from mislid.study.roster import Roster
from statistical.trials import too_often

DELTA, K, ROUNDS, RUNS = 0.1, 12, 300, 120
LABELS = [f"c{k}" for k in range(K)]


def wrong_after_departures(seed: int) -> bool:
    """Wait until two candidates look decided as if there were no others, and let those leave.

    All means are equal but for 1e-9, so that whatever is decided is wrong half of the time.
    """
    rng = np.random.default_rng(seed)
    means = 1e-9 * rng.permutation(K)
    sums = np.cumsum(means + rng.standard_normal((ROUNDS, K)), axis=0)
    pair = _tempting_pair(sums)
    if pair is None:
        return False
    rounds, best, other = pair
    study = mislid.create_study(candidates=LABELS, m=1, noise=1.0, delta=DELTA)
    values = np.diff(sums[:rounds], axis=0, prepend=0.0)
    study.add_observations([(LABELS[k], float(row[k])) for row in values for k in range(K)])
    for k in range(K):
        if k not in (best, other):
            study.retire(LABELS[k], leave=True)
    if study.result is None or not study.result.proven:
        return False
    return bool(means[LABELS.index(str(study.result.answer[0]))] < max(means[best], means[other]))


def _tempting_pair(sums: np.ndarray) -> tuple[int, int, int] | None:
    """The first round at which a pair by itself has evidence enough: round, leader, other."""
    family = families_of(2, 1, False, DELTA, np.ones(2)).two_arms
    for rounds in range(2, ROUNDS + 1):
        means = sums[rounds - 1] / rounds
        best, other = int(np.argmax(means)), int(np.argmin(means))
        weight = np.array([float(rounds)])
        found = by_two_arms(family, means[[best]] - means[[other]], weight, weight)[0]
        if found >= -math.log(DELTA):
            return rounds, best, other
    return None


def test_departures_that_are_paid_for_err_as_promised() -> None:
    wrong = sum(wrong_after_departures(seed) for seed in range(RUNS))
    assert not too_often(wrong, RUNS, DELTA)


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
def test_departures_that_are_not_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Roster, "price", 1)
    wrong = sum(wrong_after_departures(seed) for seed in range(RUNS))
    assert too_often(wrong, RUNS, DELTA)
