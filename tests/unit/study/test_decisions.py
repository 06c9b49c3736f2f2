"""Studies choose as the simulator does, and every replay chooses the same."""

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import mislid
from helpers.engines import assert_same, memory_of, proposal
from helpers.forgery import entries_of, with_log
from mislid import Instance, Model
from mislid.engine import Verdict, View
from mislid.errors import ProblemError
from mislid.study import Study
from mislid.study.session import Session
from mislid.study.storage import MemoryStorage

FEATURES = np.random.default_rng(3).normal(size=(7, 3))
MEANS = np.array([1.5, 1.1, 0.6, 0.5, 0.2, 0.0, -0.6])
NOISE = 0.7
INSTANCE = Instance(Model(FEATURES, 2.0), MEANS, noise=NOISE)
# So narrow a tube that pairs have to be searched.
LINEAR = FEATURES @ [1.0, -0.5, 0.3] + np.tile([0.1, -0.1], 4)[:7]
NARROW = Instance(Model(FEATURES, 0.1), LINEAR, noise=NOISE)


def study_of(instance: Instance = INSTANCE, **changes: object) -> Study:
    settings = {
        "candidates": FEATURES,
        "intercept": False,
        "m": 2,
        "misspecification": instance.model.misspecification,
        "noise": NOISE,
        "mean_bound": float(np.max(np.abs(instance.means))),
    }
    return mislid.create_study(**{**settings, **changes})  # type: ignore[arg-type]


def fed_by_the_simulator(
    study: Study, seed: int, instance: Instance = INSTANCE, most: int = 100_000
) -> Study:
    rewards = np.random.default_rng(SeedSequence(seed, spawn_key=(0,)))
    sign = study.settings.sign
    while study.status == "running" and most > 0:
        most -= 1
        trial = study.ask()
        study.tell(trial, sign * (instance.means[trial.arm] + NOISE * rewards.standard_normal()))
    return study


@pytest.mark.parametrize(
    ("algorithm", "stopping"),
    [
        ("mislid", "guaranteed"),
        ("mislid-paper", "guaranteed"),
        ("mislid", "heuristic"),
        ("mislid-authors-tricks", "heuristic"),
        ("uniform", "heuristic"),
    ],
)
def test_the_simulators_rewards_lead_to_the_simulators_choices(
    algorithm: str, stopping: str
) -> None:
    for seed, instance in enumerate((INSTANCE, NARROW)):
        options = {"algorithm": algorithm, "stopping": stopping, "seed": seed}
        found = mislid.identify(instance, 2, **options)
        study = fed_by_the_simulator(study_of(instance, **options), seed, instance)
        state = study._session.engine
        np.testing.assert_array_equal(found.counts, state.counts)
        np.testing.assert_array_equal(found.means, state.means)
        result = study.result
        assert (result.samples, result.answer) == (found.samples, found.answer)
        assert result.statistic == found.certificate.statistic
        assert result.threshold == found.certificate.threshold
        assert result.pair == found.certificate.pair
        assert result.proven == (stopping == "guaranteed")


def replayed(study: Study) -> Session:
    replay = Session("s", 0, MemoryStorage())
    replay.take_in(study.events())
    return replay


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
@pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper", "mislid-authors-tricks", "lucb"])
def test_a_replay_is_the_same_to_the_last_bit(algorithm: str) -> None:
    study = study_of(NARROW, algorithm=algorithm)
    rng = np.random.default_rng(8)
    waiting = []
    for step in range(150):
        if not waiting or rng.random() < 0.4:
            waiting += study.ask(int(rng.integers(1, 6)))
        trial = waiting.pop(rng.integers(len(waiting)))
        if rng.random() < 0.1:
            study.tell(trial, state="fail")
        else:
            study.tell(trial, MEANS[trial.arm] + NOISE * rng.standard_normal())
        if step % 40 == 20:
            study.add_observations([(k, MEANS[k]) for k in range(5)])
    again = Study(Session(study.study_name, study._session.key, study._session.storage))
    assert again.status == study.status
    assert again._session.diverged == 0
    assert_same(*(memory_of(one._session.engine) for one in (study, again)))
    assert [trial.arm for trial in again.ask(5)] == [
        trial.arm
        for trial in Study(
            Session(study.study_name, study._session.key, study._session.storage)
        ).pending[-5:]
    ]


