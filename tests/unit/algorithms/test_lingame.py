"""LinGame against its plain version, along whole runs, and what its bonus costs."""

import numpy as np
import pytest

from mislid import Model
from mislid.algorithms import ALGORITHMS, MisLid
from mislid.engine import Engine
from mislid.question import Question
from oracles.lingame import PlainGame

LINGAME = ALGORITHMS["lingame"]
ONE_LEARNER = MisLid("empirical", gap=0.01, sampling="tracking", every_arm=True)


@pytest.mark.parametrize(
    ("rule", "m"), [(LINGAME, 1), (ONE_LEARNER, 1), (ONE_LEARNER, 3)], ids=["lingame", "one", "top"]
)
def test_measures_what_the_plain_version_does(rule: MisLid, m: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng([seed, m])
        features = rng.normal(size=(8, 3))
        features /= np.linalg.norm(features, axis=1)[:, None]
        means = features @ rng.normal(size=3)
        engine = Engine(Question(Model(features, 0.0), m, noise=1.0), rule, "glr")
        plain = PlainGame(features, m, rule.per_answer, rule.gain == "optimistic")
        assert engine.design.tolist() == list(range(8))
        answers = set()
        for t in range(500):
            arm = t
            if t >= 8:
                engine.judge()
                answers.add(engine.incumbents)
                arm = engine.propose()
                assert arm == plain.propose(engine.counts.astype(float), engine.sums)
            engine.observe(arm, float(means[arm] + rng.normal()))
        assert not rule.per_answer or len(plain.learners) == len(answers)
