"""The paper's five experiments as declarative specs, and what turns them into tables and figures.

>>> list(EXPERIMENTS)
['A', 'B', 'C', 'D', 'E']
>>> EXPERIMENTS["D"].cases[0].m
5
"""

from mislid.experiments.paper import EXPERIMENTS
from mislid.experiments.published import Statistics
from mislid.experiments.report import write_report
from mislid.experiments.runner import Outcome, Result, run_experiment
from mislid.experiments.spec import Case, Experiment, Method

__all__ = [
    "EXPERIMENTS",
    "Case",
    "Experiment",
    "Method",
    "Outcome",
    "Result",
    "Statistics",
    "run_experiment",
    "write_report",
]
