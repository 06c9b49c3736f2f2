"""The pair that is hardest to tell apart: its closest alternative, from above and from below."""

from __future__ import annotations

import math

import numpy as np

from mislid.verification._answer import Decision
from mislid.verification._duality import Pair, alone, cost
from mislid.verification._evidence import ENOUGH, PAIRWISE, Evidence, Rule, read_pair
from mislid.verification._reading import (
    EQUAL,
    Failure,
    Value,
    Vector,
    refuse_other,
    refuse_others,
)


def check_limiting(
    given: Value, decision: Decision, rule: Rule, evidence: dict[Pair, Evidence]
) -> None:
    """The alternative is a model and reverses the pair, and no model that does is closer."""
    challenger, incumbent = decision.pair.entries(2)
    limiting = evidence[read_pair(challenger, incumbent, rule.candidates, decision.arms)]
    _refuse_easier(decision.pair, limiting, rule, evidence)
    stated = decision.statistic.number(0.0, infinite=True)
    rounding = rule.rounding(limiting.statistic)
    refuse_other(decision.statistic, stated, limiting.statistic, EQUAL, rounding)
    stated, rounding = decision.threshold.number(0.0), rule.rounding(limiting.threshold)
    refuse_other(decision.threshold, stated, limiting.threshold, EQUAL, rounding)
    names = ("means", "theta", "deviation", "multipliers", "alpha", "cost", "bound", "gap")
    parts = given.parts(*names)
    if math.isinf(limiting.statistic):
        _refuse_given(parts, names, "no model reverses the pair")
        return
    means = _alternative(parts, rule, limiting)
    _check_membership(parts, rule, limiting, means)
    reached = cost(rule.given(limiting.proof), rule.data.weights, means)
    least = _least(parts, rule, limiting)
    gap = max(reached - least, 0.0)
    rounding = EQUAL * reached + rule.rounding(reached)
    for name, derived in (("cost", reached), ("bound", least), ("gap", gap)):
        refuse_other(parts[name], parts[name].number(0.0), derived, 0.0, rounding)
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
    given, weights, tol = rule.given(limiting.proof), rule.data.weights, rule.settings.tol
    i, j = limiting.pair
    if limiting.witness is None:
        gap = max(float(given[j] - given[i]) + tol, 0.0)
        alpha = gap * float(weights[i] * weights[j] / (weights[i] + weights[j]))
        derived = given.copy()
        derived[i] += alpha / weights[i]
        derived[j] -= alpha / weights[j]
    else:
        alpha = limiting.witness.alpha
        derived = rule.duality.nearest(given, limiting.witness, limiting.pair)
    refuse_other(parts["alpha"], parts["alpha"].number(0.0), alpha, EQUAL)
    means = refuse_others(parts["means"], rule.settings.sign, derived)
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
    X, witness = rule.duality.model.X, limiting.witness
    linear = np.zeros(means.size) if witness is None else X @ witness.values
    theta = sign * parts["theta"].vector(features.shape[1])
    off = np.abs(features @ theta - linear)
    sizes = np.abs(features) @ np.abs(theta) + np.abs(linear)
    if not np.all(off <= 1e-12 * (sizes + float(np.max(sizes)))):
        raise Failure("limiting.theta must give the linear part that the pair's values give")
    # Not features times theta: where features are collinear, that leaves few digits.
    scale = float(np.max(np.abs(means)))
    deviation = refuse_others(parts["deviation"], sign, means - linear, scale)
    beyond = np.abs(deviation) - eps * (1.0 + EQUAL) - 1e-12 * scale
    worst = int(np.argmax(beyond))
    if not beyond[worst] <= 0.0:
        raise Failure(f"limiting.deviation[{worst}] must be at most the misspecification {eps!r}")


def _least(parts: dict[str, Value], rule: Rule, limiting: Evidence) -> float:
    """What the multipliers (K,) on file prove of the pair's cost."""
    given, tol = rule.given(limiting.proof), rule.settings.tol
    z = rule.settings.sign * parts["multipliers"].vector(given.size)
    if limiting.witness is None:
        if np.any(z != 0.0):
            raise Failure("limiting.multipliers must be 0 where features say nothing of the pair")
        return alone(given, rule.data.weights, limiting.pair, tol)
    if not rule.duality.is_balanced(z, limiting.witness.alpha):
        raise Failure("limiting.multipliers must be orthogonal to the features")
    return rule.duality.proved(given, z, limiting.witness, limiting.pair, tol)
