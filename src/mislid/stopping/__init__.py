"""When an answer may be given: stopping rules, their thresholds, and tests of what was declared."""

from mislid.stopping.rules import STOPPING_RULES, StoppingRule, as_stopping_rule

__all__ = [
    "STOPPING_RULES",
    "StoppingRule",
    "as_stopping_rule",
]
