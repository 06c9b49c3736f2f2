"""The paper's five experiments: definitions, runs, and reports beside the published numbers.

>>> list(EXPERIMENTS)
['A', 'B', 'C', 'D', 'E']
>>> EXPERIMENTS["D"].cases[0].m
5
"""

from mislid.paper.experiments.definitions import EXPERIMENTS, Case, Experiment, Method
from mislid.paper.experiments.report import write_report
from mislid.paper.experiments.runner import Outcome, Result, Statistics, run_experiment

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
