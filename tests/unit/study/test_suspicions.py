"""What a study warns of."""

import numpy as np
import pytest

import mislid
from mislid.study import Study
from mislid.study.events import Asked, Chain, entry_of
from mislid.study.storage import MemoryStorage

pytestmark = pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [1.0, 0.5], "e": [0.5, 1.0]}
LINEAR = {"a": 0.2, "b": 0.3, "c": 0.5, "d": 0.35, "e": 0.4}


def study_of(means: dict[str, float], n: int = 40, spread: float = 0.1, **changes: object) -> Study:
    given = {"candidates": FEATURES, "m": 1, "misspecification": 0.05, "noise": 0.1}
    study = mislid.create_study(**{"intercept": False, **given, **changes})  # type: ignore[arg-type]
    rng = np.random.default_rng(5)
    study.add_observations(
        [(arm, means[arm] + spread * rng.standard_normal()) for _ in range(n) for arm in means]
    )
    return study


def test_a_log_that_the_rules_would_not_have_written() -> None:
    study = study_of(LINEAR, 2)
    for _ in range(3):
        study.tell(study.ask(), 0.1)
    events = study.events()
    place = next(k for k, event in enumerate(events) if isinstance(event.fact, Asked))
    asked = events[place].fact
    assert isinstance(asked, Asked)
    other = asked._replace(arms=((asked.arms[0] + 1) % 5,))
    events[place] = events[place]._replace(fact=other)
    storage = MemoryStorage()
    storage.create("s", Chain().seal([entry_of(event) for event in events]))
    copy = mislid.load_study(storage=storage)
    (warning,) = copy.warnings()
    assert (warning.kind, warning.level, warning.threshold) == ("diverged", None, 0.0)
    assert warning.statistic >= 1
    assert f"for {warning.statistic:.0f} of 3 trials" in warning.message
    assert study.warnings() == ()


def constant_study(noise: str) -> Study:
    return mislid.create_study(candidates=["a", "b"], m=1, noise=noise)


@pytest.mark.parametrize("noise", ["unknown", "unknown-equal"])
def test_values_without_noise_are_doubted_where_nobody_knows_it(noise: str) -> None:
    study = constant_study(noise)
    study.add_observations([("a", 0.3), ("b", 0.5)] * 2)
    assert not study.warnings()
    study.add_observations([("a", 0.3)])
    [warning] = study.warnings()
    assert (warning.kind, warning.statistic) == ("constant", 3.0)
    assert "random seed" in warning.message
    study.add_observations([("b", 0.6)])
    assert not study.warnings()
