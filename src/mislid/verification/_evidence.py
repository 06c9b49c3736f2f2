"""Whether every pair of a candidate outside the answer and one inside has enough evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mislid.verification import _thresholds as thresholds
from mislid.verification._answer import Projection
from mislid.verification._duality import Duality, Pair, Witness, alone
from mislid.verification._question import Candidates, Data, Settings
from mislid.verification._reading import EQUAL, Failure, Value, Vector, refuse_other

# Evidence below its threshold by less is accepted: errors grow by a factor exp(ENOUGH threshold).
ENOUGH = 1e-6
PAIRWISE, MIXTURE, GUARANTEED = "pairwise", "mixture", "guaranteed"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is proved of a pair (challenger, incumbent), how, and what that takes."""

    pair: Pair
    proof: str
    statistic: float
    threshold: float
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
    duality: Duality

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

    def statistic(self, proof: str, pair: Pair, witness: Witness | None) -> float:
        """A lower bound on the cost of every model that reverses the pair."""
        given, tol = self.given(proof), self.settings.tol
        if self.is_impossible(proof, pair):
            return math.inf
        if witness is None:
            return alone(given, self.data.weights, pair, tol)
        return self.duality.pair_bound(given, witness, pair, tol)

    def threshold(self, proof: str, pair: Pair) -> float:
        """What the statistic has to reach."""
        if proof == PAIRWISE:
            counts, m = self.data.counts[list(pair)], self.settings.m
            return thresholds.pairwise(counts, self.candidates.K, m, self.delta)
        return self._common_threshold

    @cached_property
    def _common_threshold(self) -> float:
        proof, noise, weights = self.proofs[0], self.settings.noise, self.data.weights
        model, t = self.duality.model, self.data.samples
        if proof == MIXTURE:
            return thresholds.mixture(model, weights, self.data.means, noise, self.delta)
        if proof == "paper":
            return thresholds.paper(t, model, weights, noise, self.delta)
        if proof == "paper-printed":
            return thresholds.paper_printed(t, model, weights, self.delta)
        return thresholds.heuristic(t, self.delta)

    def rounding(self, amount: float) -> float:
        """What an amount of evidence may be off by."""
        return self.duality.rounding(self.data.means, amount)

    def is_enough(self, evidence: Evidence) -> bool:
        """Whether the evidence, also at the exact projection, reaches its threshold."""
        off = 0.0 if evidence.proof in (MIXTURE, PAIRWISE) else self.projection.off
        left = max(math.sqrt(evidence.statistic) - off, 0.0) ** 2
        return left >= evidence.threshold * (1.0 - ENOUGH)


def read_evidence(given: Value, rule: Rule, answer: list[int]) -> dict[Pair, Evidence]:
    """Every pair is there once, with evidence that is proved and enough."""
    found: dict[Pair, Evidence] = {}
    for entry in given.entries():
        evidence = _read_one(entry, rule, answer)
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


def _read_one(entry: Value, rule: Rule, answer: list[int]) -> Evidence:
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
        values = rule.settings.sign * parts["values"].vector(rule.duality.model.X.shape[1])
        witness = Witness(values, parts["alpha"].number(0.0))
    elif "values" in parts:
        raise Failure(f"{entry.name} must not have values, which its statistic does not need")
    statistic = rule.statistic(proof, pair, witness)
    stated = parts["statistic"].number(0.0, infinite=True)
    refuse_other(parts["statistic"], stated, statistic, EQUAL, rule.rounding(statistic))
    threshold, stated = rule.threshold(proof, pair), parts["threshold"].number(0.0)
    refuse_other(parts["threshold"], stated, threshold, EQUAL, rule.rounding(threshold))
    return Evidence(pair, proof, statistic, threshold, witness)
