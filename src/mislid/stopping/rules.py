"""Stopping rules by name, and their compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mislid._formatting import shown
from mislid.errors import ProblemError
from mislid.geometry.coordinates import search_space
from mislid.stopping.adaptive import Adaptive, judge_adaptive
from mislid.stopping.all_arms import AllArms, Diagonal
from mislid.stopping.bounded_noise import tilts_of
from mislid.stopping.elimination import judge_ratio, new_ratio_test
from mislid.stopping.equal import (
    SHARES,
    TILTS,
    EveryNoise,
    cell_ends,
    hold_for_every_noise,
    take_noise,
)
from mislid.stopping.evidence import Families, families_of
from mislid.stopping.noise import NOISE_MODELS
from mislid.stopping.proof import Proof, judge_proof
from mislid.stopping.published import judge_projected, new_projected_test
from mislid.stopping.state import EQUAL, KNOWN, UNKNOWN, Setting
from mislid.stopping.unknown_noise import shifts

if TYPE_CHECKING:
    from mislid._jit import Kernel, Struct
    from mislid.model import Instance
    from mislid.question import Question

NO_GUARANTEE = "no guarantee"


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A stopping rule: its name, its description and its guarantee.

    Attributes
    ----------
    name
        The value of `stopping=`.
    description
        One line.
    proof
        What bounds the probability of a wrong answer by delta, or "no guarantee". A proof holds for
        any sampling rule that does not look ahead, and for means within the declared
        misspecification.
    judge
        The rule itself where it is written in Python; None for compiled ones.

    Examples
    --------
    >>> print(STOPPING_RULES["heuristic"])
    heuristic (no guarantee): one threshold ln((1 + ln(t + 1)) / delta), as in the published runs
    """

    name: str
    description: str
    proof: str = NO_GUARANTEE
    judge: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def guaranteed(self) -> bool:
        """Whether the probability of a wrong answer is proven to be at most delta."""
        return self.proof != NO_GUARANTEE

    def __str__(self) -> str:
        label = "proven" if self.guaranteed else NO_GUARANTEE
        return f"{self.name} ({label}): {self.description}"


def _by_name(*rules: StoppingRule) -> Mapping[str, StoppingRule]:
    return MappingProxyType({rule.name: rule for rule in rules})


STOPPING_RULES = _by_name(
    StoppingRule(
        "guaranteed",
        "every pair settled, at some time, by evidence centred at the null",
        "Ville's inequality for the likelihood ratio of displaced means",
    ),
    StoppingRule(
        "paper",
        "the paper's min(beta_uns, beta_lin), beta_lin corrected",
        "the paper's, with delta/2 in beta_lin; beta_lin waits for V >= 2 L^2 I",
    ),
    StoppingRule("paper-printed", "the paper's thresholds as printed, for comparison"),
    StoppingRule(
        "heuristic", "one threshold ln((1 + ln(t + 1)) / delta), as in the published runs"
    ),
)
"""The stopping rules of studies and simulations, by their names."""

PUBLISHED_RULES = _by_name(
    StoppingRule("glr", "likelihood ratio above ln((t + 1) / delta)"),
    StoppingRule("glr-selective", "as glr; in linear models, pairs stay settled"),
)
"""Rules of published comparisons, for simulations only, by their names."""

# In a study, the name of a rule written in Python is this prefix, its module and its class.
PYTHON = "python:"


def stopping_rule_called(name: str) -> StoppingRule:
    """The stopping rule of this name; an unknown name is that of a rule written in Python.

    Examples
    --------
    >>> stopping_rule_called("python:lab:Patient").guaranteed
    False
    """
    return STOPPING_RULES.get(name) or StoppingRule(name, "written in Python", NO_GUARANTEE)


