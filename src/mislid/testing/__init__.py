"""Suites of tests for your own sampling rules, stopping rules and storages.

Each suite is a class; override the method that returns what is tested. pytest collects a subclass
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

from mislid.testing.rules import SamplingRuleSuite, StoppingRuleSuite
from mislid.testing.storages import StorageSuite

__all__ = ["SamplingRuleSuite", "StoppingRuleSuite", "StorageSuite"]
