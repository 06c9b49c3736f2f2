"""How many measurements a study still needs, and would need for another question.

The study's own rules are run on from its data many times, with means that the data allow for and
made-up measurements (`forward`). The number that half of these runs stay below is the estimate.
The range is that of four fifths of them, by ranks that one more run would be between with that
probability. Nothing is written, and the study's rules are not touched.
Random numbers derive from the study's seed and the length of its log: the same study at the same
event forecasts the same in any process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.random import SeedSequence, default_rng

from mislid._validation import Vector, as_count
from mislid.engine import Engine, Verdict
from mislid.engine.engine import Memory
from mislid.errors import CertificateError, ProblemError
from mislid.forecast.simulate import Forward, Measured, data_of, likely_deviations
from mislid.study.assumption_tests import is_refuted
from mislid.study.candidates import Candidates
from mislid.study.events import Contradicted, Decided
from mislid.study.replay import Replay, new_engine
from mislid.study.results import Label, PlainRecord
from mislid.study.settings import Settings, as_settings
from mislid.study.state import MISSPECIFICATION

# One of so many runs is meant to be below the range, and one above it.
TAIL = 10
# So that the second and the second last are the range; with many numbers, first and last.
SIMULATIONS, FEW_SIMULATIONS = 2 * TAIL - 1, TAIL - 1
# Candidates times features from which simulations are dear.
MANY_NUMBERS = 10_000
ASKED = ("m", "delta", "tolerance", "misspecification")
# Error rates that people ask for.
DELTAS = (0.1, 0.01)
# Simulated runs are given up when they have become this many times as long as the study.
HORIZON = 100
# Of the characteristic time: better than any estimate of the means deserves.
RTOL = 0.01
# The third stream of a study's seed: simulations take the first for rewards, decisions the second.
_STREAM = 2


class ToGo(NamedTuple):
    """Measurements to go: an estimate, its range, and why there is none."""

    more: int | None
    more_low: int
    more_high: int | None
    note: str


class CostToGo(NamedTuple):
    """What the measurements to go cost: an estimate and its range, None where it is not known."""

    more_cost: float | None = None
    more_cost_low: float | None = None
    more_cost_high: float | None = None


_UNKNOWN = CostToGo()
_DONE = ToGo(0, 0, 0, "")
_SKIPPED = ToGo(None, 0, None, "no forecast: it was not asked for")
_REFUTED = ToGo(None, 0, None, "no forecast: the data contradict what was declared")


@dataclass(frozen=True, slots=True)
class StudyProgress(PlainRecord):
    """How far a study has come.

    Attributes
    ----------
    samples
        Measurements by now.
    more, more_low, more_high, note
        Estimated measurements to go: what half of the simulated continuations stayed below, and
        the range that one more of them would be in with probability 4/5; 0 once decided. `more` and
        `more_high` are None where it is too early to say, beyond what was simulated, or the data
        contradict what was declared; `note` says which.
    pair
        The labels (challenger, incumbent) that are hardest to tell apart; None before the estimate.
    statistic, threshold
        The evidence for that pair, and what it must reach; those of the decision once there is one.
        None where the rule has none.
    lower_bound
        Measurements in all that any method with this error rate needs on average if the means are
        as estimated now: T kl(1 - delta, delta). Infinite where they are tied.
    best_now
        The m candidates that the measurements so far put first, best first.
    spent, more_cost, more_cost_low, more_cost_high
        In a study with costs, what the measurements by now cost, and those to go, as `more` is for
        their number; None where that is not known.
    """

    samples: int
    more: int | None
    more_low: int
    more_high: int | None
    note: str
    pair: tuple[Label, ...] | None = None
    statistic: float | None = None
    threshold: float | None = None
    lower_bound: float | None = None
    best_now: tuple[Label, ...] = ()
    spent: float | None = None
    more_cost: float | None = None
    more_cost_low: float | None = None
    more_cost_high: float | None = None


@dataclass(frozen=True, slots=True)
class WhatIf(PlainRecord):
    """What the same data mean for another question.

    Attributes
    ----------
    m, delta, tolerance, misspecification
        The question.
    changed
        Which of them differ from the study's own.
    more, more_low, more_high, note
        Measurements to go, as in `StudyProgress`.
    decided_now, answer_now
        Whether the stopping rule, asked this once, is satisfied by the present data, and the m
        candidates that are best by them. Data that contradict the question satisfy nothing.
        Choosing a question after a look at the data may not be covered by its delta:
        docs/planning.md has what is.
    """

    more: int | None
    more_low: int
    more_high: int | None
    note: str
    m: int
    delta: float
    tolerance: float
    misspecification: float
    changed: tuple[str, ...]
    decided_now: bool
    answer_now: tuple[Label, ...]

    @property
    def question(self) -> dict[str, float]:
        """m, delta, tolerance and misspecification."""
        return {name: getattr(self, name) for name in ASKED}


def _least(contradictions: Iterable[Contradicted]) -> float:
    """The least misspecification that is not contradicted; not a number where something else is."""
    found = {one.what: one.least for one in contradictions}
    if found.keys() - {MISSPECIFICATION}:
        return math.nan
    return found.get(MISSPECIFICATION, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """All that a forecast looks at; the study goes on without changing it."""

    settings: Settings
    candidates: Candidates
    data: Measured
    memory: Memory
    events: int
    decision: Decided | None
    rules: tuple[Any, Any] = (None, None)
    engine: Engine | None = None
    costs: Vector | None = None
    # Below it the data contradict all misspecifications; not a number where they do whatever it is.
    least: float = 0.0

    @classmethod
    def of(cls, replay: Replay, contradictions: Iterable[Contradicted]) -> Snapshot:
        """The study as it is now, with what its data contradict of what was declared."""
        state, engine = replay.state, replay.engine
        return cls(
            settings=state.settings,
            candidates=state.candidates,
            data=data_of(engine, state.waiting_arms()),
            memory=engine.memory(),
            events=state.sequence,
            decision=state.decision,
            rules=replay.given,
            engine=None if engine.is_compiled else engine.copy(),
            costs=state.roster.costs,
            least=_least(contradictions),
        )

    def progress(
        self, simulations: int | None = None, each: Callable[[], object] | None = None
    ) -> StudyProgress:
        """How far the study has come; `each` is called after every simulation."""
        count = self.simulations(simulations)
        return self._progress(lambda forward: self._ahead(forward, count, each))

    def simulations(self, wanted: int | None = None) -> int:
        """How many there are; fewer where each takes long, and ranges are wider for it."""
        if wanted is not None:
            return as_count(wanted, "simulations", 1)
        features = self.candidates.features
        many = features is not None and features.size >= MANY_NUMBERS
        return FEW_SIMULATIONS if many else SIMULATIONS

    def standing(self) -> StudyProgress:
        """The same without simulations, so that nothing is said of what is to go."""
        return self._progress(lambda _: (_SKIPPED, _UNKNOWN))

    def _progress(self, ahead: Callable[[Forward], tuple[ToGo, CostToGo]]) -> StudyProgress:
        forward = self._forward(self.settings)
        spent = None if self.costs is None else float(self.costs @ self.data.counts)
        refuted = self.least != 0.0  # what is settled, and what is left, are worth nothing then
        if forward.missing:
            early = _REFUTED if refuted else _too_early(forward.missing)
            return StudyProgress(self.data.samples, *early, spent=spent)
        decided, decision = forward.begin(), self.decision
        best, estimate, verdict = forward.best(), forward.estimate, forward.verdict
        if refuted:
            best_now = self._labels(best)
            return StudyProgress(self.data.samples, *_REFUTED, spent=spent, best_now=best_now)
        if decision is not None:
            verdict = Verdict(True, decision.statistic, decision.threshold, decision.pair)
        settled = decided or decision is not None
        nothing = _UNKNOWN if spent is None else CostToGo(0.0, 0.0, 0.0)
        to_go, costs = (_DONE, nothing) if settled else ahead(forward)
        return StudyProgress(
            self.data.samples,
            *to_go,
            **costs._asdict(),
            spent=spent,
            pair=self._labels(verdict.pair) if verdict and verdict.pair else None,
            statistic=_known(verdict.statistic) if verdict else None,
            threshold=_known(verdict.threshold) if verdict else None,
            lower_bound=self._lower_bound(estimate),
            best_now=self._labels(best),
        )

    def what_if(self, simulations: int | None = None, **changes: float | None) -> WhatIf:
        """What the data mean for another question; None leaves a part of it as it is."""
        count = self.simulations(simulations)
        asked = {name: value for name, value in changes.items() if value is not None}
        was = self.settings
        names = was.algorithm, was.stopping
        rules = (
            name if rule is None else rule for name, rule in zip(names, self.rules, strict=True)
        )
        known = dict(zip(("algorithm", "stopping"), rules, strict=True))
        now = as_settings(self.candidates, **{**was.arguments(), **known, **asked})
        forward = self._forward(now)
        question = {name: getattr(now, name) for name in ASKED}
        changed = tuple(name for name in ASKED if question[name] != getattr(was, name))
        decided, best = False, tuple[Label, ...]()
        to_go = _REFUTED if math.isnan(self.least) else _too_early(forward.missing)
        if not forward.missing and not math.isnan(self.least):
            decided, best = forward.begin(), self._labels(forward.best())
            if self._refutes(now):
                eps = now.misspecification
                words = f"no forecast: the data contradict a misspecification of {eps:g}"
                decided, to_go = False, ToGo(None, 0, None, words)
            else:
                to_go = _DONE if decided else self._ahead(forward, count)[0]
        return WhatIf(*to_go, **question, changed=changed, decided_now=decided, answer_now=best)

    def _refutes(self, now: Settings) -> bool:
        """Whether the data contradict a question, by now or as they did once."""
        if not now.misspecification >= self.least:
            return True
        data = self.data
        return is_refuted(now, self.candidates, data.counts, data.means, data.scatter)

    def what_ifs(self, simulations: int | None = None) -> tuple[WhatIf, ...]:
        """What the data mean for questions that are often asked; impossible ones are left out."""
        count = self.simulations(simulations)
        rows = []
        for changes in self._alternatives():
            # Such as two best arms, for an algorithm that looks for one.
            with suppress(ProblemError):
                rows.append(self.what_if(count, **changes))
        return tuple(rows)

    def _alternatives(self) -> Iterator[Mapping[str, float]]:
        """Changes of the question, each of one part."""
        now, K = self.settings, self.candidates.K
        yield from ({"delta": delta} for delta in DELTAS if delta != now.delta)
        yield from ({"m": m} for m in (now.m - 1, now.m + 1) if 1 <= m < K)
        gap = self._limiting_gap()
        if gap > now.tolerance:
            yield {"tolerance": gap}
        if 0.0 < now.misspecification < math.inf:
            yield from ({"misspecification": now.misspecification * by} for by in (0.5, 2.0))

    def _limiting_gap(self) -> float:
        """How far the pair that is hardest to tell apart is apart, in two digits; 0 if unknown."""
        forward = self._forward(self.settings)
        if forward.missing:
            return 0.0
        forward.begin()
        if forward.verdict is None or forward.verdict.pair is None:
            return 0.0
        challenger, incumbent = forward.verdict.pair
        return float(f"{forward.estimate[incumbent] - forward.estimate[challenger]:.2g}")

    def _forward(self, settings: Settings) -> Forward:
        """The rules for a question; those of the study's own remember what they have learned."""
        own = settings == self.settings
        engine = self.engine if own else None
        if engine is None:
            engine = new_engine(settings, self.candidates, *self.rules)
        return Forward(settings, engine, self.data, self.memory if own else None)

    def _ahead(
        self, forward: Forward, count: int, each: Callable[[], object] | None = None
    ) -> tuple[ToGo, CostToGo]:
        horizon = HORIZON * self.data.samples
        runs: list[float] = []
        bills: list[float] = []
        # When most are beyond the horizon, the estimate is, and so is the range's upper end.
        while len(runs) < count and 2 * runs.count(math.inf) <= count:
            key = _STREAM, self.events, len(runs)
            rng = default_rng(SeedSequence(self.settings.seed, spawn_key=key))
            runs.append(forward.run(rng, horizon))
            if self.costs is not None:
                bills.append(math.inf if math.isinf(runs[-1]) else forward.spent(self.costs))
            if each is not None:
                each()
        return summed_up(runs, count, horizon), _priced(bills, count)

    def _lower_bound(self, estimate: Vector) -> float | None:
        from mislid.geometry.time import characteristic_time

        now, model = self.settings, self.candidates.model(self.settings.misspecification)
        if now.delta >= 0.5:
            return 0.0
        noise = likely_deviations(now, self.data)
        try:
            time = characteristic_time(
                model, estimate, now.m, noise=noise, tolerance=now.tolerance, rtol=RTOL
            )
        except CertificateError:
            return None
        return time.samples(now.delta)

    def _labels(self, arms: tuple[int, ...]) -> tuple[Label, ...]:
        return tuple(self.candidates.labels[arm] for arm in arms)


