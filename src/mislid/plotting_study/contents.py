"""All that a report says about a study, before it is drawn or written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.geometry.time import characteristic_time
from mislid.plotting_study.evidence import History, Moment, Rule, best_of, history
from mislid.plotting_study.facts import Arms, Facts, Recorded, read_facts
from mislid.plotting_study.outlook import Outlook, look_ahead
from mislid.rules.stopping import STOPPING_RULES, StoppingRule

# Candidates times pairs beyond which an optimal allocation would take more than some seconds.
LARGEST_GAME = 400_000


@dataclass(frozen=True, eq=False)
class Contents:
    """A study in numbers.

    Attributes
    ----------
    best_now
        The m candidates that the estimates prefer, best first; empty before there are estimates.
    now
        Estimates and threshold after all measurements.
    optimal
        The best allocation (K,) if the present estimates were the truth; None with a reason in
        `no_optimum`.
    history
        Evidence for `answer` over time.
    """

    facts: Facts
    now: Moment | None
    best_now: tuple[int, ...]
    history: History | None
    optimal: Vector | None
    no_optimum: str
    outlook: Outlook

    @property
    def decided(self) -> bool:
        """Whether there is an answer for good."""
        return self.facts.decision is not None

    @property
    def answer(self) -> tuple[int, ...]:
        """The answer or, before there is one, what would be it now; best first."""
        decision = self.facts.decision
        return self.best_now if decision is None else decision.answer

    @property
    def rule(self) -> StoppingRule:
        """The stopping rule, with what stands behind it."""
        return STOPPING_RULES[self.facts.settings.stopping]

    @cached_property
    def estimates(self) -> Vector:
        """The model's estimates (K,) in the user's sign; not numbers before there are any."""
        if self.now is None:
            return np.full(self.facts.K, math.nan)
        estimates: Vector = self.facts.settings.sign * self.now.projected
        return estimates

    @cached_property
    def order(self) -> Arms:
        """Candidates by their estimates, best first; those without any data last."""
        known = self.facts.means if self.now is None else self.estimates
        keys = np.where(np.isnan(known), -math.inf, self.facts.settings.sign * known)
        return np.argsort(-keys, kind="stable")


def gather(study: Recorded) -> Contents:
    """Read a study and compute what a report shows."""
    facts = read_facts(study)
    rule = Rule(facts)
    now = None if rule.first is None else rule.after(facts.samples)
    best = () if now is None else best_of(facts, now)
    answer = best if facts.decision is None else facts.decision.answer
    optimal, reason = (None, "") if now is None else optimal_allocation(facts, now)
    return Contents(
        facts=facts,
        now=now,
        best_now=best,
        history=history(rule, answer),
        optimal=optimal,
        no_optimum=reason,
        outlook=look_ahead(study, facts),
    )


def optimal_allocation(facts: Facts, now: Moment) -> tuple[Vector | None, str]:
    """The allocation (K,) that is best if the present estimates are true, or why there is none."""
    settings, K = facts.settings, facts.K
    structured = math.isfinite(settings.misspecification)
    if structured and K * settings.m * (K - settings.m) > LARGEST_GAME:
        return None, "not computed for so many candidates"
    try:
        time = characteristic_time(
            facts.candidates.model(settings.misspecification),
            now.projected,
            settings.m,
            noise=facts.noise,
            tolerance=settings.tolerance,
            rtol=0.05,
        )
    except CertificateError:
        return None, "could not be computed with certainty"
    return (None, time.note) if time.note else (time.allocation, "")
