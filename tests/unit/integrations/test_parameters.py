from dataclasses import dataclass, field

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from mislid.integrations.search import IN_SPAN, as_features

KINDS = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "depth": IntDistribution(2, 10),
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "momentum": FloatDistribution(0.0, 1.0),
    "flag": CategoricalDistribution([None, "None", 1, True]),
}


@dataclass
class Chosen:
    params: dict
    distributions: dict = field(default_factory=dict)

    def __post_init__(self):
        self.distributions = {name: KINDS[name] for name in self.params} | self.distributions


def random_trials(rng, K):
    trials = []
    for _ in range(K):
        params = {"kind": "abc"[rng.integers(3)], "depth": int(rng.integers(2, 5))}
        if params["kind"] == "a":  # so that who has it follows from the kind
            params["momentum"] = float(rng.choice([0.0, 0.5, 1.0]))
        if rng.uniform() < 0.5:
            params["rate"] = float(10.0 ** rng.uniform(-4, 0))
        trials.append(Chosen(params))
    return trials


def every_column(trials, names):
    """The oracle: all columns that there may be, the slow and obvious way."""
    columns = [np.ones(len(trials))]
    for name in names:
        has = [name in trial.params for trial in trials]
        if name == "kind":
            columns += [
                np.array([trial.params["kind"] == one for trial in trials]) for one in "abc"
            ]
            continue
        given = [trial.params.get(name, KINDS[name].low) for trial in trials]
        columns += [np.array(has), np.log(given) if name == "rate" else np.array(given)]
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_is_independent_and_loses_nothing(seed):
    rng = np.random.default_rng(seed)
    trials = random_trials(rng, int(rng.integers(2, 15)))
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    columns, features = as_features(trials, trials, names)
    kept = np.column_stack([np.ones(len(trials)), features])
    full = every_column(trials, names)
    assert np.linalg.matrix_rank(kept) == kept.shape[1] == len(columns) + 1
    assert np.linalg.matrix_rank(full, tol=1e-8) == kept.shape[1]
    assert np.linalg.matrix_rank(np.hstack([kept, full]), tol=1e-8) == kept.shape[1]
    assert IN_SPAN < 1e-8
