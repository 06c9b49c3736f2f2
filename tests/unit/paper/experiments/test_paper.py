"""The specs are complete, consistent with the published runs, and refuse nonsense."""

from dataclasses import replace

import pytest

from mislid.errors import ProblemError
from mislid.model import load_instance
from mislid.paper.experiments import EXPERIMENTS, Case, Method
from mislid.paper.experiments.published import published_statistics
from mislid.paper.experiments.spec import GUARANTEED, HEURISTIC

CASES = [case for experiment in EXPERIMENTS.values() for case in experiment.cases]
ONE = Case("one", "a case", "A_eps0", 3, 0.0, (Method("x", "lucb"),))


def test_every_published_mean_is_compared_once():
    keys = [case.published_key(method) for case in CASES for method in case.methods]
    assert sorted(key for key in keys if key is not None) == sorted(published_statistics())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_published_methods_use_the_published_stopping_rule(case):
    for method in case.methods:
        if method.published is not None:
            assert method.stopping == HEURISTIC
            assert method.max_samples is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_our_default_is_there_with_both_stopping_rules(case):
    ours = {method.stopping for method in case.methods if method.algorithm == "mislid"}
    assert ours == {HEURISTIC, GUARANTEED}


@pytest.mark.parametrize("name", ["A", "B", "D", "E"])
def test_the_rivals_are_there_with_both_stopping_rules(name):
    found = {
        (method.algorithm, method.stopping)
        for case in EXPERIMENTS[name].cases
        for method in case.methods
    }
    published = "mislid-authors-tricks" if name == "E" else "mislid-authors"
    for algorithm in ("lucb", published):
        assert {(algorithm, HEURISTIC), (algorithm, GUARANTEED)} <= found
    assert ("lingape", HEURISTIC) in found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_fit_the_published_instances(case, shared_data):
    instance = load_instance(shared_data / case.path, case.misspecification)
    assert case.m < instance.K
    if case.recipe is not None:
        assert (case.recipe.K, case.recipe.d, case.recipe.m) == (instance.K, instance.d, case.m)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(ONE, methods=()), "methods must have different names, at least one"),
        (lambda: Method("..", "lucb"), "name must have a letter or a digit; got '..'"),
        (lambda: replace(ONE, instance=""), "instance must be the name of a published one where"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ProblemError, match=message):
        make()
