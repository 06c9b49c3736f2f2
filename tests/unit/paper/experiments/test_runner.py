"""Experiments are run where they can be, and refused before any run where they cannot."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mislid.errors import MissingPackageError, ProblemError
from mislid.paper.experiments import Case, Experiment, Method, Result, run_experiment, write_report
from mislid.paper.experiments.spec import Recipe

METHOD = Method("our default", "mislid")
CASE = Case("A_eps0", "4 arms", "", 2, 0.0, (METHOD,), Recipe(K=4, d=2, m=2, gap=0.2))
SMALL = Experiment("small", "An example", (CASE,), runs=2)


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return run_experiment(SMALL, str(tmp_path))


def test_the_folder_may_be_a_text(result: Result, tmp_path: Path) -> None:
    assert result.folder == tmp_path
    assert (tmp_path / "parts" / "A_eps0" / "our-default" / "runs.csv").is_file()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"experiment": "A"}, r"experiment must be an Experiment, such as .*; got 'A'"),
        ({"output": 5}, "output must be a string or a path; got 5"),
    ],
)
def test_arguments_that_are_something_else(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ProblemError, match=problem):
        run_experiment(**({"experiment": SMALL, "output": tmp_path} | changes))
    assert not list(tmp_path.iterdir())


def test_what_nobody_published_is_refused_before_any_run(tmp_path: Path) -> None:
    method = replace(METHOD, published="Nobody's")
    experiment = replace(SMALL, cases=(replace(CASE, methods=(method,)),))
    problem = r"""runs on A_eps0 were published, 'LinGapE', 'LUCB', 'MisLid'; got "Nobody's\""""
    with pytest.raises(ProblemError, match=problem):
        run_experiment(experiment, tmp_path)
    assert not list(tmp_path.iterdir())


def test_reports_of_what_is_no_result() -> None:
    with pytest.raises(ProblemError, match="result must be what run_experiment gives; got Exp"):
        write_report(SMALL)  # type: ignore[arg-type]


def test_without_matplotlib_only_figures_are_missing(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"a figure needs .* 'mislid\[plots\]'"):
        write_report(result)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["parts", "report.md", "runs.csv", "settings.json", "table.md"]
