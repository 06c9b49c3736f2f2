"""Studies with rules that plan many measurements at once."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.rows import rows_of
from mislid.errors import ProblemError
from mislid.study import Study, Trial, copy_study, load_study
from mislid.study.storage import MemoryStorage

FEATURES = np.random.default_rng(4).normal(size=(6, 3))
MEANS = FEATURES @ [0.3, -0.2, 0.1]


def study_of(**changes: Any) -> Study:
    given = {"study_name": "s", "candidates": FEATURES, "intercept": False, "m": 2}
    rules = {"misspecification": 0.01, "noise": 1.0, "algorithm": "rage"}
    return mislid.create_study(**{**given, **rules, **changes})


def tell(study: Study, trials: list[Trial], noise: Any) -> None:
    """Tell means and noise (n,), or that of a generator."""
    if isinstance(noise, np.random.Generator):
        noise = noise.normal(size=len(trials))
    for trial, deviation in zip(trials, noise, strict=True):
        study.tell(trial, float(MEANS[trial.arm] + deviation))


def test_one_by_one_comes_to_the_same_phases(rng: np.random.Generator) -> None:
    """A batch has the arms that would have been asked for one after the other."""
    batches, single = study_of(study_name="b"), study_of(study_name="s")
    for most in (None, None, 30):
        for trial in batches.ask("phase")[:most]:
            value = float(MEANS[trial.arm] + rng.normal())
            other = single.ask()
            assert other.arm == trial.arm
            single.tell(other, value)
            batches.tell(trial, value)


def test_open_trials_never_end_a_phase(rng: np.random.Generator) -> None:
    study = study_of()
    tell(study, study.ask("phase"), rng)
    phase = study.ask("phase")
    share = Counter(trial.arm for trial in phase)
    more = Counter(trial.arm for trial in study.ask(len(phase)))
    assert set(more) <= set(share)  # the same design goes on
    with pytest.raises(ProblemError, match="all of the phase are handed out"):
        study.ask("phase")
    tell(study, phase[:-1], rng)
    with pytest.raises(ProblemError, match="all of the phase are handed out"):
        study.ask("phase")


def test_another_process_makes_the_same_choices(rng: np.random.Generator) -> None:
    here, there = MemoryStorage(), MemoryStorage()
    study = study_of(storage=here)
    for _ in range(2):
        batch = study.ask("phase")
        tell(study, batch[1:], rng)
        study.tell(batch[0], state="fail")
    copy_study(from_study_name="s", from_storage=here, to_storage=there)
    other = load_study(study_name="s", storage=there)
    assert [one.arm for one in other.ask("phase")] == [one.arm for one in study.ask("phase")]


@pytest.mark.parametrize(("algorithm", "samples"), [("rage", 2_400), ("xy-adaptive", 500)])
def test_a_trial_that_nobody_tells_does_not_keep_a_phase_from_ending(
    algorithm: str, samples: int, rng: np.random.Generator
) -> None:
    """Two arms are close, four far below: these are dropped, and hardly measured from then on."""
    means = [1.0, 0.95, 0.0, 0.0, 0.0, 0.0]
    rules = {"algorithm": algorithm, "noise": 0.3, "delta": 0.001}
    storage = MemoryStorage()
    study = mislid.create_study(
        study_name="s", storage=storage, candidates=list("ABCDEF"), m=1, **rules
    )
    lost = study.ask()
    for _ in range(samples):
        trial = study.ask()
        study.tell(trial, means["ABCDEF".index(trial.arm)] + 0.3 * float(rng.normal()))
    counts = Counter(row.arm for row in rows_of(study))
    assert min(counts["A"], counts["B"]) > 2 * max(counts[arm] for arm in "CDEF")
    study.tell(lost, 1.0)  # counts, late as it is
    target = MemoryStorage()
    copy_study(from_study_name="s", from_storage=storage, to_storage=target)
    again = load_study(study_name="s", storage=target)
    assert [trial.arm for trial in again.ask(4)] == [trial.arm for trial in study.ask(4)]
