"""Algorithms: a sampling rule, what it measures first, and its details.

An algorithm says which arms to measure; when to stop is another rule's business. `setup` turns it
into the codes and arrays of the compiled rules for one problem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid.algorithms.parts import (
    AdaHedge,
    Aggressive,
    CTracking,
    Direct,
    DTracking,
    Empirical,
    ExponentialWeights,
    Gain,
    Learner,
    Optimistic,
    Sampling,
)
from mislid.errors import ProblemError
from mislid.geometry.time import characteristic_time

if TYPE_CHECKING:
    from mislid.model import Instance, Model
    from mislid.rules._propose import Sampler
    from mislid.rules._rivals import Rivals
    from mislid.rules._state import Setting


@dataclass(frozen=True)
class Algorithm:
    """What all algorithms share.

    `own_test` marks rules that come with a stopping test of their own, used in its place when the
    heuristic stopping rule is asked for, as in the published runs. `every_arm` measures all arms
    once first instead of a barycentric spanner.
    """

    own_test = False
    every_arm = False

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """What to change in the plan."""
        raise NotImplementedError

    def known(self, truth: Instance | None, setting: Setting) -> dict[str, Any]:
        """What to change in the plan besides, for a rule that knows the true means."""
        return {}

    def check(self, model: Model, m: int) -> None:
        """Refuse what the algorithm is not made for."""

    def setup(
        self, setting: Setting, model: Model, truth: Instance | None = None
    ) -> tuple[Sampler, Rivals | None]:
        """The compiled rule for one problem; only a simulation knows the truth."""
        from mislid.rules._plan import new_memory, new_plan
        from mislid.rules._propose import Sampler

        K, d = setting.X.shape
        plan = new_plan(K, **self.codes(model, setting.m), **self.known(truth, setting))
        learners = K if plan.per_answer else 1
        # As many recent challengers as the published runs kept.
        memory = new_memory(K, learners, self.first_gap(), setting.m + d + 2)
        return Sampler(plan, memory), self.rivals(setting, model)

    def rivals(self, setting: Setting, model: Model) -> Rivals | None:
        """What rules that do not look for alternatives need besides."""
        return None

    def patience(self, first: int, d: int, gamma: float) -> int:
        """How many samples to take before the first test, of which `first` are the design."""
        if not getattr(self, "authors", False):
            return 0
        # The published runs: not before the first draw; on a grid, a little later.
        return max(5 * d, 10) if gamma > 1.0 else first

    def first_gap(self) -> float:
        """The mixability gap that AdaHedge starts with."""
        return 0.0


def _gain_codes(gain: Gain) -> dict[str, int]:
    from mislid.rules import _plan as rules

    kinds = {Optimistic: rules.OPTIMISTIC, Aggressive: rules.AGGRESSIVE, Empirical: rules.EMPIRICAL}
    authors = getattr(gain, "bonus", "paper") == "authors"
    bonus = rules.AUTHORS_BONUS if authors else rules.PAPER_BONUS
    return {"gain": kinds[type(gain)], "bonus": bonus}


def _trick_codes(pulls: int | None, subset: int | None, d: int) -> dict[str, int]:
    codes = {"pulls": d if pulls is None else pulls, "subset": d if subset is None else subset}
    for (name, value), least in zip(codes.items(), (1, 0), strict=True):
        if value < least:
            raise ProblemError(f"{name} must be at least {least}; got {value}")
    return codes


@dataclass(frozen=True)
class MisLid(Algorithm):
    """The paper's game between a learner and the closest alternative (Algorithm 1).

    `steps` updates of the learner and `pulls` measurements a round; `subset` lets the alternative
    use only that many random challengers besides recent ones, 0 for all (None in either: as many as
    there are features); `per_answer` keeps one learner per answer, as LinGame does for m = 1;
    `authors` follows the details of the published runs.
    """

    learner: Learner = field(default_factory=AdaHedge)
    gain: Gain = field(default_factory=Optimistic)
    sampling: Sampling = field(default_factory=Direct)
    steps: int = 1
    pulls: int | None = 1
    subset: int | None = 0
    per_answer: bool = False
    authors: bool = False

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The game's codes."""
        from mislid.rules import _plan as rules

        learner = rules.FOLLOW_THE_LEADER
        if isinstance(self.learner, AdaHedge):
            learner = rules.ADAHEDGE
        elif isinstance(self.learner, ExponentialWeights):
            learner = rules.EXPONENTIAL_WEIGHTS
        tracking = {
            Direct: rules.DIRECT,
            CTracking: rules.C_TRACKING,
            DTracking: rules.D_TRACKING,
        }[type(self.sampling)]
        return {
            "sampler": rules.GAME,
            "learner": learner,
            "range": getattr(self.learner, "range", 1.0),
            "tracking": tracking,
            "forced": getattr(self.sampling, "forced", False),
            "steps": self.steps,
            **_trick_codes(self.pulls, self.subset, model.d),
            "per_answer": self.per_answer,
            "authors": self.authors,
            **_gain_codes(self.gain),
        }

    def check(self, model: Model, m: int) -> None:
        """One learner per answer is for one best arm."""
        if self.per_answer and m != 1:
            raise ProblemError(f"m must be 1 for an algorithm with a learner per answer; got {m}")

    def first_gap(self) -> float:
        """AdaHedge's."""
        return self.learner.gap if isinstance(self.learner, AdaHedge) else 0.0


