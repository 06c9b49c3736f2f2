"""Compiled stopping rules: their structs and kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mislid.algorithms._index_rules import corner_of
from mislid.geometry.search import search_space
from mislid.stopping import evidence, projected_test
from mislid.stopping import spread as equal
from mislid.stopping.adaptive import Adaptive, judge_adaptive
from mislid.stopping.all_arms import AllArms
from mislid.stopping.bounded_noise import tilts_of
from mislid.stopping.diagonal import Diagonal
from mislid.stopping.equal import Spread, hold_for_every_noise, take_noise
from mislid.stopping.families import Families, Family
from mislid.stopping.furthest import judge_furthest, new_furthest
from mislid.stopping.linear_fit import LinearFit
from mislid.stopping.noise import NOISE_MODELS
from mislid.stopping.pairs_left import new_pairs_left
from mislid.stopping.projected_test import judge_projected, new_projected_test
from mislid.stopping.proof import Proof, judge_proof
from mislid.stopping.ratio_test import RatioTest, judge_ratio
from mislid.stopping.registry import CompiledStopping, Setup, register
from mislid.stopping.ridge import new_ridge_space
from mislid.stopping.rules import (
    STOPPING_RULES,
    FurthestAnswer,
    LikelihoodRatio,
    StoppingRule,
)
from mislid.stopping.settled import new_settled
from mislid.stopping.state import EQUAL, KNOWN, UNKNOWN, Setting
from mislid.stopping.tube_ratio_test import TubeRatioTest, judge_tube_ratio
from mislid.stopping.unknown_noise import shifts


@register(STOPPING_RULES["guaranteed"])
def _proof(rule: StoppingRule, setup: Setup) -> CompiledStopping:
    setting = setup.setting
    unknown = setting.noise_model == UNKNOWN
    given = evidence.families_of(
        setting.X.shape[0],
        setting.m,
        setting.structured and not unknown,
        setting.delta,
        np.sqrt(setting.variance),
    )
    plain = _new_proof(setting, given)
    left = new_pairs_left(setting.X.shape[0], setting.m, plain.settled)
    if setting.noise_model in (KNOWN, EQUAL):
        return CompiledStopping(plain, judge_proof, left)
    adaptive = Adaptive(
        **plain.fields(),
        tilts=tilts_of(NOISE_MODELS[setting.noise_model]),
        shifts=shifts(setting.X.shape[0]),
        # Of unknown noise all rules know what is estimated; else those of others know the range.
        guess=setting if unknown else setting.replace(variance=setting.variance.copy()),
    )
    return CompiledStopping(adaptive, judge_adaptive, left)


def _new_proof(setting: Setting, given: evidence.Families) -> Proof:
    (K, d), families = setting.X.shape, _families(given)
    return Proof.zeros(
        {"K": K, "d": d},
        families=families,
        settled=new_settled(K, setting.m),
        fit=LinearFit.zeros({"K": K, "d": d, "n": len(families.linear.scales)}),
        diagonal=Diagonal.zeros({"K": K}, search=search_space(setting.X, setting.m)),
        all_arms=AllArms.zeros({"K": K}, left=np.inf),
        two_arms_total=float(np.logaddexp.reduce(families.two_arms.logs)),
        spread=_spread(setting, given),
    )


def _families(given: evidence.Families) -> Families:
    two_arms, linear, diagonal = (
        Family(scales=one.scales.copy(), logs=one.logs)
        for one in (given.two_arms, given.linear, given.diagonal)
    )
    return Families(level=given.level, two_arms=two_arms, linear=linear, diagonal=diagonal)


def _spread(setting: Setting, given: evidence.Families) -> Spread:
    if setting.noise_model != EQUAL:
        return Spread.zeros({"S": 0, "R": 0, "J": 0}, units=_families(given))
    every = (given.two_arms, given.linear, given.diagonal)
    return Spread.zeros(
        {"S": max(len(family.scales) for family in every), "R": len(equal.TILTS)},
        take=take_noise.address,
        hold=hold_for_every_noise.address,
        units=_families(given),
        dimension=setting.X.shape[1],
        tilts=np.array(equal.TILTS),
        shares=np.log(equal.SHARES),
        ends=equal.cell_ends(),
    )


PROJECTED = {
    "paper": projected_test.PAPER,
    "paper-printed": projected_test.PAPER_PRINTED,
    "heuristic": projected_test.HEURISTIC,
}


@register(*(STOPPING_RULES[name] for name in PROJECTED))
def _projected(rule: StoppingRule, setup: Setup) -> CompiledStopping:
    kind = PROJECTED.get(rule.name, projected_test.HEURISTIC)
    return CompiledStopping(new_projected_test(setup.setting, kind), judge_projected)


@register(LikelihoodRatio())
def _ratio(rule: LikelihoodRatio, setup: Setup) -> CompiledStopping:
    setting, question = setup.setting, setup.question
    options: dict[str, Any] = {
        "log_inverse": -math.log(setting.delta),
        "iterated": rule.threshold == "heuristic",
        "selective": rule.selective,
    }
    left = new_pairs_left(question.K, setting.m) if rule.selective else None
    if setting.eps > 0.0:
        return CompiledStopping(TubeRatioTest.zeros({}, **options), judge_tube_ratio, left)
    ridge = new_ridge_space(setting, corner_of(setting, question), rule.ridge)
    struct = RatioTest.zeros({}, projects=setup.estimates, ridge=ridge, **options)
    return CompiledStopping(struct, judge_ratio, left)


@register(FurthestAnswer())
def _furthest(rule: FurthestAnswer, setup: Setup) -> CompiledStopping:
    struct = new_furthest(setup.setting, projected_test.HEURISTIC)
    return CompiledStopping(struct, judge_furthest)
