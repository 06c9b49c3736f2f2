"""Experiments are run where they can be, and refused before any run where they cannot."""

from dataclasses import replace
from pathlib import Path

import pytest

from mislid.errors import ProblemError
from mislid.paper.experiments import Case, Experiment, Method, run_experiment
from mislid.paper.experiments.spec import Recipe

METHOD = Method("our default", "mislid")
CASE = Case("A_eps0", "4 arms", "", 2, 0.0, (METHOD,), Recipe(K=4, d=2, m=2, gap=0.2))
SMALL = Experiment("small", "An example", (CASE,), runs=2)


def test_what_nobody_published_is_refused_before_any_run(tmp_path: Path) -> None:
    method = replace(METHOD, published="Nobody's")
    experiment = replace(SMALL, cases=(replace(CASE, methods=(method,)),))
    problem = r"""runs on A_eps0 were published, 'LinGapE', 'LUCB', 'MisLid'; got "Nobody's\""""
    with pytest.raises(ProblemError, match=problem):
        run_experiment(experiment, tmp_path)
    assert not list(tmp_path.iterdir())
