"""Evidence of every pair of a candidate outside the answer and one inside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mislid.verification.families import (
    DIAGONAL,
    LINEAR,
    TWO_ARMS,
    Family,
    Moment,
    by_two_arms,
    families_of,
)
from mislid.verification.geometry import Model, Pair, Witness, rounding
from mislid.verification.intervals import Interval, exactly, log, stack
from mislid.verification.noise import EQUAL as SHARED
from mislid.verification.noise import UNKNOWN
from mislid.verification.question import Candidates, Data, Settings, read_moment
from mislid.verification.reading import EQUAL, Failure, Label, Value, Vector, refuse_difference

# Evidence below the level by less is accepted: errors grow by a factor exp(ENOUGH).
ENOUGH = 1e-6
# Operations, and pairs that are proved by their own values, that take about a minute.
MOST_WORK, MOST_PAIRS = 2e10, 10_000
# What bounds may be apart, relatively, for evidence that is stated to be checked at all.
NEAR = 1e-3
# Evidence beyond this is of features that are nearly equal, and asked for with fewer digits.
AMPLE = 1e6


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of which candidates, and the possible means."""

    candidates: Candidates
    settings: Settings
    model: Model

    @property
    def level(self) -> Interval:
        """What the evidence of every pair has to reach."""
        return -log(self.settings.delta)

    @cached_property
    def families(self) -> dict[str, Family]:
        """The displacements, by the name of their family."""
        settings = self.settings
        noise = exactly(settings.noise)
        return families_of(self.candidates.K, settings.m, settings.structured, noise)

    def is_impossible(self, pair: Pair) -> bool:
        """Whether no model reverses the pair: equal features are at most 2 eps apart."""
        features = self.candidates.features
        if features is None or not self.settings.tol > 2.0 * self.settings.eps:
            return False
        return bool(np.all(features[pair[0]] == features[pair[1]]))


@dataclass(frozen=True, eq=False)
class Decision:
    """The answer, and what the file says of the pair that has least evidence."""

    answer: tuple[Label, ...]
    arms: list[int]
    pair: Value
    evidence: Value
    proven: Value


def read_times(given: Value, question: Question, last: Data) -> dict[int, Data]:
    """The data by their number of measurements: earlier times, in order, and the decision's.

    From one to the next nothing is lost: counts do not fall, and where a count has not changed
    neither has the sum.
    """
    entries = given.entries()
    _refuse_work(question, len(entries))
    data = [read_moment(entry, question.candidates, question.settings) for entry in entries]
    for entry, (before, after) in zip(entries, pairwise([*data, last]), strict=True):
        if not before.samples < after.samples:
            raise Failure(f"{entry.name}.samples must be fewer than those of the next time")
        refuse_loss(before, after, entry.name, question.settings)
    return {one.samples: one for one in (*data, last)}


def _refuse_work(question: Question, times: int) -> None:
    """Refuse what would take minutes: products of matrices for every time, and for every pair."""
    K, d, m = question.candidates.K, question.model.spanner.size, question.settings.m
    work = K * d * (d * (times + 1) + m * (K - m))
    if work > MOST_WORK:
        raise Failure(f"times must be fewer, or pairs: {work:.2g} operations, over {MOST_WORK:.2g}")
    if question.settings.noise_model.has_own_evidence and m * (K - m) > MOST_PAIRS:
        raise Failure(f"pairs must be at most {MOST_PAIRS} where the noise is not known")


def refuse_too_calm(before: Data, after: Data, grown: Vector, name: str) -> None:
    """Refuse squared deviations that have `grown` (K,) by less than a mean that moved asks for."""
    new = after.counts - before.counts
    both = (before.counts > 0.0) & (new > 0.0)
    counts = np.where(both, new, 1.0)
    moved = np.where(both, (after.sums - before.sums) / counts - before.means, 0.0)
    least = before.counts * new / np.maximum(after.counts, 1.0) * moved**2
    # Of the arm's own values: means have some fifteen digits.
    digits = 1e-14 * (np.abs(before.means) + np.abs(after.means))
    lost = EQUAL * least + before.counts * digits * (2.0 * np.abs(moved) + digits)
    if np.any(grown < least - lost):
        k = int(np.argmax(least - lost - grown))
        raise Failure(f"{name}[{k}] must be larger: the mean has moved")


