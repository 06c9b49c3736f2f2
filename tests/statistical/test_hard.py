"""The hard instances are what they are said to be."""

import math

import numpy as np
import pytest

from statistical.hard import HARD, TINY, Hard


@pytest.mark.parametrize("hard", HARD.values(), ids=HARD)
def test_the_first_arms_are_the_best(hard: Hard) -> None:
    means = hard.instance.means
    assert np.min(means[: hard.m]) > np.max(means[hard.m :]) + hard.tolerance


@pytest.mark.parametrize("hard", HARD.values(), ids=HARD)
def test_the_truth_is_within_the_declared_misspecification(hard: Hard) -> None:
    assert hard.instance.deviation <= hard.instance.model.misspecification + 1e-12


def test_special_places() -> None:
    walls, many = HARD["walls"].instance, HARD["many"].instance
    assert walls.deviation == pytest.approx(walls.model.misspecification, rel=1e-12)
    assert many.deviation == pytest.approx(many.model.misspecification, rel=1e-12)
    assert many.K == 40
    assert HARD["one best"].m == 1
    assert HARD["one worst"].m == HARD["one worst"].instance.K - 1
    assert np.ptp(np.log10(HARD["noises"].instance.noise)) == pytest.approx(1.0)
    assert HARD["tied, no structure"].instance.model.misspecification == math.inf


@pytest.mark.parametrize("name", [name for name in HARD if name != "raised"])
def test_the_gap_is_tiny(name: str) -> None:
    hard = HARD[name]
    means = hard.instance.means
    gap = np.min(means[: hard.m]) - np.max(means[hard.m :]) - hard.tolerance
    assert gap == pytest.approx(TINY, rel=1e-6)
