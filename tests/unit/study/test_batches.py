"""Batches that fit limits: what is in them, and that a replay knows how they came about."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.engines import assert_same, memory_of
from helpers.report_studies import Turns
from mislid.study import Study, Trial
from mislid.study.events import Asked
from mislid.study.session import Session
from mislid.study.storage import MemoryStorage

K = 7
FEATURES = np.random.default_rng(3).normal(size=(K, 3))
MEANS = FEATURES @ [1.0, -0.5, 0.3]
QUESTION: dict[str, Any] = {
    "study_name": "s", "candidates": FEATURES, "m": 2, "misspecification": 0.3, "noise": 1.0,
}  # fmt: skip
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("mislid-paper", "lingape")]
RULES: list[Any] = ["mislid", "lucb", *SLOW, Turns()]


def study_of(**changes: Any) -> Study:
    return mislid.create_study(**{**QUESTION, **changes})


def counts_of(batch: list[Trial]) -> Counter[Any]:
    return Counter(trial.arm for trial in batch)


def fits(batch: list[Trial], limits: dict[str, Any]) -> bool:
    counts, size = counts_of(batch), limits.get("replicates", 1)
    return (
        len(counts) <= limits.get("max_candidates", K)
        and max(counts.values(), default=0) <= limits.get("max_per_candidate", len(batch))
        and all(count % size == 0 for count in counts.values())
    )


def random_limits(rng: np.random.Generator) -> tuple[int, dict[str, Any]]:
    limits: dict[str, Any] = {}
    size = int(rng.integers(1, 4))
    if rng.random() < 0.7:
        limits["replicates"] = size
    size = limits.get("replicates", 1)
    if rng.random() < 0.6:
        limits["max_candidates"] = int(rng.integers(1, K + 1))
    if rng.random() < 0.6:
        limits["max_per_candidate"] = size * int(rng.integers(1, 4)) + int(rng.integers(0, size))
    most = limits.get("max_candidates", K) * (limits.get("max_per_candidate", 99) // size)
    return size * int(rng.integers(1, min(most, 6) + 1)), limits


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
@pytest.mark.parametrize("algorithm", RULES)
def test_whatever_rule_chooses_batches_fit_and_replays_are_the_same(algorithm: Any) -> None:
    study, rng = study_of(algorithm=algorithm), np.random.default_rng(5)
    waiting: list[Trial] = []
    for step in range(60):
        n, limits = random_limits(rng)
        batch = study.ask(n, **limits)
        assert len(batch) == n
        assert fits(batch, limits), (limits, counts_of(batch))
        waiting += batch
        if step % 5 == 0:
            waiting += study.ask(2)
        while len(waiting) > 6:
            trial = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.1:
                study.tell(trial, state="fail")
            else:
                study.tell(trial, MEANS[trial.arm] + rng.standard_normal())
    rule = None if isinstance(algorithm, str) else algorithm
    again = Study(Session("s", study._session.key, study._session.storage, rules=(rule, None)))
    assert again._now().sequence == study._now().sequence
    assert again._session.diverged == 0
    if rule is None:
        assert_same(*(memory_of(one._session.engine) for one in (study, again)))
    chosen = [trial.arm for trial in again.ask(4, replicates=2)]
    assert chosen == [trial.arm for trial in study.pending[-4:]]


def test_a_rule_that_would_propose_others_is_noticed() -> None:
    study = study_of()
    for trial in study.ask(14, max_candidates=3):
        study.tell(trial, float(MEANS[trial.arm]))
    study.ask(6, replicates=2)
    events = study.events()
    fact = events[-1].fact
    assert isinstance(fact, Asked)
    other = tuple((arm + 1) % K for arm in fact.proposed or ())
    forged = Asked(fact.trials, fact.arms, fact.again, fact.worker, fact.expires, other)
    for asked, diverged in ((fact, 0), (forged, 3)):
        replay = Session("s", 0, MemoryStorage())
        replay.take_in([*events[:-1], type(events[-1])(events[-1].sequence, 9e9, asked)])
        assert replay.diverged == diverged


class Clock:
    now = 4e9

    def __call__(self) -> float:
        return self.now


class TestOpenTrials:
    def test_that_expired_are_asked_again_in_groups(self) -> None:
        clock = Clock()
        created = study_of(candidates=list("abcdefg"), misspecification=None)
        study = Study(Session("s", created._session.key, created._session.storage, clock))
        lost = study.ask(4, replicates=2, lease=10.0)
        single = study.ask(1, lease=10.0)
        clock.now += 11.0
        batch = study.ask(6, replicates=2, max_candidates=3)
        assert [trial.arm for trial in batch[:4]] == [trial.arm for trial in lost]
        fact = study.events()[-1].fact
        assert fact.again == (*(trial.id for trial in lost), None, None)
        assert single[0].id in {trial.id for trial in study.pending}
        assert fits(batch, {"replicates": 2, "max_candidates": 3})
        again = Study(Session("s", created._session.key, created._session.storage, clock))
        assert [trial.arm for trial in again.ask(2)] == [t.arm for t in study.pending[-2:]]
        assert again._session.diverged == study._session.diverged == 0
