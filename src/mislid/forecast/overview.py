"""Snapshot of a study, as shown by `mislid study status`, reports and the server."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from mislid._validation import Matrix
from mislid.errors import CertificateError
from mislid.forecast.checks import Sensitivity, StudyWarning, sensitivity, warnings_of
from mislid.forecast.evidence import intervals, proved_range
from mislid.forecast.simulate import StudyProgress, progress
from mislid.io import as_plain
from mislid.stopping.rules import stopping_rule_called
from mislid.study.assumption_tests import in_words
from mislid.study.results import CONTRADICTED, DECIDED, Label
from mislid.study.session import Session
from mislid.study.settings import GUARANTEED, UNKNOWN, Settings
from mislid.study.state import NOISE, summary_of

# Pairs times candidates above which a search over all pairs takes more than a few seconds.
LARGEST_GAME = 400_000


class Overview:
    """Snapshot of a study after some event; returned by `Study.overview`.

    All attributes describe the same moment, including those that are computed on first access:
    later events do not change the snapshot. Arms are indices of candidates. Arrays have shape (K,)
    unless stated otherwise. Values and means have the user's sign, even if smaller is better.

    Attributes
    ----------
    settings, candidates, labels, K
        The question, the candidates, their labels as texts, and their number.
    summary, name
        The study's name, status and sizes; and its name.
    arms, values, samples
        Candidate indices (n,) and values (n,) of the measurements, in order, and n.
    looks
        Number of measurements after each event that added any, increasing. The order in which
        the measurements of one event were made is unknown.
    waiting
        Arms of open trials.
    decision
        The recorded decision, or None.
    verdict
        The decision that the rules of this release make from the same log, or None.
    refuted, contradictions
        The declarations that the data refute, as records and as sentences. If there are any,
        nothing is proved.
    status, decided
        `running`, `decided` or `contradicted`, and whether the study has a valid answer.
    rule, proven
        The stopping rule, with its description and proof, and whether its answer is, or will be,
        proven.
    corrections, withdrawn
        Corrected values and withdrawn decisions; their arms are those of the roster.
    roster
        All candidates that were ever in the study.
    events, fingerprint
        Number of events in the log, and the seal of the last one, a SHA-256 of all of them.
    engine
        The study's rules after all measurements. If these rules are unavailable, other rules with
        the same estimates.
    has_rules, rules
        Whether the study's rules are available, and the rules that were given as objects.
    trials, diverged
        Number of trials, and number of those for which the rules would now choose another arm than
        the log records.
    counts, means, estimates
        Number of measurements of every candidate, their means (nan without measurements), and the
        model's estimates of the means (nan before there are any).
    best_now, leaders
        The m arms with the best estimates, best first (empty before there are estimates); and the
        answer or, before the decision, `best_now`.
    order
        All arms: the leaders, then the others by their estimates, best first, those without data
        last.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.5)
    >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.6)] * 4)
    >>> seen = study.overview()
    >>> seen.names(seen.order), seen.means.round(2).tolist()
    (('b', 'c', 'a'), [0.2, 0.9, 0.6])
    >>> seen.to_dict(forecast=False)["note"]
    'no forecast: it was not asked for'
    """

    def __init__(self, session: Session) -> None:
        self.refuted = tuple(session.contradictions().values())
        state, name = session.state, session.name
        self.settings, self.candidates = state.settings, state.candidates
        self.labels, self.K = [str(label) for label in self.candidates.labels], self.candidates.K
        self.summary, self.name = summary_of(name, state), name
        self.arms = np.array([one.arm for one in state.observations], dtype=np.int64)
        self.values = np.array([one.value for one in state.observations], dtype=np.float64)
        sequences = np.array([one.sequence for one in state.observations], dtype=np.int64)
        self.samples, self.looks = len(sequences), np.flatnonzero(np.diff(sequences, append=0)) + 1
        self.waiting = state.waiting_arms()
        self.decision, self.verdict = state.decision, session.verdict
        self.contradictions = tuple(in_words(one, state) for one in self.refuted)
        self.status = CONTRADICTED if self.refuted else state.status
        self.decided = self.status == DECIDED
        self.rule = stopping_rule_called(self.settings.stopping)
        self.proven = self.rule.guaranteed and not self.refuted
        self.corrections, self.withdrawn = tuple(state.corrections), tuple(state.withdrawn)
        self.roster = state.roster
        self.events, self.fingerprint = state.sequence, session.chain.head
        self.has_rules, self.rules = session.has_rules, session.given
        self.trials = len(state.trials)
        self.diverged = session.diverged if session.has_rules else 0
        self.engine, sign = session.estimating().copy(), self.settings.sign
        self.counts = self.engine.counts.astype(np.float64)
        self.means = np.where(self.counts > 0.0, sign * self.engine.means, math.nan)
        is_known = self.engine.is_estimated
        self.estimates = sign * self.engine.estimate if is_known else np.full(self.K, math.nan)
        self.best_now = self.engine.incumbents if is_known else ()
        self.leaders = self.best_now if self.decision is None else self.decision.answer
        ranked = np.argsort(-sign * (self.estimates if is_known else self.means), kind="stable")
        others = ranked[~np.isin(ranked, self.leaders)]
        self.order = np.array([*self.leaders, *others], dtype=np.int64)

    @property
    def noise_refuted(self) -> bool:
        """Whether the data refute the declared noise."""
        return any(one.what == NOISE for one in self.refuted)

    @property
    def is_large(self) -> bool:
        """Whether a search over all pairs takes more than a few seconds."""
        return self.K * self.settings.m * (self.K - self.settings.m) > LARGEST_GAME

    @cached_property
    def intervals(self) -> Matrix:
        """Confidence intervals (K, 2) for the true means, infinite if the data say nothing.

        They hold simultaneously at all times with probability at least 1 - delta.
        """
        return intervals(self)

    @cached_property
    def proved(self) -> tuple[float | None, float] | None:
        """The largest misspecification for which the leaders are proved, and the least not refuted.

        None if features prove nothing, or if the search would take long.
        """
        usable = self.settings.is_structured and self.rule.name == GUARANTEED and self.samples > 0
        if usable and not self.is_large and not self.noise_refuted:
            with suppress(CertificateError):
                return proved_range(self)
        return None

    @cached_property
    def warnings(self) -> tuple[StudyWarning, ...]:
        """The warnings of `Study.warnings`, without the `contradictions`."""
        known = {one.what for one in self.refuted}
        return tuple(one for one in warnings_of(self) if one.kind not in known)

    @cached_property
    def progress(self) -> StudyProgress:
        """The result of `Study.progress`, with a simulated forecast."""
        return progress(self)

    @cached_property
    def standing(self) -> StudyProgress:
        """`progress` without a forecast."""
        return progress(self, simulations=0)

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """The result of `Study.sensitivity`; None if features prove nothing."""
        useless = self.candidates.features is None or self.settings.noise_model == UNKNOWN
        return None if useless else sensitivity(self)

    def names(self, arms: Iterable[int]) -> tuple[Label, ...]:
        """The labels of arms.

        Parameters
        ----------
        arms
            Indices of candidates, such as `leaders` or `order`.

        Returns
        -------
        tuple of str or int
            One label per arm, in the same order.
        """
        return tuple(self.candidates.labels[arm] for arm in arms)

    def to_dict(self, *, forecast: bool = True) -> dict[str, Any]:
        """JSON-compatible values, as printed by `mislid study status --format json`.

        Parameters
        ----------
        forecast
            Whether to simulate the rest of the study, which may take several seconds.

        Returns
        -------
        dict
            The study's question, progress, answer and warnings.
        """
        standing = (self.progress if forecast else self.standing).to_dict()
        settings, roster, labels = self.settings, self.roster, self.roster.register.labels
        known = {
            "study": self.name,
            "status": self.status,
            "samples": self.samples,
            "pending": self.summary.pending,
            "candidates": self.K,
            "m": settings.m,
            "delta": settings.error_rate,
            "delta_left": settings.delta,
            "stopping": settings.stopping,
            "proven": self.proven,
            "guarantee": guarantee(settings, contradicted=bool(self.contradictions)),
            "misspecification": settings.declared,
            "proved_up_to": None if self.proved is None else self.proved[0],
            "refuted_below": None if self.proved is None else self.proved[1],
            "contradictions": list(self.contradictions),
            "corrections": len(self.corrections),
            "withdrawn": [f"{one.cause} at event {one.sequence}" for one in self.withdrawn],
            "answer": None if self.decision is None else self.names(self.decision.answer),
            **standing,
            "added": [labels[arm] for arm in sorted(roster.late)],
            "left": [labels[arm] for arm in sorted(roster.gone)],
            "retired": [labels[arm] for arm in sorted(roster.closed - roster.gone)],
            "budget": settings.budget,
            "budget_left": settings.budget_left(self.samples),
            "warnings": [warning.to_dict() for warning in self.warnings],
            "events": self.events,
            "head": self.fingerprint,
        }
        plain: dict[str, Any] = as_plain(known)
        return plain


def guarantee(settings: Settings, *, contradicted: bool = False) -> str:
    """The guarantee for the answer, as a phrase.

    >>> from mislid import create_study
    >>> guarantee(create_study(candidates=["a", "b"], m=1, stopping="heuristic", noise=1).settings)
    "no proof (stopping rule 'heuristic')"
    """
    if not stopping_rule_called(settings.stopping).guaranteed:
        return f"no proof (stopping rule {settings.stopping!r})"
    if contradicted:
        return "no proof (the data contradict what was declared)"
    return f"wrong with probability at most {settings.error_rate:g}, proven"
