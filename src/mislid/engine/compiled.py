"""The tables of compiled rules: from a record of options to its struct and its kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

from mislid._jit import Kernel, Matrix, Struct, Vector
from mislid._kernels import gains, game, learners
from mislid._kernels.best_response import BestResponse, any_response, best_response
from mislid._kernels.directed import directed_arm, new_directed
from mislid._kernels.draw import Source, draw_bernoulli, draw_beta, draw_gaussian, draw_row
from mislid._kernels.frank_wolfe import frank_wolfe_arm, new_frank_wolfe
from mislid._kernels.lazy import lazy_arm, lazy_test, new_lazy_tracking
from mislid._kernels.lingape import LinGapE, lingape_arm, lingape_test
from mislid._kernels.lingifa import LinGIFA, lingifa_arm, lingifa_test
from mislid._kernels.lucb import LUCB, lucb_arm, lucb_test
from mislid._kernels.peps import new_peps, peps_arm
from mislid._kernels.phases import Phases, new_phases, phases_arm, phases_left, phases_test
from mislid._kernels.rage import prepare_rage
from mislid._kernels.simple import Fixed, Uniform, fixed_arm, uniform_arm
from mislid._kernels.top_two import new_top_two, top_two_arm
from mislid._kernels.ugape import UGapE, ugape_arm, ugape_test
from mislid._kernels.xy import prepare_adaptive, prepare_static
from mislid._words import shown
from mislid.algorithms import compositions, parts, rivals
from mislid.algorithms.published import PHANTOM, WIDENING
from mislid.errors import ProblemError
from mislid.geometry.coordinates import coordinates
from mislid.geometry.search import search_space
from mislid.geometry.time import characteristic_time
from mislid.model import Instance
from mislid.question import Question
from mislid.stopping import evidence, projected_test
from mislid.stopping.adaptive import Adaptive, judge_adaptive
from mislid.stopping.aims import SHORTLIST, Aims
from mislid.stopping.all_arms import AllArms
from mislid.stopping.diagonal import Diagonal
from mislid.stopping.equal import Spread, hold_for_every_noise, take_noise
from mislid.stopping.families import Families, Family
from mislid.stopping.furthest import judge_furthest, new_furthest
from mislid.stopping.linear_fit import LinearFit
from mislid.stopping.noise import NOISE_MODELS, equal
from mislid.stopping.noise.tilted import tilts_of
from mislid.stopping.noise.variances import shifts
from mislid.stopping.noise_tilted import Tilts
from mislid.stopping.noise_variances import MOST_CELLS, Shifts
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


class Sampler(NamedTuple):
    """A compiled sampling rule.

    Attributes
    ----------
    struct
        What it knows and remembers.
    propose
        Kernel that gives the next arm.
    own_test
        Kernel of the rule's own stopping test, or None.
    estimates
        Whether it looks at the projected means.
    plays
        Whether it searches at weights of its own.
    left
        Kernel that counts what is left of its present phase, or None where there are none.
    """

    struct: Struct
    propose: Kernel
    own_test: Kernel | None = None
    estimates: bool = False
    plays: bool = False
    left: Kernel | None = None


def new_setting(
    question: Question, algorithm: Any, proven: bool = False, price: Vector | None = None
) -> Setting:
    """What the rules are told; a price (K,) that is infinite means that nothing can be measured.

    Phantom measurements of the published runs have no place where something is to be proven.
    """
    model, at = question.model, coordinates(question.model)
    authors = bool(getattr(algorithm, "authors", False))
    rule = compositions.without_wrapper(algorithm)
    responds = isinstance(rule, compositions.BestResponse) and rule.subset == 0
    low, high = question.reward_range or (0.0, 1.0)
    return Setting(
        X=np.array(at.matrix, order="C"),
        basis=np.array(at.basis, dtype=np.int64),
        eps=model.misspecification,
        variance=question.noise**2,
        noise_model=NOISE_MODELS.index(question.noise_model),
        low=low,
        width=high - low,
        m=question.m,
        tol=question.tolerance,
        delta=question.delta,
        largest_norm=float(np.max(np.linalg.norm(model.features, axis=1))),
        mean_bound=question.mean_bound,
        phantom=PHANTOM if authors and not proven else 0.0,
        widening=WIDENING * float(np.max(question.noise)) if authors else 0.0,
        responds=responds,
        structured=question.structured,
        price=np.ones(model.K) if price is None else price,
        priced=price is not None and bool(np.any(price != price[0])),
    )


def _round_fields(rule: Any, setting: Setting) -> dict[str, Any]:
    """What rules share that answer the closest alternative."""
    d = setting.X.shape[1]
    kinds = {
        parts.Optimistic: gains.OPTIMISTIC,
        parts.Aggressive: gains.AGGRESSIVE,
        parts.Empirical: gains.EMPIRICAL,
    }
    bonuses = {"paper": gains.PAPER, "authors": gains.AUTHORS, "linear": gains.LINEAR}
    return {
        "gain": kinds[type(rule.gain)],
        "bonus": bonuses[getattr(rule.gain, "bonus", "paper")],
        "published": rule.authors,
        "pulls": d if rule.pulls is None else rule.pulls,
        "subset": d if rule.subset is None else rule.subset,
        # As many recent challengers as the published runs kept.
        "recent": np.full(setting.m + d + 2, -1, np.int64),
    }


def _best_response(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = BestResponse.zeros(
        {"K": question.K},
        power=rule.power,
        exploration=rule.exploration,
        aims=_aims(setting),
        **_round_fields(rule, setting),
    )
    plain = struct.gain == gains.EMPIRICAL and struct.subset == 0 and not struct.published
    return Sampler(struct, best_response if plain else any_response, estimates=True)


def _aims(setting: Setting) -> Aims:
    K, d = setting.X.shape
    fit, listed = LinearFit.zeros({"K": K, "d": d, "n": 0}), np.zeros(SHORTLIST + 2, np.int64)
    return Aims.zeros({"K": K, "d": d}, fit=fit, listed=listed)


def _selective(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    sampler = sampler_of(rule.algorithm, setting, question, truth)
    if sampler is None:
        raise TypeError(f"{rule.algorithm!r} is not compiled")
    sampler.struct.fill(sampler.struct.replace(selective=True))
    if isinstance(rule.algorithm, compositions.BestResponse):
        return sampler._replace(propose=any_response)  # which leaves out pairs
    return sampler


def _game(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    K = question.K
    count = K if rule.per_answer else 1
    kinds = {
        parts.AdaHedge: learners.ADAHEDGE,
        parts.ExponentialWeights: learners.EXPONENTIAL_WEIGHTS,
        parts.FollowTheLeader: learners.FOLLOW_THE_LEADER,
    }
    ways = {
        parts.Direct: game.DIRECT,
        parts.CTracking: game.C_TRACKING,
        parts.DTracking: game.D_TRACKING,
    }
    struct = game.Game.zeros(
        {"K": K},
        learner=kinds[type(rule.learner)],
        range=getattr(rule.learner, "range", 1.0),
        steps=rule.steps,
        per_answer=rule.per_answer,
        tracking=ways[type(rule.sampling)],
        forced=getattr(rule.sampling, "forced", False),
        omega=np.full(K, 1.0 / K),
        cumulative=np.zeros((count, K)),
        gaps=np.full(count, getattr(rule.learner, "gap", 0.0), dtype=np.float64),
        taught=np.zeros(count),
        **_round_fields(rule, setting),
    )
    return Sampler(struct, game.play, estimates=True, plays=True)


def _corner(setting: Setting, question: Question) -> Matrix:
    """The spanner's features as they were given: rivals have a ridge in their coordinates."""
    return np.ascontiguousarray(question.model.features[setting.basis])


