"""When an answer may be given: stopping rules, their thresholds, and tests of what was declared."""

from mislid.stopping.rules import PUBLISHED_RULES, STOPPING_RULES, StoppingRule, as_stopping_rule

__all__ = [
    "PUBLISHED_RULES",
    "STOPPING_RULES",
    "StoppingRule",
    "as_stopping_rule",
]