def with_history(algorithm: str = "mislid") -> Study:
    """Every arm a different number of times, so that no two are worth the same."""
    study = study_of(algorithm=algorithm)
    study.add_observations([(k, MEANS[k]) for k in range(7) for _ in range(10 + k)])
    return study


def test_an_open_trial_counts_like_one_that_returned_the_estimate() -> None:
    for algorithm in ("mislid", "mislid-paper", "lucb"):
        study, other = with_history(algorithm), with_history(algorithm)
        for _ in range(15):
            trial = study.ask()
            told = other.ask()
            assert trial.arm == told.arm
            # Sixteen or more equal values: what one more of them does to the mean is rounding.
            other.tell(told, float(replayed(study).engine.estimate[trial.arm]))


@pytest.mark.parametrize("stopping", ["guaranteed", "heuristic"])
def test_a_batch_that_failed_leaves_no_trace(stopping: str) -> None:
    """Without a value the next proposals see what the first one of the batch saw."""
    study, other = (study_of(NARROW, stopping=stopping) for _ in range(2))
    rng = np.random.default_rng(4)
    rows = [(k, LINEAR[k] + NOISE * rng.standard_normal()) for k in [*range(7)] * 3]
    for one in (study, other):
        one.add_observations(rows)
    for trial in study.ask(6):
        study.tell(trial, state="fail")
    engine, untouched = study._session.engine, replayed(other).engine
    for trial in range(20):
        assert proposal(engine, trial) == proposal(untouched, trial)
        gains = (one.copy()._rules.sampler.gains for one in (engine, untouched))
        np.testing.assert_array_equal(*gains)


def test_a_verdict_that_nobody_recorded_is_recorded_by_the_next_writer() -> None:
    study = fed_by_the_simulator(study_of(), 0)
    *before, decided = entries_of(study)
    assert decided.kind == "decided"
    lost = with_log(before)
    assert lost.status == "running"
    lost.add_observations([(lost.candidates.labels[0], MEANS[0])])
    assert lost.events()[-1].fact == study.events()[-1].fact


class Turns:
    """A sampling rule that is written in Python."""

    def propose(self, view: View) -> int:
        return view.samples % len(view.counts)


class Rash(Turns):
    """Stops at once, and has an answer."""

    def judge(self, view: View) -> Verdict:
        return Verdict(True, answer=(0, 1))


@pytest.mark.parametrize(
    ("begun", "given", "said"),
    [
        ({}, {"stopping": Rash()}, "stopping must be left out: study 's' was begun with 'guar"),
        ({}, {"algorithm": "lucb"}, "algorithm must be left out"),
        (
            {"algorithm": Turns()},
            {"algorithm": Rash()},
            "must be an object of .*Turns', with",
        ),
    ],
)
def test_a_study_is_not_opened_with_other_rules(
    begun: dict[str, Any], given: dict[str, Any], said: str
) -> None:
    lab = MemoryStorage()
    study_of(study_name="s", storage=lab, **begun)
    with pytest.raises(ProblemError, match=said):
        mislid.load_study(study_name="s", storage=lab, **given)
    own = {"algorithm": "mislid", "stopping": "guaranteed", **begun}
    assert mislid.load_study(study_name="s", storage=lab, **own).ask().id == 0


def test_without_its_sampling_rule_a_study_proves_the_same() -> None:
    lab = MemoryStorage()
    study = study_of(study_name="s", storage=lab, algorithm=Turns())
    fed_by_the_simulator(study, 5, most=400)
    other = mislid.load_study(study_name="s", storage=lab)
    known, found = study.sensitivity(), other.sensitivity()
    assert known.largest is not None
    assert (found.largest, found.smallest) == (known.largest, known.smallest)
    assert found.statement == known.statement
    assert other.overview().engine.settled() == study.overview().engine.settled()
    assert other.overview().sensitivity == known