def as_stopping_rule(stopping: Any) -> StoppingRule:
    """The rule of this name, or an object with `judge(view)` as a rule.

    Parameters
    ----------
    stopping
        A name in `STOPPING_RULES` or `PUBLISHED_RULES`, or an object.
        Its attribute `guaranteed` says whether its error rate is proven to be at most delta; by
        default it is not.

    Returns
    -------
    StoppingRule
        The rule, with the object's `judge` if an object was given.

    Raises
    ------
    ProblemError
        If `stopping` is neither.

    Examples
    --------
    >>> as_stopping_rule("paper").guaranteed
    True
    """
    if isinstance(stopping, StoppingRule):
        return stopping
    known = {**STOPPING_RULES, **PUBLISHED_RULES}
    if isinstance(stopping, str) and stopping in known:
        return known[stopping]
    judge = getattr(stopping, "judge", None)
    if not callable(judge) or isinstance(stopping, type):
        names = ", ".join(known)
        raise ProblemError(
            f"stopping must be one of {names}, or an object with judge(view); got {shown(stopping)}"
        )
    name = str(getattr(stopping, "name", type(stopping).__name__))
    if name in known:
        raise ProblemError(f"stopping must not call itself by a name of this package; got {name!r}")
    proven = bool(getattr(stopping, "guaranteed", False))
    return StoppingRule(
        name, "written in Python", "by its author" if proven else NO_GUARANTEE, judge
    )


class Setup(NamedTuple):
    """The problem that a rule is compiled for.

    Attributes
    ----------
    setting
        The question as kernels read it.
    question
        The question.
    truth
        The instance, for sampling rules that use the true means; None outside of simulations.
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
        Kernel (setting, struct, state, testing) -> bool. It estimates the means and, if `testing`,
        says whether the measurements are enough to answer.
    """

    struct: Struct
    judge: Kernel


def compile_stopping(rule: StoppingRule, setup: Setup) -> CompiledStopping:
    """Compile a rule; one written in Python gets the estimates of `heuristic`.

    Parameters
    ----------
    rule
        The rule.
    setup
        The problem that it is compiled for.

    Returns
    -------
    CompiledStopping
        Its struct and its kernel.
    """
    setting = setup.setting
    if rule.name == "guaranteed":
        return _proof(setting)
    settles = rule.name == "glr-selective"
    if rule.name in PUBLISHED_RULES and setting.eps == 0.0:
        test = new_ratio_test(setting, setup.question.model, settles, setup.estimates)
        return CompiledStopping(test, judge_ratio)
    name = "heuristic" if rule.judge is not None else rule.name.removesuffix("-selective")
    return CompiledStopping(new_projected_test(setting, name), judge_projected)


def _proof(setting: Setting) -> CompiledStopping:
    (K, d), unknown = setting.X.shape, setting.noise_model == UNKNOWN
    structured = setting.structured and not unknown
    noise = np.sqrt(setting.variance)
    families = families_of(K, setting.m, structured, setting.delta, noise)
    plain = Proof.zeros(
        {"K": K, "d": d, "n": len(families.linear.scales)},
        families=families,
        diagonal=Diagonal.zeros({"K": K}, search=search_space(setting.X, setting.basis, setting.m)),
        all_arms=AllArms.zeros({"K": K}, left=np.inf),
        two_arms_total=families.two_arms.total,
        spread=_spread(setting, families),
    )
    if setting.noise_model in (KNOWN, EQUAL):
        return CompiledStopping(plain, judge_proof)
    adaptive = Adaptive(
        **plain.fields(),
        tilts=tilts_of(NOISE_MODELS[setting.noise_model]),
        shifts=shifts(K),
        # With unknown noise all rules read the estimated variances. With bounded values the
        # families along the features read variances that follow from the range.
        guess=setting if unknown else setting.replace(variance=setting.variance.copy()),
    )
    return CompiledStopping(adaptive, judge_adaptive)


def _spread(setting: Setting, families: Families) -> EveryNoise:
    units = families.copy()
    if setting.noise_model != EQUAL:
        return EveryNoise.zeros({"S": 0, "R": 0, "J": 0}, units=units)
    every = (units.two_arms, units.linear, units.diagonal)
    return EveryNoise.zeros(
        {"S": max(len(family.scales) for family in every), "R": len(TILTS)},
        take=take_noise.address,
        hold=hold_for_every_noise.address,
        units=units,
        dimension=setting.X.shape[1],
        tilts=np.array(TILTS),
        shares=np.log(SHARES),
        ends=cell_ends(),
    )
