"""Test suites for custom sampling rules, stopping rules and storages.

Each suite is a class. Subclass it and override the method that returns the object under test;
pytest collects subclasses whose names begin with `Test`.

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
