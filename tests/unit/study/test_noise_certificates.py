"""What studies say on the way where the noise is not known: pairs, intervals, the dial, pages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mislid
from mislid.errors import ProblemError
from mislid.forecast.evidence import pair_evidence
from mislid.stopping.noise import by_own_values
from mislid.study import Study

MEANS = np.array([0.1, 0.3, 0.8, 0.5])
# The first two have the same features.
FEATURES = [[1.0, 0.2], [1.0, 0.2], [1.0, 0.8], [1.0, 0.5]]
TOLD: dict[str, dict[str, Any]] = {
    "unknown": {"noise": "unknown"},
    "bounded": {"noise": (-1.0, 2.0)},
    "bernoulli": {"noise": "bernoulli"},
}
KINDS = [
    ("unknown", "maximize"),
    ("unknown", "minimize"),
    ("bounded", "maximize"),
    ("bounded", "minimize"),
    ("bernoulli", "maximize"),
]


def measured(model: str, direction: str = "maximize", *, rounds: int, **more: Any) -> Study:
    """Every arm so often, with noise 0.2 or of values 0 and 1."""
    about = {"misspecification": 0.15, "direction": direction, **TOLD[model], **more}
    table = dict(zip("abcd", FEATURES, strict=True))
    study = mislid.create_study(study_name="s", candidates=table, m=1, **about)
    rng = np.random.default_rng(5)
    for _ in range(rounds):
        drawn = MEANS + 0.2 * rng.normal(size=4)
        if model == "bernoulli":
            drawn = (rng.random(4) < MEANS).astype(float)
        study.add_observations(list(zip("abcd", drawn.tolist(), strict=True)))
    return study


@pytest.mark.parametrize(("model", "direction"), KINDS)
def test_pairs_have_the_evidence_of_their_own_values(model: str, direction: str) -> None:
    seen = measured(model, direction, rounds=9).overview()
    engine, question = seen.engine, seen.engine.question
    found = pair_evidence(seen, seen.leaders, structured=question.structured)
    share = 1.0 if model == "unknown" else 0.78
    data = engine.counts.astype(float), engine.means, engine.scatter
    alone = by_own_values(model, question.reward_range, *data, found.pairs, 0.0)
    assert_allclose(found.data.by_two_arms(found.pairs), alone + math.log(share / 3), rtol=1e-12)
    whole = found.at(question.model.misspecification)
    assert np.all(whole >= alone + math.log(share / 3) - 1e-12)
    assert not np.isnan(whole).any()


@pytest.mark.parametrize(("model", "direction"), KINDS)
def test_the_result_by_now_ends_with_the_decision(model: str, direction: str) -> None:
    early, late = (measured(model, direction, rounds=rounds) for rounds in (6, 500))
    now = early.result_now()
    assert early.status == "running"
    assert now.pairs
    assert 0.05 < now.p_value <= 1.0
    assert late.status == "decided"
    now = late.result_now()
    assert (now.answer, now.pairs) == (late.result.answer, ())
    assert now.p_value <= 0.05 * (1.0 + 1e-6)
    assert now.answer == (("c",) if direction == "maximize" else ("a",))
    outcome = mislid.verify(late.result.certificate.to_dict())
    assert (outcome.ok, outcome.failure, outcome.proven) == (True, None, True)


def test_features_prove_nothing_where_the_noise_is_unknown() -> None:
    study = measured("unknown", rounds=6)
    with pytest.raises(ProblemError, match="sensitivity needs to know something of the noise"):
        study.sensitivity()
    assert study.overview().sensitivity is None
    # Far from linear in the features, by far more than was declared.
    bent = mislid.create_study(
        candidates={"a": [1.0], "b": [2.0], "c": [3.0]}, m=1, misspecification=0.0, noise="unknown"
    )
    bent.add_observations([(arm, x + 0.1 * (-1) ** n) for n in range(50) for arm, x in BENT])
    assert bent.warnings() == ()
    assert bent.status == "decided"


BENT = (("a", 50.0), ("b", 0.0), ("c", -70.0))