def refuse_loss(before: Data, after: Data, name: str, settings: Settings) -> None:
    """Refuse data of which something is missing later, or to which something impossible came."""
    if np.any(before.counts > after.counts):
        k = int(np.argmax(before.counts > after.counts))
        raise Failure(f"{name}.counts[{k}] must be at most that of the next time")
    changed = (before.counts == after.counts) & (before.sums != after.sums)
    if np.any(changed):
        k = int(np.argmax(changed))
        raise Failure(f"{name}.sums[{k}] must be that of the next time, as the count is")
    counts, sums = after.counts - before.counts, after.sums - before.sums
    settings.noise_model.refuse_later(name, counts, sums, after.scatter - before.scatter)
    ends = (before.counts, before.sums), (after.counts, after.sums)
    settings.noise_model.refuse_calm("scatter after " + name, *ends, after.scatter - before.scatter)
    if settings.noise_model.name in (UNKNOWN, SHARED):
        refuse_too_calm(before, after, after.scatter - before.scatter, "scatter after " + name)


def read_decision(given: Value, question: Question) -> Decision:
    """The answer has m candidates; rule and level are those of the settings."""
    parts = given.parts("answer", "rule", "proven", "pair", "evidence", "level")
    index, m = question.candidates.index, question.settings.m
    answer = tuple(entry.label(index) for entry in parts["answer"].entries(m))
    if len(set(answer)) < m:
        raise parts["answer"].fail(f"{m} different candidates")
    parts["rule"].text(question.settings.stopping)
    level = float(question.level.middle)
    refuse_difference(parts["level"], parts["level"].number(), level, 1e-14)
    arms = [index[label] for label in answer]
    return Decision(answer, arms, parts["pair"], parts["evidence"], parts["proven"])


def read_pair(
    challenger: Value, incumbent: Value, candidates: Candidates, answer: list[int]
) -> Pair:
    """A candidate outside the answer, and one inside."""
    i = candidates.index[challenger.label(candidates.index)]
    j = candidates.index[incumbent.label(candidates.index)]
    if i in answer:
        raise challenger.fail("a candidate outside the answer")
    if j not in answer:
        raise incumbent.fail("a candidate of the answer")
    return i, j


def check_evidence(
    given: Value, question: Question, times: dict[int, Data], decision: Decision
) -> None:
    """Every pair is there once, with evidence that is enough at one of the times."""
    checker = _Checker(question, times)
    entries = [checker.read(entry, decision.arms) for entry in given.entries()]
    stated = {one.pair: one.stated for one in entries}
    if len(stated) < len(entries):
        raise Failure("evidence must have every pair once; one comes again")
    m = question.settings.m
    missing = m * (question.candidates.K - m) - len(stated)
    if missing:
        raise Failure(f"evidence must cover every pair of the answer; {missing} are missing")
    needed = float(question.level.high) - ENOUGH
    for (family, samples), some in _grouped(entries).items():
        found = checker.evidence(family, samples, some)
        for one, low, high in zip(some, found.low.tolist(), found.high.tolist(), strict=True):
            checker.refuse_other(one, low, high)
            if not low >= needed:
                raise Failure(f"{one.name} must reach the level {needed!r}; only {low!r} is proved")
    idle = sorted(set(times) - {one.samples for one in entries} - {max(times)})
    if idle:
        raise Failure(f"times must be those of some pair; none was settled at {idle[0]}")
    _check_limiting(decision, question, stated)


@dataclass(frozen=True, eq=False)
class _Entry:
    """What the file says of a pair."""

    name: str
    pair: Pair
    family: str
    samples: int
    stated: float
    scale: int
    witness: Witness | None


def _grouped(entries: list[_Entry]) -> dict[tuple[str, int], list[_Entry]]:
    found: dict[tuple[str, int], list[_Entry]] = {}
    for one in entries:
        found.setdefault((one.family, one.samples), []).append(one)
    return found


