"""Instances drawn as the paper drew its own."""

import numpy as np
import pytest

from mislid.paper.experiments import EXPERIMENTS
from mislid.paper.experiments.definitions import Recipe

LINEAR = Recipe(K=10, d=5, m=3, gap=0.14)
DEVIATING = Recipe(K=15, d=8, m=3, gap=0.2, deviation=1.0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("recipe", [LINEAR, DEVIATING])
def test_features_are_scaled_and_gaps_are_wide(recipe, seed):
    instance = recipe.draw(seed, 1.0)
    np.testing.assert_allclose(np.max(np.abs(instance.model.features), axis=1), 1.0)
    means = np.sort(instance.means)[::-1]
    assert np.min(-np.diff(means[recipe.m - 2 : recipe.m + 1])) >= recipe.gap
    assert instance.model.misspecification == 1.0


def test_the_published_gaps_meet_the_recipes(shared_data):
    for name in ("A", "B"):
        case = EXPERIMENTS[name].cases[0]
        means = np.sort(np.load(shared_data / case.path)["means"])[::-1]
        assert np.min(-np.diff(means[case.m - 2 : case.m + 1])) >= case.recipe.gap
