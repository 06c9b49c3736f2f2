"""Two studies that pictures and reports are about: one has decided, one goes on."""

import matplotlib as mpl
import pytest

mpl.use("Agg")

from helpers.report_studies import MEANS, decided_study, measuring, new_study
from mislid.forecast.overview import Overview
from mislid.study import Study


@pytest.fixture(scope="session")
def finished() -> Study:
    return decided_study()


@pytest.fixture(scope="session")
def running() -> Study:
    study = new_study(m=2, noise=1.0)
    study.optimize(measuring(MEANS, 1.0), n_trials=30)
    assert study.status == "running"
    study.ask(2)
    return study


@pytest.fixture(scope="session")
def decided_overview(finished: Study) -> Overview:
    return finished.overview()


@pytest.fixture(scope="session")
def running_overview(running: Study) -> Overview:
    return running.overview()
