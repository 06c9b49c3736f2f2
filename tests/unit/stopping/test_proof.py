"""The compiled proof against its definition: what it settles, when, and what it aims at."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from helpers.measured import Data, engine_of, random_data
from mislid import Instance, Model
from mislid.engine import Engine
from mislid.geometry.duality import top_arms
from mislid.question import Question
from mislid.stopping.evidence import Family, by_two_arms, two_arm_evidence
from oracles.evidence import (
    families,
    pairs_of,
    settled_by_all_arms,
    settled_by_features,
    settled_by_two_arms,
)

two_arms = two_arm_evidence


def compiled(data: Data) -> Family:
    given = families(data).two_arms
    return Family(scales=given.scales, logs=given.logs)


def test_two_arms_are_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    data = random_data(rng, 0.1)
    family, given = compiled(data), families(data).two_arms
    for _ in range(2000):
        wi, wj = 10.0 ** rng.uniform(-6, 9, size=2)
        gap = float(rng.normal() * 10.0 ** rng.uniform(-6, 6))
        expected = by_two_arms(given, np.array([gap]), np.array([wi]), np.array([wj]))[0]
        assert_allclose(two_arms(family, gap, wi, wj), expected, rtol=1e-9, atol=1e-9)
    assert two_arms(family, 1.0, 0.0, 5.0) == -math.inf


def evidence(data: Data, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        settled_by_two_arms(data, pairs),
        settled_by_features(data, pairs),
        settled_by_all_arms(data, pairs),
    )


def test_it_settles_what_one_family_alone_can_settle() -> None:
    decided, needed = [], {"two": 0, "linear": 0}
    for n in range(400):
        data = random_data(np.random.default_rng([7, n]), size=10.0 ** (n % 5))
        engine = engine_of(data, "guaranteed")
        found = engine.judge(True)
        pairs = pairs_of(data.model, np.array(engine.incumbents))
        two, linear, diagonal = evidence(data, pairs)
        level = families(data).level
        either = (two >= level * (1 + 1e-6)) | (linear >= level * (1 + 1e-6))
        least = (two >= level * (1 - 1e-6)) | (linear >= level * (1 - 1e-6))
        times = engine.settled()
        for p, (i, j) in enumerate(pairs.tolist()):
            if (i, j) in times:
                assert least[p] or diagonal[p] >= level * (1 - 1e-6)
                assert times[i, j] == data.counts.sum()
            else:
                assert not either[p]
        assert found.decided == (len(times) == len(pairs))
        decided.append(found.decided)
        needed["two"] += bool(np.any(two >= level) and not np.all(linear >= level))
        needed["linear"] += bool(np.any((linear >= level) & (two < level)))
    assert set(decided) == {True, False}
    assert min(needed["two"], needed["linear"]) > 20


@pytest.mark.parametrize("algorithm", ["mislid", "uniform", "lucb"])
@pytest.mark.parametrize("eps", [0.0, 0.1, math.inf])
def test_pairs_stay_settled_by_the_data_of_their_time(algorithm: str, eps: float) -> None:
    changes = 0
    for number in range(4):
        rng = np.random.default_rng([number, 3])
        features = rng.normal(size=(8, 2))
        means = features @ rng.normal(size=2) + rng.uniform(-1, 1, size=8) * min(eps, 0.5)
        instance = Instance(Model(features, eps), means, noise=1.5)
        engine = Engine(Question(instance.model, 3, noise=1.5, delta=0.2), algorithm, seed=number)
        moments: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        answers, seen = set(), {}
        for t in range(3000):
            arm = int(engine.design[t]) if t < len(engine.design) else engine.propose()
            engine.observe(arm, means[arm] + 1.5 * rng.normal())
            if t < len(engine.design) - 1:
                continue
            decided = engine.judge().decided
            moments[engine.samples] = engine.counts.astype(float), engine.means
            answers.add(frozenset(engine.incumbents))
            for pair, time in engine.settled().items():
                assert seen.setdefault(pair, time) == time
            if decided:
                break
        changes += len(answers) - 1
        level = -math.log(0.2)
        for pair, time in engine.settled().items():
            counts, at = moments[time]
            data = Data(instance.model, np.full(8, 1.5), counts, at, 3, 0.0, 0.2)
            parts = evidence(data, np.array([pair]))
            assert max(part[0] for part in parts) >= level * (1 - 1e-6)
    assert changes > 0


def test_phantom_measurements_of_published_runs_are_no_evidence() -> None:
    """With them an arm that was never measured would be settled at the value 0."""
    model = Model([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], 1.0)
    instance = Instance(model, [4.0, 4.2, 5.0], noise=1e-6)
    question = Question(model, 1, noise=instance.noise, delta=0.05)
    engine = Engine(question, "mislid-authors", "guaranteed")
    for arm in (0, 1):
        engine.observe(arm, float(instance.means[arm]))
    assert not engine.judge(True).decided
    assert top_arms(instance.means, 1).tolist() == [2]


def test_features_whose_information_is_lost_to_rounding_are_not_used() -> None:
    """One arm outranks the others by 18 digits: the rest of the plane is rounding."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        share = rng.uniform(0.2, 0.8)
        model = Model([[1.0, 0.0], [0.0, 1.0], [share, 1 - share]], 0.0)
        noise, means = np.array([1.0, 1.0, 1e-9]), np.array([0.0, 0.1, 0.1 * (1 - share)])
        engine = Engine(Question(model, 1, noise=noise, delta=0.05), "uniform")
        for arm in range(3):
            engine.observe(arm, float(means[arm] + noise[arm] * rng.normal()))
        wrong += engine.judge(True).decided and engine.incumbents != (1,)
    assert wrong <= 3


def test_what_is_no_number_is_not_enough() -> None:
    data = random_data(np.random.default_rng(2), 0.1)
    engine = engine_of(data, "guaranteed")
    engine._rules.stopping.families.two_arms.logs[:] = math.nan
    engine._rules.stopping.families.linear.logs[:] = math.nan
    engine._rules.stopping.families.diagonal.logs[:] = math.nan
    assert not engine.judge(True).decided