@dataclass(frozen=True)
class BestResponse(Algorithm):
    """Measure where the alternative closest to the data so far is told apart best.

    The gain is divided by counts^power. An arm with fewer than `exploration` sqrt(t) measurements
    goes first. `pulls`, `subset` and `authors` are those of `MisLid`.
    """

    gain: Gain = field(default_factory=Empirical)
    power: float = 0.0
    exploration: float = 0.3
    every_arm: bool = True
    pulls: int | None = 1
    subset: int | None = 0
    authors: bool = False

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {
            "sampler": rules.BEST_RESPONSE,
            "power": self.power,
            "exploration": self.exploration,
            **_trick_codes(self.pulls, self.subset, model.d),
            "authors": self.authors,
            **_gain_codes(self.gain),
        }


@dataclass(frozen=True)
class Rival(Algorithm):
    """An index rule that does not look for alternatives; all arms once first, and its own test."""

    own_test = True
    every_arm = True

    def rivals(self, setting: Setting, model: Model) -> Rivals:
        """Its regression, with a ridge in the coordinates of the features as they were given."""
        from mislid.rules._lingifa import new_gap_space
        from mislid.rules._rivals import Rivals

        corner = np.ascontiguousarray(model.features[setting.basis])
        gaps = new_gap_space(setting, corner, pairs=isinstance(self, LinGIFA))
        return Rivals(gaps, -float(np.log(setting.delta)))


@dataclass(frozen=True)
class LUCB(Rival):
    """LUCB on the empirical means, width sqrt(2 beta / N), or that of the published runs."""

    authors: bool = False

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {"sampler": rules.LUCB, "authors": self.authors}


@dataclass(frozen=True)
class LinGapE(Rival):
    """LinGapE for top-m: trusts the linear model, with a ridge of one."""

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {"sampler": rules.LINGAPE}


@dataclass(frozen=True)
class LinGIFA(Rival):
    """LinGIFA (Réda, Kaufmann and Delahaye-Duriez 2021): gap indices of all pairs of arms."""

    greedy: bool = True

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {"sampler": rules.LINGIFA, "greedy": self.greedy}


@dataclass(frozen=True)
class Uniform(Algorithm):
    """Every arm in turn."""

    every_arm = True

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {"sampler": rules.UNIFORM}


@dataclass(frozen=True)
class Oracle(Algorithm):
    """Tracks the optimal allocation of the true means: a yardstick, not a method."""

    def codes(self, model: Model, m: int) -> dict[str, Any]:
        """The rule's codes."""
        from mislid.rules import _plan as rules

        return {"sampler": rules.FIXED, "tracking": rules.D_TRACKING}

    def known(self, truth: Instance | None, setting: Setting) -> dict[str, Any]:
        """The optimal allocation."""
        if truth is None:
            raise ProblemError("algorithm must not be 'oracle' where the true means are unknown")
        time = characteristic_time(
            truth.model, truth.means, setting.m, noise=truth.noise, tolerance=setting.tol
        )
        return {"allocation": np.ascontiguousarray(time.allocation)}
