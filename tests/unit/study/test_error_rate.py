"""Batches, delays and failures do not make a study wrong more often than promised.

The broken twin is told a noise that is too small, which the same test must catch.
"""

import numpy as np
import pytest
from scipy.stats import binomtest

import mislid

MEANS = {"a": 0.2, "b": 1.0, "c": 0.3, "d": 0.1}
FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1.0, 0.5]}
DELTA, RUNS, REJECTED = 0.1, 100, 1e-4
QUESTION = {"candidates": FEATURES, "intercept": False, "m": 1, "misspecification": 0.4}


def is_wrong(seed: int, noise: float) -> bool:
    """Values come in any order and late, but not later the worse they are."""
    rng = np.random.default_rng([7, seed])
    study = mislid.create_study(**QUESTION, delta=DELTA, noise=noise, seed=seed)
    waiting: list[mislid.study.Trial] = []
    while study.status == "running":
        waiting += study.ask(int(rng.integers(1, 5)))
        while len(waiting) > rng.integers(1, 9):
            trial = waiting.pop(rng.integers(len(waiting)))
            if rng.random() < 0.05:
                study.tell(trial, state="fail")
            else:
                study.tell(trial, MEANS[trial.arm] + rng.standard_normal())
    # A study whose noise is refuted claims nothing.
    return study.result is not None and study.result.proven and study.result.answer != ("b",)


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
@pytest.mark.parametrize(("noise", "fails"), [(1.0, False), (0.02, True)])
def test_error_rate_with_delays_and_batches(
    noise: float, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fails:  # the twin does not look whether its noise is refuted either
        monkeypatch.setattr("mislid.study.session.refuted", lambda *_: ())
    errors = sum(is_wrong(seed, noise) for seed in range(RUNS))
    worse = binomtest(errors, RUNS, DELTA, alternative="greater").pvalue < REJECTED
    assert worse == fails, f"{errors} of {RUNS} answers are wrong"
