"""Whether every pair of a candidate outside the answer and one inside has enough evidence.

For the pair that is hardest to tell apart the certificate also holds the closest alternative,
which shows from above and from below how much evidence there is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification import thresholds
from mislid.verification.answer import Decision, Projection
from mislid.verification.geometry import (
    Centred,
    Duality,
    Pair,
    Witness,
    cost,
    is_balanced,
    nearest,
    rounding,
    two_arm_cost,
)
from mislid.verification.intervals import Interval, exactly, of_fraction, sqrt, stack
from mislid.verification.model import Model
from mislid.verification.question import Candidates, Data, Settings
from mislid.verification.reading import (
    EQUAL,
    Failure,
    Value,
    Vector,
    refuse_difference,
    refuse_differences,
)

# Evidence below its threshold by less is accepted: errors grow by a factor exp(ENOUGH threshold).
ENOUGH = 1e-6
PAIRWISE, MIXTURE, GUARANTEED = "pairwise", "mixture", "guaranteed"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is proved of a pair (challenger, incumbent), how, and what that takes."""

    pair: Pair
    proof: str
    statistic: float  # at least
    threshold: float  # at most
    witness: Witness | None

    @property
    def ratio(self) -> float:
        """How much of what is needed is there."""
        return self.statistic / self.threshold


@dataclass(frozen=True, eq=False)
class Rule:
    """A stopping rule on the data: what is proved of a pair, and how much is enough."""

    candidates: Candidates
    settings: Settings
    data: Data
    projection: Projection
    model: Model

    @property
    def centred(self) -> Centred:
        """The data, less a linear model."""
        return self.projection.centred

    @property
    def weights(self) -> Vector:
        """Nearly."""
        return self.data.weights.middle

    @property
    def proofs(self) -> tuple[str, ...]:
        """The arguments by which a pair may be settled."""
        rule = self.settings.stopping
        return (MIXTURE, PAIRWISE) if rule == GUARANTEED else (rule,)

    @property
    def delta(self) -> float:
        """The share of the error rate that each argument may use."""
        return self.settings.delta / len(self.proofs)

    def given(self, proof: str) -> Vector:
        """The means (K,) from which distances are measured."""
        by_means = proof in (MIXTURE, PAIRWISE)
        return self.data.means if by_means else self.projection.means

    def is_free(self, proof: str) -> bool:
        """Whether a pair's two arms may move while no other can tell."""
        largest = float(np.max(np.abs(self.given(proof))))
        return proof == PAIRWISE or self.settings.eps >= largest + self.settings.tol

    def is_impossible(self, proof: str, pair: Pair) -> bool:
        """Whether no model reverses the pair: equal features are at most 2 eps apart."""
        features = self.candidates.features
        if features is None or proof == PAIRWISE:
            return False
        same = bool(np.all(features[pair[0]] == features[pair[1]]))
        return same and self.settings.tol > 2.0 * self.settings.eps

    def _rest(self, proof: str) -> Interval:
        """The same, less the linear model."""
        by_means = proof in (MIXTURE, PAIRWISE)
        return self.centred.off if by_means else self.projection.rest

    @cached_property
    def _dualities(self) -> dict[str, Duality]:
        weights = self.data.weights
        return {proof: Duality(self.model, weights, self._rest(proof)) for proof in self.proofs}

    def statistic(self, proof: str, pair: Pair, witness: Witness | None) -> Interval:
        """A lower bound on the cost of every model that reverses the pair."""
        if self.is_impossible(proof, pair):
            return exactly(math.inf)
        gap, rest = self.centred.gap(pair, self.settings.tol), self._rest(proof)
        if witness is None:
            i, j = pair
            wi, wj = self.data.weights[i], self.data.weights[j]
            return two_arm_cost(gap + rest[j] - rest[i], wi, wj)
        values = self.centred.values(witness.values).middle
        return self._dualities[proof].pair_distance(values, witness.alpha, pair, gap)

    def least(self, proof: str, z: Vector, alpha: float, pair: Pair) -> float:
        """The same, nearly, from multipliers z (K,)."""
        gap = self.centred.gap(pair, self.settings.tol)
        return float(self._dualities[proof].distance(z, alpha, pair, gap).middle)

    def threshold(self, proof: str, pair: Pair) -> Interval:
        """What the statistic has to reach."""
        if proof == PAIRWISE:
            counts, m = self.data.counts[list(pair)], self.settings.m
            return thresholds.pairwise(counts, self.candidates.K, m, self.delta)
        return self._common_threshold

    @cached_property
    def _common_threshold(self) -> Interval:
        proof, noise, weights = self.proofs[0], self.settings.noise, self.data.weights
        model, t = self.model, self.data.samples
        if proof == MIXTURE:
            means = stack([of_fraction(one) for one in self.data.exact])
            return thresholds.mixture(model, weights, means, noise, self.delta)
        if proof == "paper":
            return thresholds.paper(t, model, weights, noise, self.delta)
        if proof == "paper-printed":
            return thresholds.paper_printed(t, model, weights, self.delta)
        return thresholds.heuristic(t, self.delta)

    def rounding(self, amount: float) -> float:
        """What an amount of evidence that is stated may be off by."""
        return rounding(self.settings.eps, self.weights, self.data.means, amount)

    def is_enough(self, evidence: Evidence) -> bool:
        """Whether the evidence, also at the exact projection, reaches its threshold."""
        if evidence.statistic == math.inf:  # no model reverses the pair
            return True
        off = 0.0 if evidence.proof in (MIXTURE, PAIRWISE) else self.projection.off
        left = (sqrt(evidence.statistic) - off).positive.square
        return bool(left.low >= (exactly(evidence.threshold) * (1.0 - ENOUGH)).high)


