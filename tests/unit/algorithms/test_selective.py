"""Rules that leave out settled pairs are otherwise the rules that they wrap."""

import numpy as np
import pytest

from mislid import Instance, Model, identify
from mislid.algorithms import Selective

FEATURES = np.random.default_rng(5).normal(size=(6, 2))
INSTANCE = Instance(Model(FEATURES, 0.0), FEATURES @ [1.0, 0.4], noise=0.7)


@pytest.mark.parametrize("name", ["lingape", "lingifa", "lazy-tas", "fws", "top-two", "mislid"])
@pytest.mark.parametrize("stopping", ["heuristic", "paper"])
def test_nothing_changes_with_rules_that_settle_no_pairs(name: str, stopping: str) -> None:
    """Not even that some stop by their own test."""
    for seed in range(4):
        options = {"stopping": stopping, "seed": seed, "max_samples": 3_000}
        plain = identify(INSTANCE, 2, algorithm=name, **options)
        selective = identify(INSTANCE, 2, algorithm=Selective(name), **options)
        assert (selective.samples, selective.answer) == (plain.samples, plain.answer)
