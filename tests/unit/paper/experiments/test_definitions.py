"""The specs are complete, consistent with the published runs, and refuse nonsense."""

import numpy as np
import pytest

from mislid.model import load_instance
from mislid.paper.experiments import EXPERIMENTS, GUARANTEED, HEURISTIC, Recipe
from mislid.paper.reproduce import published_statistics

CASES = [case for experiment in EXPERIMENTS.values() for case in experiment.cases]


def test_every_published_mean_is_compared_once():
    names = [(case.name, method.label) for case in CASES for method in case.methods]
    assert len(names) == len(set(names))
    assert set(names) >= set(published_statistics())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_published_methods_use_the_published_stopping_rule(case):
    for method in case.methods:
        if (case.name, method.label) in published_statistics():
            assert method.stopping == HEURISTIC
            assert "max_samples" not in method.options


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_our_default_is_there_with_both_stopping_rules(case):
    ours = {method.stopping for method in case.methods if method.algorithm == "mislid"}
    assert ours == {HEURISTIC, GUARANTEED}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_fit_the_published_instances(case, shared_data):
    instance = load_instance(shared_data / case.path, case.misspecification)
    assert case.m < instance.K
    if case.recipe is not None:
        assert (case.recipe.K, case.recipe.d, case.recipe.m) == (instance.K, instance.d, case.m)


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
