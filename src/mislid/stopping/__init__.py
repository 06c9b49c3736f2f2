"""Stopping rules, their thresholds, and tests of assumptions."""

from mislid.stopping.rules import PUBLISHED_RULES, STOPPING_RULES, StoppingRule, as_stopping_rule

__all__ = [
    "PUBLISHED_RULES",
    "STOPPING_RULES",
    "StoppingRule",
    "as_stopping_rule",
]