def read_evidence(given: Value, rule: Rule, answer: list[int]) -> dict[Pair, Evidence]:
    """Every pair is there once, with evidence that is proved and enough."""
    found: dict[Pair, Evidence] = {}
    for entry in given.entries():
        evidence = _read_pair_evidence(entry, rule, answer)
        if evidence.pair in found:
            raise Failure(f"{entry.name} must be of a pair that did not come before")
        if not rule.is_enough(evidence):
            raise Failure(
                f"{entry.name} must reach its threshold {evidence.threshold!r}; only "
                f"{evidence.statistic!r} is proved"
            )
        found[evidence.pair] = evidence
    missing = len(answer) * (rule.candidates.K - len(answer)) - len(found)
    if missing:
        raise Failure(f"evidence must cover every pair of the answer; {missing} are missing")
    return found


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


def _read_pair_evidence(entry: Value, rule: Rule, answer: list[int]) -> Evidence:
    """The evidence of one pair, derived again."""
    names = ["challenger", "incumbent", "proof", "statistic", "threshold"]
    if isinstance(entry.given, Mapping) and {"values", "alpha"} & set(entry.given):
        names += ["values", "alpha"]
    parts = entry.parts(*names)
    pair = read_pair(parts["challenger"], parts["incumbent"], rule.candidates, answer)
    proof = parts["proof"].text(*rule.proofs)
    witness = None
    if not rule.is_free(proof) and not rule.is_impossible(proof, pair):
        if "values" not in parts:
            raise Failure(f"{entry.name} must have values and alpha, which prove its statistic")
        values = rule.settings.sign * parts["values"].vector(rule.model.spanner.size)
        witness = Witness(values, parts["alpha"].number(0.0))
    elif "values" in parts:
        raise Failure(f"{entry.name} must not have values, which its statistic does not need")
    bounds = rule.statistic(proof, pair, witness), rule.threshold(proof, pair)
    for name, found in zip(("statistic", "threshold"), bounds, strict=True):
        near = float(found.low) if math.isinf(found.low) else float(found.middle)
        stated = parts[name].number(0.0, infinite=True)
        lost = rule.rounding(near) + float(found.high - found.low)
        refuse_difference(parts[name], stated, near, EQUAL, lost)
    return Evidence(pair, proof, float(bounds[0].low), float(bounds[1].high), witness)


def check_hardest_pair(
    given: Value, decision: Decision, rule: Rule, evidence: dict[Pair, Evidence]
) -> None:
    """The alternative is a model and reverses the pair, and no model that does is closer."""
    challenger, incumbent = decision.pair.entries(2)
    limiting = evidence[read_pair(challenger, incumbent, rule.candidates, decision.arms)]
    _refuse_easier(decision.pair, limiting, rule, evidence)
    stated = decision.statistic.number(0.0, infinite=True)
    rounding = rule.rounding(limiting.statistic)
    refuse_difference(decision.statistic, stated, limiting.statistic, EQUAL, rounding)
    stated, rounding = decision.threshold.number(0.0), rule.rounding(limiting.threshold)
    refuse_difference(decision.threshold, stated, limiting.threshold, EQUAL, rounding)
    names = ("means", "theta", "deviation", "multipliers", "alpha", "cost", "bound", "gap")
    parts = given.parts(*names)
    if math.isinf(limiting.statistic):
        _refuse_given(parts, names, "no model reverses the pair")
        return
    means = _alternative(parts, rule, limiting)
    _check_membership(parts, rule, limiting, means)
    reached = cost(rule.given(limiting.proof), rule.weights, means)
    least = _least(parts, rule, limiting)
    gap = max(reached - least, 0.0)
    rounding = EQUAL * reached + rule.rounding(reached)
    for name, derived in (("cost", reached), ("bound", least), ("gap", gap)):
        refuse_difference(parts[name], parts[name].number(0.0), derived, 0.0, rounding)
    if not abs(reached - least) <= 2.0 * rounding:
        raise Failure(
            f"limiting.means must be the closest alternative: it costs {reached!r}, while only "
            f"{least!r} is proved to be needed"
        )


