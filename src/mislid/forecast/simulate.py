"""Forecasts by simulation: the number of further measurements, for this question and others.

Each run simulates the rest of the study with its rules. It draws means around the empirical ones,
according to their standard errors, and projects them onto the model. Then the sampling rule chooses
arms, measurements are drawn, and the stopping rule is tested. The forecast is the median of the
runs. Its range excludes a tenth of the probability on each side, by ranks.
Random numbers derive from the study's seed and the length of its log: the same study at the same
event gives the same forecast in any process.

Simulating every measurement would take too long, so each proposed arm is measured several times at
once. The number of repeats is a small share of the arm's measurements and of the run's, so that the
number of rounds grows logarithmically. The first measurements of a run are drawn one by one. After
many rounds the steps become larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from mislid._formatting import roughly
from mislid._validation import Vector, as_count
from mislid.engine import Engine, Verdict
from mislid.forecast.evidence import residuals
from mislid.study.results import Label, PlainRecord
from mislid.study.rules import new_engine
from mislid.study.settings import BERNOULLI, EQUAL, KNOWN, Settings, as_settings
from mislid.study.state import MISSPECIFICATION

if TYPE_CHECKING:
    from mislid.forecast.overview import Overview

# The range leaves out one in this many runs on each side.
TAIL = 10
# With this many runs, the range is from the second smallest to the second largest.
SIMULATIONS = 2 * TAIL - 1
ASKED = ("m", "delta", "tolerance", "misspecification")
# A run is abandoned once it is this many times as long as the study.
HORIZON = 100
# Repeats of a proposal: at most these shares of the arm's measurements, and of the run's. The
# number of rounds grows with the number of arms, so the first share does too, up to 1 for MANY_ARMS
# arms.
ARM_SHARE, RUN_SHARE, MANY_ARMS = 0.2, 0.05, 100
# After MANY_ROUNDS rounds, a proposal is repeated for at least this share of all measurements.
MANY_ROUNDS, LEAST_SHARE = 300, 0.05
# Weight of the pooled variance in an arm's estimated variance, as a number of values.
FEW = 3.0
# Positions in the stream of random numbers for decisions are below this.
_POSITIONS = 1 << 62
# Index of the random stream of forecasts; rewards of simulations use 0, decisions 1.
_STREAM = 2

# Further measurements: the estimate, both ends of its range, and a note if there is none.
ToGo = tuple[int | None, int, int | None, str]
ENOUGH: ToGo = 0, 0, 0, ""
SKIPPED = "no forecast: it was not asked for"
NO_RULES = (
    "no forecast: the study's rules are written in Python and were not given, or of a package that "
    "is not installed"
)
REFUTED = "no forecast: the data contradict what was declared"


@dataclass(frozen=True, slots=True)
class Forecast(PlainRecord):
    """Estimated number of further measurements until the decision.

    Attributes
    ----------
    more, more_low, more_high
        The median of the simulated runs, and a prediction range that contains another run with
        probability 4/5; 0 once decided. `more` and `more_high` are None if it is too early for a
        forecast, if they exceed the simulated horizon, or if the data contradict the question.
    note
        Why they are None.
    """

    more: int | None
    more_low: int
    more_high: int | None
    note: str

    @property
    def statement(self) -> str:
        """The number of further measurements, as a phrase.

        >>> Forecast(40, 20, 90, "").statement
        'about 40 more measurements (20 to 90)'
        >>> Forecast(None, 20, None, "too far").statement
        'at least 20 more measurements (too far)'
        >>> Forecast(None, 0, None, "no forecast").statement
        'no forecast'
        """
        low, high = self.more_low, self.more_high
        if self.more == 0:
            return "enough by now"
        if self.more is None and low == 0:
            return self.note
        if self.more is None:
            note = f" ({self.note})" if self.note else ""
            return f"at least {roughly(low)} more measurements{note}"
        span = f"at least {roughly(low)}" if high is None else f"{roughly(low)} to {roughly(high)}"
        return f"about {roughly(self.more)} more measurement{'s' * (self.more > 1)} ({span})"


@dataclass(frozen=True, slots=True)
class StudyProgress(Forecast):
    """Progress of a study, with a forecast.

    Attributes
    ----------
    more, more_low, more_high, note
        As in `Forecast`.
    best_now
        The m candidates with the best estimates, best first.
    pair
        The labels (challenger, incumbent) of the pair with the least evidence; None before there
        are estimates.
    statistic, threshold
        The evidence for that pair and the required amount; once decided, those of the decision.
        None if the rule reports none.
    spent
        The cost of the measurements so far; None in a study without costs.
    """

    best_now: tuple[Label, ...] = ()
    pair: tuple[Label, ...] | None = None
    statistic: float | None = None
    threshold: float | None = None
    spent: float | None = None


@dataclass(frozen=True, slots=True)
class WhatIf(Forecast):
    """A forecast for another question with the same data.

    Attributes
    ----------
    more, more_low, more_high, note
        As in `Forecast`.
    m, delta, tolerance, misspecification
        The question.
    changed
        Which of them differ from the study's settings.
    decided_now, answer_now
        Whether the current data, tested once, satisfy the stopping rule, and the m candidates with
        the best estimates. Data that contradict the question never satisfy it. Its delta may not
        cover a question that was chosen after seeing the data: see docs/planning.md.
    """

    m: int
    delta: float
    tolerance: float
    misspecification: float
    changed: tuple[str, ...]
    decided_now: bool
    answer_now: tuple[Label, ...]


def progress(overview: Overview, simulations: int | None = None) -> StudyProgress:
    """Progress of a study; without a forecast if `simulations` is 0."""
    if simulations is not None:
        simulations = as_count(simulations, "simulations", 0)
    costs, best = overview.roster.costs, overview.names(overview.best_now)
    spent = None if costs is None else float(costs @ overview.counts)
    note = REFUTED if overview.refuted else "" if overview.has_rules else NO_RULES
    if note:
        return StudyProgress(None, 0, None, note, best, spent=spent)
    decision, verdict = overview.decision, None
    if decision is not None:
        more = ENOUGH
        verdict = Verdict(True, decision.statistic, decision.threshold, decision.pair)
    else:
        forward = Forward(overview, overview.settings)
        more, verdict = _to_go(overview, forward, simulations), forward.verdict
    return StudyProgress(
        *more,
        best_now=best,
        pair=overview.names(verdict.pair) if verdict and verdict.pair else None,
        statistic=_known(verdict.statistic) if verdict else None,
        threshold=_known(verdict.threshold) if verdict else None,
        spent=spent,
    )


def _known(number: float) -> float | None:
    """The number, or None for nan: a rule written in Python may report no evidence."""
    return None if math.isnan(number) else number


def what_if(overview: Overview, simulations: int | None = None, **changes: float | None) -> WhatIf:
    """A forecast for another question; None keeps the study's value."""
    if simulations is not None:
        simulations = as_count(simulations, "simulations", 1)
    was, (algorithm, stopping) = overview.settings, overview.rules
    rules = {"algorithm": algorithm or was.algorithm, "stopping": stopping or was.stopping}
    asked = {name: value for name, value in changes.items() if value is not None}
    now = as_settings(overview.candidates, **{**was.arguments(), **rules, **asked})
    question = {name: getattr(now, name) for name in ASKED}
    forward = Forward(overview, now)
    refuted = not forward.missing and _is_refuted(overview, now)
    more = (None, 0, None, REFUTED) if refuted else _to_go(overview, forward, simulations)
    return WhatIf(
        *more,
        **question,
        changed=tuple(name for name in ASKED if question[name] != getattr(was, name)),
        decided_now=forward.decided and not refuted,
        answer_now=overview.names(forward.best),
    )


