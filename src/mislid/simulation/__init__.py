"""Simulated identifications: where rewards come from, one run, many runs."""

from mislid.simulation import environments
from mislid.simulation.environments import Bernoulli, Bounded, Environment, Gaussian, Table
from mislid.simulation.identify import Identification, identify
from mislid.simulation.progress import Evidence, Progress
from mislid.simulation.replicate import Row, replicate, replicate_rows
from mislid.simulation.summary import Summary, summarise

__all__ = [
    "Bernoulli",
    "Bounded",
    "Environment",
    "Evidence",
    "Gaussian",
    "Identification",
    "Progress",
    "Row",
    "Summary",
    "Table",
    "environments",
    "identify",
    "replicate",
    "replicate_rows",
    "summarise",
]
