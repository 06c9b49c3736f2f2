"""The paper's five experiments as declarative specs, and what turns them into tables and figures.

>>> list(EXPERIMENTS)
['A', 'B', 'C', 'D', 'E']
>>> EXPERIMENTS["D"].cases[0].m
5
"""

from mislid.paper.experiments.paper import EXPERIMENTS
from mislid.paper.experiments.published import Statistics
from mislid.paper.experiments.report import write_report
from mislid.paper.experiments.runner import Outcome, Result, run_experiment
from mislid.paper.experiments.spec import Case, Experiment, Method

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