def _is_refuted(overview: Overview, now: Settings) -> bool:
    """Whether the data contradict a question, now or at an earlier look."""
    known = {one.what: one.least for one in overview.refuted}
    eps = now.misspecification
    if known.keys() - {MISSPECIFICATION} or eps < known.get(MISSPECIFICATION, 0.0):
        return True
    testable = now.is_structured and math.isfinite(eps) and overview.samples > 0
    return testable and residuals(overview).contradict(eps, now.delta)


def _to_go(overview: Overview, forward: Forward, simulations: int | None) -> ToGo:
    """Median, range and note for the number of further measurements.

    Another run is between the k-th smallest and the k-th largest of n runs with probability
    1 - 2 k / (n + 1), for any distribution. With fewer than nine runs, the range covers less.
    """
    if missing := forward.missing:
        arms = "1 candidate" if missing == 1 else f"{missing} candidates"
        return None, missing, None, f"too early: {arms} of the first design not measured yet"
    if forward.decided:
        return ENOUGH
    if simulations == 0:
        return None, 0, None, SKIPPED
    horizon, count, runs = HORIZON * overview.samples, simulations or SIMULATIONS, list[float]()
    # If most runs exceed the horizon, so do the median and the upper end of the range.
    while len(runs) < count and 2 * runs.count(math.inf) <= count:
        key = _STREAM, overview.events, len(runs)
        rng = default_rng(SeedSequence(overview.settings.seed, spawn_key=key))
        runs.append(forward.run(rng, horizon))
    ordered, beyond = sorted(runs), runs.count(math.inf)
    tail = max((len(runs) + 1) // TAIL, 1) - 1
    middle = ordered[(len(runs) - 1) // 2] if 2 * beyond <= len(runs) else math.inf
    low, high = ordered[tail], ordered[-1 - tail] if middle < math.inf else math.inf
    note = ""
    if math.isinf(high):
        note = f"{beyond} of {len(runs)} simulations went on for more than {horizon} measurements"
    more, most = (None if math.isinf(value) else int(value) for value in (middle, high))
    return more, horizon if math.isinf(low) else int(low), most, note


def likely_deviations(settings: Settings, engine: Engine) -> Vector:
    """Standard deviations (K,): declared or, if unknown, estimated.

    The estimate of an arm with few values shrinks towards the pooled one.
    """
    counts, scatter = engine.counts.astype(np.float64), engine.scatter
    if settings.noise_model == KNOWN:
        return settings.deviations(counts.size)
    if settings.noise_model == BERNOULLI:
        rates = (engine.sums + 0.5) / (counts + 1.0)
        return np.asarray(np.sqrt(rates * (1.0 - rates)), np.float64)
    freedom = np.maximum(counts - 1.0, 0.0)
    together = float(scatter.sum()) / max(float(freedom.sum()), 1.0)
    if together <= 0.0:
        together = float(settings.deviations(1)[0]) ** 2
    if settings.noise_model == EQUAL:
        return np.full(counts.size, math.sqrt(together))
    return np.asarray(np.sqrt((scatter + FEW * together) / (freedom + FEW)), np.float64)


class Forward:
    """Simulator of the rest of a study, for one question.

    For the study's question, the rules keep the state that they have reached. For another question,
    they start as in a new study to which the data were added.

    Attributes
    ----------
    missing
        Number of arms of the first design without a measurement. `begin` needs it to be 0.
    decided, verdict, best
        Whether the data decide, the result of the stopping rule's test, and the m arms with the
        best estimates.
    """

    def __init__(self, overview: Overview, settings: Settings) -> None:
        data = overview.engine
        if overview.has_rules and settings == overview.settings:
            self._first = data.copy()
        else:
            self._first = new_engine(settings, overview.candidates, *overview.rules)
        self._memory = self._first.copy()
        self._engine, self._settings, self._waiting = self._first, settings, overview.waiting
        self._counts, self._sums = overview.counts, data.sums
        self._means, self._scatter = data.means, data.scatter
        self._noise = likely_deviations(settings, data)
        self._range = self._first.question.reward_range
        self.missing = int(np.sum(self._counts[self._first.design] == 0.0))
        self.decided = self.missing == 0 and self.begin()
        self.verdict = self._engine.verdict if self._engine.tests and not self.missing else None
        self.best = () if self.missing else self._engine.incumbents

    def begin(self) -> bool:
        """Reset the rules to the study's data, and return whether these decide."""
        if not self._first.is_compiled:  # rules that are objects may keep state
            self._engine = self._first.copy()
        self._engine.reset(self._counts, self._sums, self._memory, scatter=self._scatter)
        return self._engine.judge().decided

    def run(self, rng: Generator, horizon: int) -> float:
        """Number of measurements until a decision in one run; infinite above `horizon`.

        It ends in the middle of the last repeats, because any of them may have been enough.
        """
        means, rounds, repeats = self._possible_means(rng), 0, 1
        root: Any = rng.bit_generator.seed_seq

        @cache
        def noise(arm: int) -> Generator:
            """The generator of an arm: one per arm makes runs comparable between questions."""
            return default_rng(SeedSequence(root.entropy, spawn_key=(*root.spawn_key, arm)))

        if self.begin():
            return 0
        engine, counts, samples = self._engine, self._counts.copy(), int(self._counts.sum())
        for arm in self._waiting:
            self._measure(arm, 1, means[arm], noise(arm))
            counts[arm] += 1
        while engine.is_midround or not engine.judge().decided:
            done = engine.samples - samples
            if done > horizon:
                return math.inf
            arm = engine.propose(int(rng.integers(_POSITIONS)))
            repeats = self._repeats(counts[arm], done, rounds)
            self._measure(arm, repeats, means[arm], noise(arm))
            counts[arm] += repeats
            rounds += 1
        return engine.samples - samples - (repeats - 1) // 2

    def _repeats(self, count: float, done: int, rounds: int) -> int:
        """Number of repeats for a proposed arm that has been measured `count` times."""
        arm_share = min(1.0, max(ARM_SHARE, self._counts.size / MANY_ARMS))
        least = LEAST_SHARE * self._engine.samples if rounds > MANY_ROUNDS else 1.0
        return max(1, int(least), int(min(arm_share * count, RUN_SHARE * done)))

    def _possible_means(self, rng: Generator) -> Vector:
        """Means (K,) of the model, drawn around the empirical means by their standard errors."""
        error = self._noise / np.sqrt(np.maximum(self._counts, 1.0))
        drawn = self._means + error * rng.standard_normal(self._counts.size)
        if self._range is not None:
            drawn = np.clip(drawn, *self._range)
        sums = drawn * self._counts
        if self._settings.noise_model == BERNOULLI:
            sums = np.round(sums)
        self._engine.reset(self._counts, sums, self._memory, scatter=self._scatter)
        self._engine.judge(test=False)
        return self._engine.estimate

    def _measure(self, arm: int, times: int, mean: float, rng: Generator) -> None:
        """Draw several measurements of an arm, and pass their sum and scatter to the rules."""
        noise_model, spread = self._settings.noise_model, self._noise[arm]
        if noise_model == KNOWN:
            noise = spread * math.sqrt(times) * rng.standard_normal()
            self._engine.observe(arm, times * mean + noise, times)
        elif noise_model == BERNOULLI:
            successes = rng.binomial(times, min(max(mean, 0.0), 1.0))
            self._engine.observe(arm, float(successes), times)
        else:
            values = mean + spread * rng.standard_normal(times)
            if self._range is not None:
                values = np.clip(values, *self._range)
            apart = float(np.sum((values - values.mean()) ** 2)) if times > 1 else 0.0
            self._engine.observe(arm, float(values.sum()), times, apart)