def summed_up(runs: Sequence[float], count: int, horizon: int) -> ToGo:
    """Estimate and range by as many as `count` runs; those beyond the horizon are infinite.

    The k-th smallest and the k-th largest of n runs have one more run between them with probability
    1 - 2 k / (n + 1), whatever the distribution. Less than nine runs have no rank in the tails.

    >>> summed_up(range(1, 20), 19, 100)
    ToGo(more=10, more_low=2, more_high=18, note='')
    >>> summed_up([7, 5, 6], 3, 100)
    ToGo(more=6, more_low=5, more_high=7, note='')
    """
    low, middle, high = _ranks(runs, count)
    note = ""
    if math.isinf(high):
        beyond = sum(math.isinf(run) for run in runs)
        note = f"{beyond} of {len(runs)} simulations went on for more than {horizon} measurements"
    return ToGo(_whole(middle), horizon if math.isinf(low) else int(low), _whole(high), note)


def _ranks(runs: Sequence[float], count: int) -> tuple[float, float, float]:
    """Lower end, middle and upper end of the range of as many as `count` runs."""
    ordered, most = sorted(runs), 2 * sum(math.isinf(run) for run in runs) > count
    tail = max((len(ordered) + 1) // TAIL, 1) - 1
    high = math.inf if most else ordered[-1 - tail]
    middle = math.inf if most else ordered[(len(ordered) - 1) // 2]
    return ordered[tail], middle, high


def _priced(bills: Sequence[float], count: int) -> CostToGo:
    """What as many as `count` runs cost; those beyond the horizon are infinite."""
    if not bills:
        return _UNKNOWN
    low, middle, high = (None if math.isinf(bill) else bill for bill in _ranks(bills, count))
    return CostToGo(middle, low, high)


def _too_early(missing: int) -> ToGo:
    arms = "1 candidate" if missing == 1 else f"{missing} candidates"
    return ToGo(None, missing, None, f"too early: {arms} of the first design not measured yet")


def _known(number: float) -> float | None:
    """A rule that is written in Python may have no evidence to show."""
    return None if math.isnan(number) else number


def _whole(number: float) -> int | None:
    return None if math.isinf(number) else int(number)
