"""The hard instances are what they are said to be."""

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


@pytest.mark.parametrize("name", [name for name in HARD if name != "raised"])
def test_the_gap_is_tiny(name: str) -> None:
    hard = HARD[name]
    means = hard.instance.means
    gap = np.min(means[: hard.m]) - np.max(means[hard.m :]) - hard.tolerance
    assert gap == pytest.approx(TINY, rel=1e-6)
