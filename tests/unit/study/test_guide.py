"""Features that guide sampling while nobody knows how wrong they are."""

from __future__ import annotations

from typing import Any

import numpy as np

import mislid
from mislid.study.session import Session
from mislid.study.storage import MemoryStorage

K, NOISE = 100, 0.5


def truth(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features, theta = rng.normal(size=(K, 4)), rng.normal(size=4)
    theta /= np.linalg.norm(theta)
    best = np.argsort(-(features @ theta))[:2]
    features[best] += 0.6 * theta
    return features, features @ theta + rng.uniform(-0.05, 0.05, size=K)


def begun(seed: int, **given: Any) -> tuple[mislid.Study, np.ndarray, np.random.Generator]:
    features, means = truth(seed)
    study = mislid.create_study(candidates=features, m=2, noise=NOISE, seed=seed, **given)
    return study, means, np.random.default_rng(1000 + seed)


def test_choices_are_a_function_of_the_log_however_it_is_read() -> None:
    lab = MemoryStorage()
    study, means, rng = begun(3, study_name="s", storage=lab)
    for batch in (1, 3, 2, 5, 1, 1, 4) * 8:
        for trial in study.ask(batch):
            study.tell(trial, float(means[trial.arm] + NOISE * rng.standard_normal()))
    guide = study._session._exploration
    assert guide is not None
    assert guide._doublings > 0
    events = study.events()
    for size in (1, 7, len(events)):
        replay = Session("s", 0, MemoryStorage())
        for begin in range(0, len(events), size):
            replay.take_in(events[begin : begin + size])
            replay.catch_up()
        assert replay.diverged == 0
        assert replay._exploration is not None
        assert replay._exploration.misspecification == guide.misspecification
        assert replay.propose(3, 0) == study._session.propose(3, 0)