def _refuse_easier(
    pair: Value, limiting: Evidence, rule: Rule, evidence: dict[Pair, Evidence]
) -> None:
    """Refuse a pair if another is harder; those that needed the mixture come first."""
    for other in evidence.values():
        first, second = rule.candidates.labels[other.pair[0]], rule.candidates.labels[other.pair[1]]
        if other.proof == limiting.proof:
            harder = not limiting.ratio <= other.ratio * (1.0 + ENOUGH)
        else:
            harder = limiting.proof == PAIRWISE
        if harder:
            raise pair.fail(f"the pair that is hardest to tell apart; ({first!r}, {second!r}) is")


def _refuse_given(parts: dict[str, Value], names: tuple[str, ...], because: str) -> None:
    for name in names:
        if not parts[name].absent:
            raise parts[name].fail(f"null where {because}")


def _alternative(parts: dict[str, Value], rule: Rule, limiting: Evidence) -> Vector:
    """The alternative's means (K,): those to which the pair's evidence leads, reversing it."""
    given, weights, tol = rule.given(limiting.proof), rule.weights, rule.settings.tol
    i, j = limiting.pair
    if limiting.witness is None:
        gap = max(float(given[j] - given[i]) + tol, 0.0)
        alpha = gap * float(weights[i] * weights[j] / (weights[i] + weights[j]))
        derived = given.copy()
        derived[i] += alpha / weights[i]
        derived[j] -= alpha / weights[j]
    else:
        alpha = limiting.witness.alpha
        derived = nearest(rule.model, weights, given, limiting.witness, limiting.pair)
    refuse_difference(parts["alpha"], parts["alpha"].number(0.0), alpha, EQUAL)
    means = refuse_differences(parts["means"], rule.settings.sign, derived)
    scale = float(np.max(np.abs(means) + np.abs(given))) + tol
    if not means[i] >= means[j] + tol - EQUAL * scale:
        raise Failure("limiting.means must have the challenger above the incumbent")
    return means


def _check_membership(
    parts: dict[str, Value], rule: Rule, limiting: Evidence, means: Vector
) -> None:
    """Means = features theta + deviation, with deviations within the misspecification."""
    features, eps, sign = rule.candidates.features, rule.settings.eps, rule.settings.sign
    if features is None or math.isinf(eps) or limiting.proof == PAIRWISE:
        _refuse_given(parts, ("theta", "deviation"), "all means are allowed")
        return
    X, witness = rule.model.X.middle, limiting.witness
    linear = np.zeros(means.size) if witness is None else X @ witness.values
    theta = sign * parts["theta"].vector(features.shape[1])
    off = np.abs(features @ theta - linear)
    sizes = np.abs(features) @ np.abs(theta) + np.abs(linear)
    if not np.all(off <= 1e-12 * (sizes + float(np.max(sizes)))):
        raise Failure("limiting.theta must give the linear part that the pair's values give")
    # Not features times theta: where features are collinear, that leaves few digits.
    scale = float(np.max(np.abs(means)))
    deviation = refuse_differences(parts["deviation"], sign, means - linear, scale)
    beyond = np.abs(deviation) - eps * (1.0 + EQUAL) - 1e-12 * scale
    worst = int(np.argmax(beyond))
    if not beyond[worst] <= 0.0:
        raise Failure(f"limiting.deviation[{worst}] must be at most the misspecification {eps!r}")


def _least(parts: dict[str, Value], rule: Rule, limiting: Evidence) -> float:
    """What the multipliers (K,) on file prove of the pair's cost."""
    z = rule.settings.sign * parts["multipliers"].vector(rule.candidates.K)
    if limiting.witness is None:
        if np.any(z != 0.0):
            raise Failure("limiting.multipliers must be 0 where features say nothing of the pair")
        return float(rule.statistic(limiting.proof, limiting.pair, None).middle)
    if not is_balanced(rule.model, z, limiting.witness.alpha):
        raise Failure("limiting.multipliers must be orthogonal to the features")
    return rule.least(limiting.proof, z, limiting.witness.alpha, limiting.pair)
