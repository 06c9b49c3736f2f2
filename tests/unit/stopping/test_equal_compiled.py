"""Compiled evidence where arms share a noise that is not known, against its definition."""

from __future__ import annotations

import math

import numpy as np

from mislid import Model
from mislid.engine.engine import begin_with, new_setting, new_state
from mislid.question import Question
from mislid.stopping.equal import Spread, hold_for_every_noise, take_noise
from mislid.stopping.evidence import by_features, by_two_arms, families_of
from mislid.stopping.rules import _spread
from mislid.stopping.state import ALL_ARMS, LINEAR, TWO_ARMS

X = np.vstack([np.eye(2), np.random.default_rng(0).uniform(-1, 1, size=(4, 2))])
QUESTION = Question(Model(X, misspecification=0.1), 2, noise="unknown-equal")


def prepared(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """Random data, and what the kernels make of them."""
    counts = rng.choice([1.0, 2.0, 7.0, 90.0, 3000.0], size=6)
    counts[:2] += 5.0
    unit = float(rng.choice([0.01, 1.0, 30.0]))
    freedom = np.maximum(counts - 1.0, 0.0)
    scatter = unit**2 * freedom * rng.uniform(0.5, 2.0, size=6)
    setting = new_setting(QUESTION, None, proven=True)
    given = families_of(6, 2, True, 0.05, np.ones(6))
    spread, families, state = _spread(setting, given), given.copy(), new_state(setting)
    begin_with(setting, state, counts, counts * rng.normal(size=6), scatter)
    assert take_noise(setting, families, spread, state)
    return setting, spread, state, Spread(counts, scatter), given, unit


def test_two_arms() -> None:
    rng, holds = np.random.default_rng(2), []
    for _ in range(40):
        _, spread, state, defined, given, unit = prepared(rng)
        i, j = rng.permutation(6)[:2]
        gap = unit * float(rng.choice([0.05, 0.3, 1.0, 5.0]))
        arms = (np.array([state.counts[k]]) for k in (i, j))
        expected = by_two_arms(given.two_arms, np.array([gap]), *arms, defined)[0]
        for level in (expected - 1e-7, expected + 1e-7, 3.0):
            known = i, j, gap, -1.0, 0.0, np.zeros(8), level
            held = hold_for_every_noise(spread, state.counts, (TWO_ARMS, *known[:-2]), *known[-2:])
            assert held == (expected >= level)
            holds.append(held)
    assert 0 < sum(holds[2::3]) < 40


def test_along_the_features() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        setting, spread, state, defined, given, _ = prepared(rng)
        i, j = rng.permutation(6)[:2]
        basis = np.asarray(setting.X)
        V = (basis * state.counts[:, None]).T @ basis
        g = basis[j] - basis[i]
        along = np.linalg.solve(V, g)
        volumes = np.array(
            [
                0.5 * np.linalg.slogdet(np.eye(2) + size**2 * V)[1]
                for size in given.linear.scales.tolist()
            ]
        )
        weighed = state.counts * (basis @ along)
        weighed[i] += 1.0
        weighed[j] -= 1.0
        fit = np.linalg.solve(V, basis.T @ (state.counts * state.means))
        beyond = float(g @ fit) - 0.1 * float(np.abs(weighed).sum())
        pair = np.array([[i, j]])
        data = basis, state.counts, state.means, 0.1, 0.0, pair
        expected = by_features(given.linear, *data, defined)[0]
        if beyond <= 0.0:
            assert expected == -math.inf
            continue
        for level in (expected - 1e-6, expected + 1e-6):
            known = i, j, beyond, float(g @ along), float(along @ along), volumes, level
            held = hold_for_every_noise(spread, state.counts, (LINEAR, *known[:-2]), *known[-2:])
            assert held == (expected >= level)


def test_all_arms() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        _, spread, state, defined, given, unit = prepared(rng)
        n, price = int(rng.integers(6)), float(rng.uniform(1.0, 30.0))
        cost = unit**2 * float(rng.uniform(1.0, 100.0))
        sizes = given.diagonal.scales[[n]]
        expected = defined.by_costs(sizes, np.array([-price]), np.array([cost]))
        for level in (expected - 1e-7, expected + 1e-7):
            known = n, 0, math.sqrt(cost), price, 0.0, np.zeros(8), level
            held = hold_for_every_noise(spread, state.counts, (ALL_ARMS, *known[:-2]), *known[-2:])
            assert held == (expected >= level)