class _Checker:
    """Derives the evidence of pairs again."""

    def __init__(self, question: Question, times: dict[int, Data]) -> None:
        self.question, self.times = question, times
        self._moments = {
            samples: Moment(question.model, data.exact, data.weights, data.lost)
            for samples, data in times.items()
        }

    def read(self, entry: Value, answer: list[int]) -> _Entry:
        """A pair, and by what it was settled when."""
        names = ["challenger", "incumbent", "family", "samples", "evidence"]
        if isinstance(entry.given, Mapping) and entry.given.get("family") == DIAGONAL:
            names += ["scale", "values", "alpha"]
        parts, settings = entry.parts(*names), self.question.settings
        pair = read_pair(parts["challenger"], parts["incumbent"], self.question.candidates, answer)
        family = parts["family"].text(*self.question.families)
        if family != TWO_ARMS and math.isinf(settings.eps):
            raise parts["family"].fail("two arms where the misspecification is infinite")
        samples = parts["samples"].whole(1)
        if samples not in self.times:
            raise parts["samples"].fail("that of the decision or of one of the times")
        stated = parts["evidence"].number(infinite=True)
        scale, witness = 0, None
        if family == DIAGONAL:
            scale = parts["scale"].whole(0, self.question.families[family].logs.low.size - 1)
            values = settings.sign * parts["values"].vector(self.question.model.spanner.size)
            witness = Witness(values, parts["alpha"].number(0.0))
        return _Entry(entry.name, pair, family, samples, stated, scale, witness)

    def evidence(self, family: str, samples: int, entries: list[_Entry]) -> Interval:
        """What proves pairs (n,) of one family at one time."""
        question, moment, data = self.question, self._moments[samples], self.times[samples]
        displaced, tol = question.families[family], question.settings.tol
        pairs, model = [one.pair for one in entries], question.settings.noise_model
        if family == TWO_ARMS and model.has_own_evidence:
            return model.by_two_arms(data, pairs, tol) + displaced.total
        cells = None
        if model.is_equal:
            d = question.model.spanner.size
            cells = data.cells(displaced.scales, d if family == LINEAR else data.counts.size)
        if family == TWO_ARMS:
            i, j = np.array(pairs).T
            gaps = stack([data.gap(pair, tol) for pair in pairs])
            return by_two_arms(displaced, gaps, moment.weights[i], moment.weights[j], cells)
        if family == LINEAR:
            impossible = np.array([question.is_impossible(pair) for pair in pairs])
            if np.all(impossible):
                return exactly(np.full(len(pairs), math.inf))
            return moment.by_features(displaced, pairs, tol, cells).where(~impossible, math.inf)
        return stack([
            moment.by_all_arms(displaced, one.scale, one.witness, one.pair, tol, cells)
            for one in entries
            if one.witness is not None
        ])  # fmt: skip

    def refuse_other(self, one: _Entry, low: float, high: float) -> None:
        """Refuse evidence that is stated other than derived again, beyond rounding."""
        if one.stated == low == math.inf:
            return
        data, settings = self.times[one.samples], self.question.settings
        size = abs(low)
        off = min(high - low, NEAR * (1.0 + size)) + EQUAL * size * max(1.0, size / AMPLE)
        model, weights = settings.noise_model, data.weights.high
        if model.is_equal:
            weights = weights * data.precision
        if model.is_equal or (one.family == TWO_ARMS and model.has_own_evidence):
            off += model.rounding(float(np.max(data.counts)))
        if one.family != TWO_ARMS or not model.has_own_evidence:
            off += rounding(settings.eps, weights, data.means, size)
        alike = settings.noise_model.name == UNKNOWN and np.any(data.scatter[[*one.pair]] == 0.0)
        # Without any scatter the evidence jumps where a mean is met; stating less does no harm.
        if not (alike or low - off <= one.stated) or not one.stated <= high + off:
            raise Failure(f"{one.name}.evidence must be {low!r}; got {one.stated!r}")


def _check_limiting(decision: Decision, question: Question, found: dict[Pair, float]) -> None:
    """The pair that the decision names has the least evidence."""
    challenger, incumbent = decision.pair.entries(2)
    pair = read_pair(challenger, incumbent, question.candidates, decision.arms)
    if found[pair] > min(found.values()):
        raise decision.pair.fail("the pair with the least evidence")
    refuse_difference(decision.evidence, decision.evidence.number(infinite=True), found[pair], 0.0)
