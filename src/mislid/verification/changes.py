"""Candidates that came or left after a look at values: whether the error rate was divided for it.

`docs/changing.md` has the proof. With n candidates that came or left so, A of them new, K in the
question and R that were ever in the study, delta is what was promised over n (n + 1)^2 C(R, n - A)
and, if A > 0, over K (K - 1) / (m (K - m)), rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mislid.verification.question import Candidates, Settings
from mislid.verification.reading import Failure, Label, Value

ADDED, LEFT, RETIRED = "added", "left", "retired"
# What rounding may add to a quotient.
ROUNDING = Fraction(1, 10**15)


def check_changes(
    changes: Value,
    promised: Value,
    candidates: Candidates,
    settings: Settings,
    late: tuple[int, ...] | None,
) -> None:
    """The error rate that is left is at most what was promised, divided; who is late is known."""
    came: set[Label] = set()
    gone: set[Label] = set()
    seen = 0
    for entry in changes.entries():
        parts = entry.parts("event", "kind", "labels", "informed", "reason")
        kind, informed = parts["kind"].text(ADDED, LEFT, RETIRED), parts["informed"].flag()
        labels = [one.label() for one in parts["labels"].entries()]
        if len(labels) != len(set(labels)) or (kind != ADDED and len(labels) != 1):
            raise parts["labels"].fail("one label, or for added ones labels that differ")
        if kind == ADDED and informed:
            came |= set(labels)
        if kind == LEFT:
            gone |= set(labels)
            seen += informed
    present = {candidates.labels[k] for k in late or ()}
    if late is not None and present != came - gone:
        raise Failure("model.late must be those that log.changes has added after a look at values")
    new, n = len(came), len(came) + seen
    price = 1
    if n > 0:
        ever = candidates.K + len(gone)
        K, m = candidates.K, settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if new else 1
        price = n * (n + 1) ** 2 * pairs * math.comb(ever, seen)
    rate = promised.number(0.0, above=True)
    if not rate < 1.0:
        raise promised.fail("below 1")
    share = Fraction(rate) / price
    if not Fraction(settings.delta) <= share * (1 + ROUNDING):
        raise promised.fail(f"at least {price} times settings.delta, for log.changes")
