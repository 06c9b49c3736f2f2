import matplotlib as mpl
import pytest

mpl.use("Agg")

from helpers.report_studies import MEANS, decided_study, measuring, new_study
from mislid.plotting_study import Contents, gather
from mislid.study import Study


@pytest.fixture(scope="session")
def decided() -> Study:
    return decided_study()


@pytest.fixture(scope="session")
def running() -> Study:
    study = new_study(m=2, noise=1.0)
    study.optimize(measuring(MEANS, 1.0), n_trials=30)
    assert study.status == "running"
    study.ask(2)
    return study


@pytest.fixture(scope="session")
def decided_contents(decided: Study) -> Contents:
    return gather(decided)


@pytest.fixture(scope="session")
def running_contents(running: Study) -> Contents:
    return gather(running)
