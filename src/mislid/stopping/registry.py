"""Compiled stopping rules: what a rule is compiled for, and its struct and kernel."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from mislid.stopping.noise import NOISE_MODELS
from mislid.stopping.pairs_left import new_pairs_left
from mislid.stopping.projected_test import judge_projected, new_projected_test
from mislid.stopping.proof import Proof, judge_proof
from mislid.stopping.ratio_test import RatioTest, judge_ratio
from mislid.stopping.ridge import new_ridge_space
from mislid.stopping.rules import FurthestAnswer, LikelihoodRatio, StoppingRule
from mislid.stopping.settled import new_settled
from mislid.stopping.state import EQUAL, KNOWN, UNKNOWN, Setting
from mislid.stopping.tube_ratio_test import TubeRatioTest, judge_tube_ratio
from mislid.stopping.unknown_noise import shifts

if TYPE_CHECKING:
    from mislid._jit import Kernel, Struct
    from mislid.model import Instance
    from mislid.question import Question
    from mislid.stopping.pairs_left import PairsLeft


class Setup(NamedTuple):
    """What rules are compiled for.

    Attributes
    ----------
    setting
        The question as kernels read it.
    question
        The question.
    truth
        The instance itself, for sampling rules that know it; None outside of simulations.
    estimates
        Whether the sampling rule reads the projected means.
    """

    setting: Setting
    question: Question
    truth: Instance | None = None
    estimates: bool = True


class CompiledStopping(NamedTuple):
    """A compiled stopping rule.

    Attributes
    ----------
    struct
        Its options and its memory.
    judge
        Kernel (setting, struct, state, testing) -> bool that estimates and tests.
    left
        The pairs that it has not settled; None for rules that settle no single pairs.
    """

    struct: Struct
    judge: Kernel
    left: PairsLeft | None = None


_THRESHOLDS = {
    "heuristic": projected_test.HEURISTIC,
    "paper": projected_test.PAPER,
    "paper-printed": projected_test.PAPER_PRINTED,
}


def compile_stopping(rule: StoppingRule, setup: Setup) -> CompiledStopping:
    """Compile a rule; one written in Python gets the estimates of `heuristic`.

    Parameters
    ----------
    rule
        The rule.
    setup
        What it is compiled for.

    Returns
    -------
    CompiledStopping
        Its struct and its kernel.
    """
    setting = setup.setting
    if isinstance(rule, LikelihoodRatio):
        return _ratio_test(rule, setup)
    if isinstance(rule, FurthestAnswer):
        furthest = new_furthest(setting, projected_test.HEURISTIC)
        return CompiledStopping(furthest, judge_furthest)
    if rule.name == "guaranteed":
        return _proof(setting)
    threshold = _THRESHOLDS["heuristic" if rule.judge is not None else rule.name]
    return CompiledStopping(new_projected_test(setting, threshold), judge_projected)


def _proof(setting: Setting) -> CompiledStopping:
    (K, d), unknown = setting.X.shape, setting.noise_model == UNKNOWN
    structured = setting.structured and not unknown
    noise = np.sqrt(setting.variance)
    given = evidence.families_of(K, setting.m, structured, setting.delta, noise)
    families = _families(given)
    plain = Proof.zeros(
        {"K": K, "d": d, "n": len(families.linear.scales)},
        families=families,
        settled=new_settled(K, setting.m),
        diagonal=Diagonal.zeros({"K": K}, search=search_space(setting.X, setting.m)),
        all_arms=AllArms.zeros({"K": K}, left=np.inf),
        two_arms_total=float(np.logaddexp.reduce(families.two_arms.logs)),
        spread=_spread(setting, given),
    )
    left = new_pairs_left(K, setting.m, plain.settled)
    if setting.noise_model in (KNOWN, EQUAL):
        return CompiledStopping(plain, judge_proof, left)
    adaptive = Adaptive(
        **plain.fields(),
        tilts=tilts_of(NOISE_MODELS[setting.noise_model]),
        shifts=shifts(K),
        # Of unknown noise all rules know what is estimated; else those of others know the range.
        guess=setting if unknown else setting.replace(variance=setting.variance.copy()),
    )
    return CompiledStopping(adaptive, judge_adaptive, left)


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


def _ratio_test(rule: LikelihoodRatio, setup: Setup) -> CompiledStopping:
    setting = setup.setting
    options: dict[str, Any] = {
        "log_inverse": -math.log(setting.delta),
        "iterated": rule.threshold == "heuristic",
        "selective": rule.selective,
    }
    left = new_pairs_left(setting.X.shape[0], setting.m) if rule.selective else None
    if setting.eps > 0.0:
        return CompiledStopping(TubeRatioTest.zeros({}, **options), judge_tube_ratio, left)
    # The ridge is in the units of the features as they were given.
    corner = setup.question.model.features[setting.basis]
    ridge = new_ridge_space(setting, corner, rule.ridge)
    struct = RatioTest.zeros({}, projects=setup.estimates, ridge=ridge, **options)
    return CompiledStopping(struct, judge_ratio, left)


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import the public modules of a package, which register their rules.

    Parameters
    ----------
    package, path
        `__name__` and `__path__` of the package.
    """
    for module in pkgutil.iter_modules(path):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")
