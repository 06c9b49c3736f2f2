"""Simulated identifications: where rewards come from, one run, many runs.

`mislid.identify` and `mislid.replicate` are published above: here these names are modules.
"""

from mislid.simulation import environments
from mislid.simulation.environments import Bernoulli, Bounded, Environment, Gaussian, Table
from mislid.simulation.executors import Processes
from mislid.simulation.identify import Identification
from mislid.simulation.ledger import merge
from mislid.simulation.progress import Evidence, Progress
from mislid.simulation.replicate import Row, replicate_rows
from mislid.simulation.summary import Summary, summarise

__all__ = [
    "Bernoulli",
    "Bounded",
    "Environment",
    "Evidence",
    "Gaussian",
    "Identification",
    "Processes",
    "Progress",
    "Row",
    "Summary",
    "Table",
    "environments",
    "merge",
    "replicate_rows",
    "summarise",
]
