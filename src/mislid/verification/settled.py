"""Whether every pair of the answer was settled, at some time: versions 2 and 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mislid.verification.equal import Cells, cells_of
from mislid.verification.evidence import read_pair
from mislid.verification.families import (
    DIAGONAL,
    LINEAR,
    TWO_ARMS,
    Family,
    Moment,
    by_two_arms,
    families_of,
)
from mislid.verification.geometry import Model, Pair, Witness
from mislid.verification.noise import BOUNDED
from mislid.verification.question import Candidates, Data, Settings, read_moment
from mislid.verification.reading import EQUAL, Failure, Label, Value, Vector, refuse_difference

# Evidence below the level by less is accepted: errors grow by a factor exp(ENOUGH).
ENOUGH = 1e-6
# Evidence beyond this is of features that are nearly equal, and asked for with fewer digits.
AMPLE = 1e6


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of which candidates, and the possible means."""

    candidates: Candidates
    settings: Settings
    model: Model

    @property
    def level(self) -> float:
        """What the evidence of every pair has to reach."""
        return -math.log(self.settings.delta)

    @cached_property
    def families(self) -> dict[str, Family]:
        """The displacements, by the name of their family."""
        settings = self.settings
        return families_of(self.candidates.K, settings.m, settings.structured, settings.noise)

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
    data = [read_moment(entry, question.candidates, question.settings) for entry in entries]
    for entry, (before, after) in zip(entries, pairwise([*data, last]), strict=True):
        if not before.samples < after.samples:
            raise Failure(f"{entry.name}.samples must be fewer than those of the next time")
        refuse_loss(before, after, entry.name, question.settings)
    return {one.samples: one for one in (*data, last)}


def refuse_too_calm(before: Data, after: Data, grown: Vector, name: str) -> None:
    """Refuse squared deviations that have `grown` (K,) by less than a mean that moved asks for."""
    new = after.counts - before.counts
    both = (before.counts > 0.0) & (new > 0.0)
    counts = np.where(both, new, 1.0)
    moved = np.where(both, (after.sums - before.sums) / counts - before.means, 0.0)
    least = before.counts * new / np.maximum(after.counts, 1.0) * moved**2
    rounding = EQUAL * (least + after.counts * np.max(np.abs(after.means)) ** 2)
    if np.any(grown < least - rounding):
        k = int(np.argmax(least - rounding - grown))
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
    if settings.noise_model.has_scatter and settings.noise_model.name != BOUNDED:
        refuse_too_calm(before, after, after.scatter - before.scatter, "scatter after " + name)


def read_decision(given: Value, question: Question) -> Decision:
    """The answer has m candidates; rule and level are those of the settings."""
    parts = given.parts("answer", "rule", "proven", "pair", "evidence", "level")
    index, m = question.candidates.index, question.settings.m
    answer = tuple(entry.label(index) for entry in parts["answer"].entries(m))
    if len(set(answer)) < m:
        raise parts["answer"].fail(f"{m} different candidates")
    parts["rule"].text(question.settings.stopping)
    refuse_difference(parts["level"], parts["level"].number(), question.level, 1e-14)
    arms = [index[label] for label in answer]
    return Decision(answer, arms, parts["pair"], parts["evidence"], parts["proven"])


def check_evidence(
    given: Value, question: Question, times: dict[int, Data], decision: Decision
) -> None:
    """Every pair is there once, with evidence that is enough at one of the times."""
    checker = _Checker(question, times)
    found: dict[Pair, float] = {}
    for entry in given.entries():
        pair, stated, evidence = checker.read(entry, decision.arms)
        if pair in found:
            raise Failure(f"{entry.name} must be of a pair that did not come before")
        if not evidence >= question.level - ENOUGH:
            raise Failure(
                f"{entry.name} must reach the level {question.level!r}; only {evidence!r} is proved"
            )
        found[pair] = stated
    m = question.settings.m
    missing = m * (question.candidates.K - m) - len(found)
    if missing:
        raise Failure(f"evidence must cover every pair of the answer; {missing} are missing")
    idle = sorted(set(times) - checker.used - {max(times)})
    if idle:
        raise Failure(f"times must be those of some pair; none was settled at {idle[0]}")
    _check_limiting(decision, question, found)


