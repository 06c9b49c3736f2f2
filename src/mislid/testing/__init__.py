"""Suites of tests for parts that others add: sampling rules, stopping rules, noise, storages.

Each suite is a class with one method to override, which gives the part. pytest collects a subclass
whose name begins with `Test`.

Examples
--------
>>> class RoundRobin:
...     def propose(self, view):
...         return view.samples % view.question.K
>>> class TestRoundRobin(SamplingRuleSuite):
...     permutes = False  # which arm comes next depends on the arms' order
...
...     def algorithm(self):
...         return RoundRobin()
"""

from mislid.testing.environments import EnvironmentSuite
from mislid.testing.sampling_rules import SamplingRuleSuite
from mislid.testing.stopping_rules import StoppingRuleSuite
from mislid.testing.storages import StorageSuite
from mislid.testing.suite import Suite

__all__ = [
    "EnvironmentSuite",
    "SamplingRuleSuite",
    "StoppingRuleSuite",
    "StorageSuite",
    "Suite",
]
