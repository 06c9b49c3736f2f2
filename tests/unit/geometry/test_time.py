import dataclasses
import math
import re
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import mislid.geometry.time as time_module
from helpers.time_cases import random_case
from mislid.errors import CertificateError, ProblemError
from mislid.geometry import equilibrium
from mislid.geometry.duality import no_proofs
from mislid.geometry.equilibrium import UnstructuredSearch
from mislid.geometry.time import characteristic_time
from mislid.model import Model

INF = math.inf


@pytest.fixture
def instance(rng):
    features = rng.normal(size=(8, 3))
    means = features @ [1.0, -0.5, 0.3] + rng.uniform(-0.1, 0.1, size=8)
    return features, means


def assert_brackets(time, exact, rtol=1e-9):
    assert time.lower <= exact * (1 + rtol)
    assert time.upper >= exact * (1 - rtol)
    assert time.lower <= time.value <= time.upper <= time.lower * (1 + time.rtol)
    assert time.check(), str(time.check())


def best_arm_time(means):
    """Closed form up to a root, for m = 1, no structure and noise 1 (Garivier and Kaufmann)."""
    gaps = np.max(means) - np.delete(means, np.argmax(means))

    def ratios(y):
        return 2 * y / (gaps**2 - 2 * y)

    top = np.min(gaps) ** 2 / 2
    y = brentq(lambda y: np.sum(ratios(y) ** 2) - 1, 0.0, top * (1 - 1e-12), xtol=1e-300)
    return (1 + np.sum(ratios(y))) / y


@pytest.mark.parametrize("K", [3, 10, 40])
def test_best_arm_without_structure(rng, K):
    means = rng.normal(size=K)
    time = characteristic_time(Model(np.ones((K, 1)), INF), means, 1, rtol=1e-5)
    assert_brackets(time, best_arm_time(means))


def test_samples_are_the_time_by_the_divergence(instance):
    time = characteristic_time(Model(instance[0], 0.1), instance[1], 3)
    assert_allclose(time.samples(0.05), time.value * 0.9 * math.log(19), rtol=1e-12)
    assert time.samples(0.5) == 0.0
    for delta in (0.0, 0.6, math.nan, "x"):
        with pytest.raises(ProblemError, match="delta"):
            time.samples(delta)


def test_a_tie_takes_for_ever_unless_tolerated():
    model = Model(np.eye(3), INF)
    time = characteristic_time(model, [1.0, 0.5, 0.5], 2)
    assert time.value == time.lower == time.upper == time.samples(0.1) == INF
    assert "equal" in time.note
    assert time.check()
    assert not dataclasses.replace(time, means=np.array([1.0, 0.5, 0.4])).check()
    assert characteristic_time(model, [1.0, 0.5, 0.5], 2, tolerance=0.1).upper < INF
    assert characteristic_time(model, [1.0, 0.5, 0.5], 1).upper < INF


def test_no_time_is_needed_when_no_model_reverses_a_pair():
    model = Model(np.ones((3, 1)), 0.1)
    time = characteristic_time(model, [0.1, 0.0, -0.1], 1, tolerance=0.21)
    assert time.value == time.lower == time.upper == time.samples(0.1) == 0.0
    assert "tolerance" in time.note
    assert time.check()
    assert not dataclasses.replace(time, tolerance=0.1).check()
    assert characteristic_time(model, [0.1, 0.0, -0.1], 1, tolerance=0.2).lower > 0.0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: {"lower": t.lower * (1 - 1e-6)}, "lower side"),
        (lambda t: {"upper": t.upper * (1 - 1e-5)}, "upper side"),
        (lambda t: {"upper": t.upper * 1.1}, "rtol"),
        (lambda t: {"allocation": t.allocation[::-1].copy()}, "upper side"),
        (lambda t: {"allocation": 2 * t.allocation}, "sums to"),
        (lambda t: {"mixture": np.roll(t.mixture, 1)}, "lower side"),
        (lambda t: {"mixture": t.mixture * 1.001}, "sums to"),
        (lambda t: {"mixture": t.mixture - 2 * t.mixture.max() * np.eye(t.mixture.size)[0]}, "neg"),
        (lambda t: {"alternatives": 0.9 * t.alternatives + 0.1 * t.means}, "falls short"),
        (lambda t: {"thetas": t.thetas + 1.0}, "deviate"),
        (lambda t: {"pairs": t.pairs[:, ::-1]}, "no pair"),
        (lambda t: {"proofs": no_proofs(8)}, "upper side"),
        (
            lambda t: {"proofs": t.proofs._replace(multipliers=t.proofs.multipliers + 1e-3)},
            "must vanish",
        ),
        (lambda t: {"proofs": t.proofs._replace(alphas=-t.proofs.alphas)}, "alpha"),
        (lambda t: {"proofs": t.proofs._replace(alphas=2 * t.proofs.alphas)}, "upper side"),
        (lambda t: {"proofs": t.proofs._replace(pairs=t.proofs.pairs[:, ::-1])}, "no pair"),
        (lambda t: {"proofs": t.proofs._replace(pairs=t.proofs.pairs + 99)}, "no pair"),
        (lambda t: {"allocation": np.full(8, np.nan)}, "allocation"),
        (lambda t: {"mixture": np.full_like(t.mixture, np.nan)}, "mixture"),
        (lambda t: {"lower": np.nan}, "rtol"),
        (lambda t: {"upper": np.inf}, "rtol"),
        (lambda t: {"noise": 0.9 * t.noise}, "lower side"),
        (lambda t: {"noise": 1.1 * t.noise}, "upper side"),
        (lambda t: {"tolerance": 0.01}, "falls short"),
        (lambda t: {"model": Model(t.model.features, 0.04)}, "deviate"),
        (lambda t: {"model": Model(t.model.features, 0.06)}, "upper side"),
    ],
)
def test_check_catches_tampering(instance, change, complaint):
    time = characteristic_time(Model(instance[0], 0.05), instance[1], 3)
    assert time.check(), str(time.check())
    check = dataclasses.replace(time, **change(time)).check()
    assert not check
    assert any(complaint in failure for failure in check.failures), check.failures