class _Checker:
    """Derives the evidence of pairs again."""

    def __init__(self, question: Question, times: dict[int, Data]) -> None:
        self.question, self.times = question, times
        self.used: set[int] = set()
        self._known_cells: dict[tuple[int, str], Cells] = {}
        self._other_moments: dict[tuple[int, float], Moment] = {}
        self._moments = {
            samples: Moment(question.model, data.means, data.weights)
            for samples, data in times.items()
        }

    def read(self, entry: Value, answer: list[int]) -> tuple[Pair, float, float]:
        """A pair and its evidence, as stated and as derived again; they must agree."""
        names = ["challenger", "incumbent", "family", "samples", "evidence"]
        if isinstance(entry.given, Mapping) and entry.given.get("family") == DIAGONAL:
            names += ["scale", "values", "alpha"]
        parts = entry.parts(*names)
        pair = read_pair(parts["challenger"], parts["incumbent"], self.question.candidates, answer)
        family = parts["family"].text(*self.question.families)
        samples = parts["samples"].whole(1)
        if samples not in self.times:
            raise parts["samples"].fail("that of the decision or of one of the times")
        self.used.add(samples)
        evidence, rounding = self._evidence(parts, family, samples, pair)
        stated = parts["evidence"].number(infinite=True)
        equal = EQUAL * max(1.0, evidence / AMPLE)
        refuse_difference(parts["evidence"], stated, evidence, equal, rounding)
        return pair, stated, evidence

    def _evidence(
        self, parts: dict[str, Value], family: str, samples: int, pair: Pair
    ) -> tuple[float, float]:
        """What proves a pair, and by how much rounding may change that."""
        settings = self.question.settings
        if family == TWO_ARMS and settings.noise_model.has_own_evidence:
            data, share = self.times[samples], self.question.families[family].total
            given = data.counts, data.sums, data.scatter
            found, rounding = settings.noise_model.evidence(*given, pair, settings.tol)
            return found + share, rounding
        if settings.noise_model.is_equal:
            found = self._for_every_noise(parts, family, samples, pair)
        else:
            found = self._displaced(parts, family, self._moments[samples], pair)
        finite = math.isfinite(found)
        return found, self._moments[samples].rounding(abs(found)) if finite else 0.0

    def _for_every_noise(
        self, parts: dict[str, Value], family: str, samples: int, pair: Pair
    ) -> float:
        """The least evidence over all standard deviations that arms may share."""
        question, data, (i, j) = self.question, self.times[samples], pair
        if family == TWO_ARMS and not data.means[j] - data.means[i] + question.settings.tol > 0.0:
            return -math.inf
        cells = self._cells(samples, family)

        def at(precision: float, logs: Vector) -> float:
            unit, base = math.sqrt(precision), question.families[family]
            moment = self._scaled(samples, unit)
            return self._displaced(parts, family, moment, pair, Family(base.scales, logs), unit)

        return cells.least(at)

    def _cells(self, samples: int, family: str) -> Cells:
        """What values say of the noise, for the displacements of one family."""
        if (samples, family) not in self._known_cells:
            data, question = self.times[samples], self.question
            dimension = question.model.X.shape[1] if family == LINEAR else data.counts.size
            given = data.counts, data.means, data.scatter, question.families[family]
            self._known_cells[samples, family] = cells_of(*given, dimension)
        return self._known_cells[samples, family]

    def _scaled(self, samples: int, unit: float) -> Moment:
        """The data in other units, as many times larger."""
        if (samples, unit) not in self._other_moments:
            data, model = self.times[samples], self.question.model
            other = Model(model.X, unit * model.eps)
            self._other_moments[samples, unit] = Moment(other, unit * data.means, data.weights)
        return self._other_moments[samples, unit]

    def _displaced(
        self,
        parts: dict[str, Value],
        family: str,
        moment: Moment,
        pair: Pair,
        displaced: Family | None = None,
        unit: float = 1.0,
    ) -> float:
        """What displacements prove, of data in units of their own."""
        question, tol = self.question, unit * self.question.settings.tol
        displaced = displaced or question.families[family]
        if family != TWO_ARMS and math.isinf(question.settings.eps):
            raise parts["family"].fail("two arms where the misspecification is infinite")
        if family == TWO_ARMS:
            (i, j), y, w = pair, moment.means, moment.weights
            gap = float(y[j] - y[i]) + tol
            return by_two_arms(displaced, gap, float(w[i]), float(w[j]))
        if family == LINEAR:
            if question.is_impossible(pair):
                return math.inf
            found = moment.by_features(displaced, pair, tol)
            return found if found < math.inf else math.nan
        scale = parts["scale"].whole(0, displaced.scales.size - 1)
        values = question.settings.sign * parts["values"].vector(question.model.X.shape[1])
        witness = Witness(unit * values, unit * parts["alpha"].number(0.0))
        return moment.by_all_arms(displaced, scale, witness, pair, tol)


def _check_limiting(decision: Decision, question: Question, found: dict[Pair, float]) -> None:
    """The pair that the decision names has the least evidence."""
    challenger, incumbent = decision.pair.entries(2)
    pair = read_pair(challenger, incumbent, question.candidates, decision.arms)
    if found[pair] > min(found.values()):
        raise decision.pair.fail("the pair with the least evidence")
    refuse_difference(decision.evidence, decision.evidence.number(infinite=True), found[pair], 0.0)