def _unchosen(setting: Setting) -> dict[str, float]:
    """What rivals begin with: before their first choice no test of theirs is satisfied."""
    return {"log_inverse": -math.log(setting.delta), "index": math.inf}


def _lucb(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = LUCB.zeros({}, published=rule.authors, **_unchosen(setting))
    return Sampler(struct, lucb_arm, lucb_test)


def _lingape(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = LinGapE.zeros(
        {},
        **_unchosen(setting),
        growth=0.0 if rule.growth is None else float(rule.growth),
        ridge=new_ridge_space(setting, _corner(setting, question)),
    )
    return Sampler(struct, lingape_arm, lingape_test)


def _lingifa(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = LinGIFA.zeros(
        {"K": question.K},
        **_unchosen(setting),
        greedy=rule.greedy,
        ridge=new_ridge_space(setting, _corner(setting, question)),
    )
    return Sampler(struct, lingifa_arm, lingifa_test)


def _uniform(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    return Sampler(Uniform(), uniform_arm)


def _oracle(rule: Any, setting: Setting, question: Question, truth: Instance | None) -> Sampler:
    if truth is None:
        raise ProblemError("algorithm must not be 'oracle' where the true means are unknown")
    time = characteristic_time(
        truth.model, truth.means, question.m, noise=truth.noise, tolerance=question.tolerance
    )
    allocation = np.array(time.allocation)
    return Sampler(Fixed.zeros({"K": question.K}, allocation=allocation), fixed_arm)


def _frank_wolfe(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = new_frank_wolfe(question.K, question.m)
    return Sampler(struct, frank_wolfe_arm, estimates=True, plays=True)


def _lazy(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    own_test = lazy_test if rule.own_test else None
    return Sampler(new_lazy_tracking(setting), lazy_arm, own_test, estimates=True, plays=True)


def _peps(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = new_peps(question.K, question.model.d, rule.draws)
    return Sampler(struct, peps_arm, estimates=True, plays=True)


def _top_two(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = new_top_two(question.K, question.m, rule.share)
    return Sampler(struct, top_two_arm, estimates=True)


def _directed(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    struct = new_directed(question.K, question.model.d, rule.draws)
    return Sampler(struct, directed_arm, estimates=True, plays=True)


def _phases(prepare: Kernel, setting: Setting, **options: Any) -> Sampler:
    fields = new_phases(setting) | options
    struct = Phases.zeros({"K": setting.X.shape[0]}, prepare=prepare.address, **fields)
    return Sampler(struct, phases_arm, phases_test, left=phases_left)


def _rage(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    return _phases(prepare_rage, setting, fresh=rule.fresh)


def _xy_adaptive(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    d = setting.X.shape[1]
    first = d * (d + 1) + 1 if rule.first is None else rule.first
    return _phases(
        prepare_adaptive, setting, fresh=rule.fresh, shrink=rule.shrink, first=float(first)
    )


def _xy_static(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    return _phases(prepare_static, setting, fixed=True)


def _ugape(rule: Any, setting: Setting, question: Question, truth: Any) -> Sampler:
    return Sampler(UGapE.zeros({"K": question.K}, **_unchosen(setting)), ugape_arm, ugape_test)


# One row for every compiled sampling rule: the record of its options, and what makes its struct.
SAMPLERS: dict[type, Callable[[Any, Setting, Question, Instance | None], Sampler]] = {
    compositions.BestResponse: _best_response,
    compositions.MisLid: _game,
    rivals.LUCB: _lucb,
    rivals.LinGapE: _lingape,
    rivals.LinGIFA: _lingifa,
    compositions.Uniform: _uniform,
    compositions.Oracle: _oracle,
    compositions.Selective: _selective,
    rivals.FrankWolfe: _frank_wolfe,
    rivals.LazyTrackAndStop: _lazy,
    rivals.PEPS: _peps,
    rivals.TopTwo: _top_two,
    rivals.TopTwoIDS: _directed,
    rivals.RAGE: _rage,
    rivals.UGapE: _ugape,
    rivals.XYAdaptive: _xy_adaptive,
    rivals.XYStatic: _xy_static,
}


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
        tilts=_tilts(NOISE_MODELS[setting.noise_model]),
        shifts=_shifts(setting.X.shape[0]),
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


def _tilts(noise_model: str) -> Tilts:
    given = tilts_of(noise_model)
    return Tilts(
        sizes=given.sizes,
        growth=np.expm1(given.sizes),
        shrinkage=np.expm1(-given.sizes),
        prices=given.prices,
        exact=given.exact,
        logs=given.logs,
        terms=np.zeros(len(given.sizes)),
    )


def _shifts(K: int) -> Shifts:
    given = shifts()
    return Shifts.zeros(
        {"K": K, "S": len(given.sizes)},
        scales=given.sizes,
        alphas=given.alphas,
        logs=given.logs,
        terms=np.zeros(len(given.sizes)),
        cells=np.zeros((MOST_CELLS, 6)),
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
    ridge = new_ridge_space(setting, _corner(setting, question), rule.ridge)
    struct = RatioTest.zeros({}, projects=setup.estimates, ridge=ridge, **options)
    return CompiledStopping(struct, judge_ratio, left)


@register(FurthestAnswer())
def _furthest(rule: FurthestAnswer, setup: Setup) -> CompiledStopping:
    struct = new_furthest(setup.setting, projected_test.HEURISTIC)
    return CompiledStopping(struct, judge_furthest)


# One row for every kind of simulated rewards.
DRAWS: dict[str, Kernel] = {
    "gaussian": draw_gaussian,
    "bernoulli": draw_bernoulli,
    "beta": draw_beta,
    "table": draw_row,
}


def as_source(source: Any, K: int) -> Source:
    """A compiled source of rewards of K arms, from what `Environment.source` gives."""
    try:
        kind, parameters, table = source
        fits = parameters.shape == (K, 4) and table.shape[1:] == (K,)
        fits = fits and bool(np.isfinite(parameters).all() and np.isfinite(table).all())
        fits = fits and (kind != "table" or len(table) > 0)
        found = Source(draw=DRAWS[kind].address, parameters=parameters, table=table)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ProblemError(
            f"source must be a kind, one of {', '.join(DRAWS)}, and two arrays of numbers, as "
            f"Environment.source gives them; got {shown(source)}"
        ) from None
    if not fits:
        raise ProblemError(
            f"source must have finite parameters of shape ({K}, 4) and a table of {K} columns; got "
            f"shapes {parameters.shape} and {table.shape}"
        )
    return found


def key_of(seed: SeedSequence) -> np.uint64:
    """The key of a stream of random numbers."""
    return np.uint64(seed.generate_state(1, np.uint64)[0])


def sampler_of(
    algorithm: Any, setting: Setting, question: Question, truth: Instance | None
) -> Sampler | None:
    """The compiled rule of an algorithm."""
    for kind in type(algorithm).__mro__:
        if kind in SAMPLERS:
            return SAMPLERS[kind](algorithm, setting, question, truth)
    return None
