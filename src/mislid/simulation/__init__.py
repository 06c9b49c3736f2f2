"""Simulated identifications: environments, one run, many runs."""

from mislid.simulation import environments
from mislid.simulation.environments import Bernoulli, Bounded, Environment, Gaussian, Table
from mislid.simulation.identify import Evidence, Identification

__all__ = [
    "Bernoulli",
    "Bounded",
    "Environment",
    "Evidence",
    "Gaussian",
    "Identification",
    "Table",
    "environments",
]