class Doubtful(UnstructuredSearch):
    """A search whose bounds fall short of its costs, and that proves nothing."""

    def near(self, weights, ratio, limit):
        near = super().near(weights, ratio, limit)
        return near._replace(bounds=0.5 * near.bounds)


@pytest.mark.parametrize("limit", ["MOST_CALLS", "MOST_IDLE"])
def test_a_gap_that_does_not_close_is_an_error(instance, monkeypatch, limit):
    model, means = Model(instance[0], 0.1), instance[1]
    monkeypatch.setattr(equilibrium, limit, 12)
    monkeypatch.setattr(time_module, "_search", lambda *_: Doubtful(model, means, 3, 0.0))
    with pytest.raises(CertificateError, match=r"after \d\d calls, wider than rtol"):
        characteristic_time(model, means, 3)


def test_a_side_that_is_not_proved_is_an_error(instance, monkeypatch):
    features, means = instance
    monkeypatch.setattr(equilibrium.PairSearch, "prove", lambda *_: no_proofs(8))
    with pytest.raises(CertificateError, match="only proved"):
        characteristic_time(Model(features, 0.05), means, 3)


@pytest.mark.parametrize(
    ("name", "misspecification", "m", "low", "high"),
    [
        ("A_eps0", 0.0, 3, 123.0, 124.8),
        ("A_eps5", 5.0, 3, 297.6, 346.5),
        ("B", 1.0, 3, 94.2, 99.3),
        ("D", 0.02, 5, 5602.0, 5696.0),
        ("E", 0.206, 4, 24200.0, 24350.0),
    ],
)
def test_published_instances(shared_data, name, misspecification, m, low, high):
    with np.load(shared_data / "instances" / f"{name}.npz") as data:
        features, means = data["features"], data["means"]
    time = characteristic_time(Model(features, misspecification), means, m)
    assert low <= time.lower
    assert time.upper <= high
    assert time.upper <= time.lower * (1 + 1e-3)
    assert time.calls <= 60
    assert time.check(), str(time.check())


# By cutting planes with exact linear programs, all pairs solved, at rtol 1e-4.
BY_LINEAR_PROGRAMS = [
    262.69927, 49.553376, 23.025582, 1.2574066, 253971.47, 40.15483, 668.59737, 14.237996,
    4.279487, 198.83106, 32.408387, 289.37628, 3.6435274, 4990.5633, 14872.013, 0.83188202,
    222.84587, 37.865096, 2.1855716, 36.759922, 123.4776, 100.34292, 19.318378, 9540.9557,
    288.34081, 256.53333, 32.458278, 34.072707, 25.396875, 146.21611, 58.32264, 70.77414,
    26.733024, 65.67895, 0.7086952, 101.40156, 53.31359, 2968.7567, 3.8658281, 2.7791602, 353.1616,
    39.669995, 2.4937924, 15.331365, 1174.3676, 4.5521924, 954.68876, 54908465.0,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(0, len(BY_LINEAR_PROGRAMS), 3))
def test_time_is_what_linear_programs_over_all_pairs_found(seed):
    model, means, m, options = random_case(seed)
    time = characteristic_time(model, means, m, rtol=1e-4, **options)
    assert_allclose(time.value, BY_LINEAR_PROGRAMS[seed], rtol=1e-4)
    assert time.check(), str(time.check())


def test_multipliers_of_the_projection_are_checked(instance):
    features, means = instance
    means = means + np.array([0.0, 3.0, 0.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    time = characteristic_time(Model(features, 0.1), means, 3)
    assert np.any(time.floor != 0.0)
    assert time.check(), str(time.check())
    for floor, complaint in (
        (np.zeros(8), "upper side"),
        (time.floor + 0.1, "floor: .*must vanish"),
        (np.full(8, np.nan), "floor"),
    ):
        check = dataclasses.replace(time, floor=floor).check()
        assert not check
        assert any(re.search(complaint, failure) for failure in check.failures), check.failures


@pytest.mark.parametrize(("relative", "m"), [(0.0, 3), (0.5, 3), (1.0, 10)])
def test_many_arms_take_neither_their_square_in_memory_nor_their_pairs_in_solves(relative, m):
    rng, K = np.random.default_rng(2), 3000
    features = rng.standard_normal((K, 6))
    linear = features @ rng.standard_normal(6)
    best = np.sort(linear)[::-1]
    width = relative * (best[m - 1] - best[m])
    means = linear + width * rng.uniform(-1.0, 1.0, K)
    tracemalloc.start()
    try:
        time = characteristic_time(Model(features, width), means, m)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.check(), str(time.check())
    assert peak < 0.7 * 8 * K**2
    assert time.pairs_solved < m * K / 5
    assert len(time.proofs.alphas) < m * K / 50
