"""The range of a forecast holds what is then needed about as often as it says.

Looks are at a time fixed beforehand, as a user's are: at a share of the way, which only the future
tells, runs that are about to be lucky would be picked out. The broken twin knows no uncertainty.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import mislid
from mislid.forecast import Overview
from mislid.forecast import simulate as forecast
from mislid.forecast.simulate import Forward, what_if

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1.0, 0.5]}
MEANS = {"a": 0.1, "b": 0.6, "c": 1.0, "d": 0.5}
NOISE, LOOK, RUNS, REJECTED = 0.5, 30, 30, 1e-4


class Certain(Forward):
    """Takes the estimates for the truth, and measurements for exact."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._noise = np.zeros_like(self._noise)


def looks() -> list[tuple[Overview, int]]:
    """Studies after LOOK measurements, and how many more they needed."""
    found = []
    for seed in range(RUNS):
        rng = np.random.default_rng([11, seed])
        study = mislid.create_study(
            candidates=FEATURES, intercept=False, m=1, misspecification=0.3, noise=NOISE, seed=seed
        )
        snapshot = None
        while study.status == "running":
            if study.samples == LOOK:
                snapshot = study.overview()
            trial = study.ask()
            study.tell(trial, MEANS[str(trial.arm)] + NOISE * rng.standard_normal())
        if snapshot is not None:
            found.append((snapshot, study.samples - LOOK))
    return found


@pytest.fixture(scope="module")
def looked() -> list[tuple[Overview, int]]:
    found = looks()
    assert len(found) > 0.9 * RUNS
    return found


@pytest.mark.parametrize(("simulated", "fails"), [(Forward, False), (Certain, True)])
def test_the_range(
    looked: list[tuple[Overview, int]],
    simulated: type[Forward],
    fails: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecast, "Forward", simulated)
    missed = 0
    for snapshot, actual in looked:
        said = what_if(snapshot)
        above = said.more_high is not None and actual > said.more_high
        missed += actual < said.more_low or above
    share = 2 / forecast.TAIL
    worse = binomtest(missed, len(looked), share, alternative="greater").pvalue < REJECTED
    assert worse == fails, f"{missed} of {len(looked)} ranges missed"
