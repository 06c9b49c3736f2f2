"""Changes of a study's question: added and retired candidates, and new declarations.

Arms in the log are indices in the register, which lists all candidates in the order in which they
were added. The question is about a subset of them. docs/changing.md has the proof of `price`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import (
    Labels,
    Vector,
    as_costs,
    as_flag,
    as_noise,
    frozen,
    in_order,
)
from mislid.errors import ProblemError
from mislid.question import parse_noise
from mislid.study.candidates import Candidates
from mislid.study.events import Added, Decided, Fact, Redeclared, Retired
from mislid.study.settings import (
    KNOWN,
    Settings,
    as_deviations,
    as_misspecification,
    as_reason,
    question_of,
)

if TYPE_CHECKING:
    from mislid.study.state import StudyState


@dataclass(frozen=True)
class Roster:
    """All candidates that were ever in a study, and their status.

    Attributes
    ----------
    register
        All candidates, in the order in which they were added.
    settings
        The question as declared, with noise and costs of all candidates of the register.
    late
        Candidates added after the study began, as indices in the register.
    gone
        Candidates that left the question, as indices in the register.
    closed
        Candidates that can no longer be measured, as indices in the register.
    """

    register: Candidates
    settings: Settings
    late: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()

    @cached_property
    def arms(self) -> tuple[int, ...]:
        """The question's candidates, as indices in the register."""
        return tuple(arm for arm in range(self.register.K) if arm not in self.gone)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {arm: place for place, arm in enumerate(self.arms)}

    def place(self, arm: int) -> int | None:
        """Convert an index in the register to one in the question; None if the arm left."""
        if not self.gone and 0 <= arm < self.register.K:
            return arm
        return self._places.get(arm)

    @cached_property
    def candidates(self) -> Candidates:
        """The question's candidates."""
        if not self.gone and not self.late:
            return self.register
        rows = list(self.arms)
        given = self.register
        features = None if given.features is None else frozen(given.features[rows])
        labels: Any = tuple(given.labels[arm] for arm in rows)
        late = tuple(place for place, arm in enumerate(rows) if arm in self.late)
        return Candidates(labels, features, given.columns, late)

    @cached_property
    def question(self) -> Settings:
        """The settings for the rules: the question's candidates, with delta divided by `price`.

        Candidates that can no longer be measured have infinite cost.
        """
        was = self.settings
        if not (self.gone or self.closed) and self.price == 1:
            return was
        costs = np.broadcast_to(np.array(was.cost or (1.0,)), (self.register.K,)).copy()
        costs[list(self.closed)] = math.inf
        kept = [costs[arm].item() for arm in self.arms]
        return replace(
            was,
            delta=was.delta / self.price,
            promised=None if self.price == 1 else was.delta,
            noise=self._kept(was.noise),
            cost=None if was.cost is None and set(kept) == {1.0} else tuple(kept),
        )

    @cached_property
    def measurable(self) -> dict[int, int]:
        """Map from indices in the question to those in the register, for measurable candidates."""
        costs = self.question.cost or (1.0,) * len(self.arms)
        pairs = enumerate(zip(self.arms, costs, strict=True))
        return {place: arm for place, (arm, cost) in pairs if math.isfinite(cost)}

    @cached_property
    def costs(self) -> Vector | None:
        """Declared costs (K,) of the question's candidates; None if costs were not declared."""
        given = self.settings.cost
        return None if given is None else np.array([given[arm] for arm in self.arms])

    def recorded(self, decision: Decided) -> Decided:
        """Convert a decision's arms from the question to the register, as the log has them."""
        return self._renamed(decision, self.arms)

    def present(self, decision: Decided) -> Decided:
        """Convert a decision's arms from the register to the question."""
        return self._renamed(decision, self._places)

    def _renamed(self, decision: Decided, names: Mapping[int, int] | Sequence[int]) -> Decided:
        if not self.gone:
            return decision
        challenger, incumbent = decision.pair
        return decision._replace(
            answer=tuple(names[arm] for arm in decision.answer),
            pair=(names[challenger], names[incumbent]),
        )

    def _kept(self, values: tuple[float, ...]) -> tuple[float, ...]:
        return values if len(values) == 1 else tuple(values[arm] for arm in self.arms)

    @property
    def price(self) -> int:
        """Divisor of delta, which pays for the choice among possible questions.

        For n candidates that were added or left, A of them added, it has three factors. The first
        is n (n + 1)^2, whose inverses add up to 1 over all n and A. The second is the number of
        ways to choose those that left. The third, if any were added, is the ratio of all ordered
        pairs to those of one answer, because the m best depend on which candidates are added.
        """
        added, left = len(self.late), len(self.gone)
        n = added + left
        if n == 0:
            return 1
        K, m = len(self.arms), self.settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if added else 1
        return n * (n + 1) ** 2 * pairs * math.comb(self.register.K, left)

    def after(self, fact: Added | Retired | Redeclared) -> Roster:
        """The roster after a change or a declaration."""
        match fact:
            case Added():
                return self._with(fact)
            case Retired(arm, leaves):
                gone = self.gone | {arm} if leaves else self.gone
                return replace(self, closed=self.closed | {arm}, gone=gone)
            case Redeclared(misspecification, noise):
                return self._declared(misspecification, noise)

    def _declared(self, misspecification: float | None, noise: tuple[float, ...] | None) -> Roster:
        """The roster with new declarations; `noise` is that of the question's candidates."""
        # M must be the same for all declarations, so features keep their initial weight.
        changes: dict[str, Any] = {"structured": self.settings.is_structured}
        if misspecification is not None:
            changes["misspecification"] = misspecification
        if noise is not None:
            changes["noise"] = noise
            if len(noise) > 1 and self.gone:
                spread = self.settings.deviations(self.register.K)
                spread[list(self.arms)] = noise
                changes["noise"] = tuple(spread.tolist())
        return replace(self, settings=replace(self.settings, **changes))

    def _with(self, added: Added) -> Roster:
        """The roster with added candidates."""
        was, K, more, now = self.register, self.register.K, added.candidates, self.settings
        features = None
        if was.features is not None and more.features is not None:
            features = frozen(np.concatenate([was.features, more.features]))
        labels: Any = (*was.labels, *more.labels)
        cost = None if now.cost is None else (*now.cost, *(added.cost or ()))
        return replace(
            self,
            register=Candidates(labels, features, was.columns),
            settings=replace(now, cost=cost),
            late=self.late.union(range(K, K + more.K)),
        )


def add(state: StudyState, given: Candidates, noise: Any, cost: Any, reason: Any) -> list[Fact]:
    """Facts that record added candidates."""
    roster, why = state.roster, as_reason(reason)
    more = _as_more(roster, given)
    _refuse_other_noise(roster.settings, noise, more.labels)
    added = Added(more, _as_cost(roster, cost, more.labels), why)
    # Refuse a question that no rule can answer before anything is written.
    now = roster.after(added)
    question_of(now.question, now.candidates)
    return [added]


def retire(state: StudyState, label: Any, leaves: Any, reason: Any) -> list[Fact]:
    """Facts that record a retired candidate; none if it was retired before."""
    roster, why = state.roster, as_reason(reason)
    leaving = as_flag(leaves, "leave")
    arm = roster.arms[state.candidates.arm(label)]
    if arm in roster.closed and not leaving:
        return []
    retired = Retired(arm, leaving, why)
    if leaving:
        _refuse_last(roster, label)
    elif not any(one.arm == roster.place(arm) for one in state.observations):
        raise ProblemError(
            f"arm must be one that was measured, to stay in the comparison; got {label!r}, which "
            "was not: let it leave the question (leave=True), or measure it"
        )
    _refuse_none_left(roster.after(retired), label)
    return [retired]


def redeclare(state: StudyState, misspecification: Any, noise: Any, reason: Any) -> list[Fact]:
    """Facts that record new declarations; none if they equal the current ones."""
    was, K, why = state.settings, state.candidates.K, as_reason(reason)
    eps = spread = None
    if misspecification is not None:
        eps = as_misspecification(misspecification, state.candidates)[0]
    if noise is not None:
        kind, deviations, _ = parse_noise(in_order(noise, "noise", state.candidates.labels), K)
        if was.noise_model != KNOWN or kind != KNOWN:
            raise ProblemError(
                "noise must be a number, or one for each candidate, of a study whose noise was "
                f"declared as such; got {shown(noise)} where it is {was.noise_words}"
            )
        spread = as_deviations(deviations)
        if state.roster.late and len(spread) > 1:
            raise ProblemError(
                "noise must be the same for all candidates after some were added, since evidence "
                f"is measured in it; got {noise!r}"
            )
    eps = None if eps == was.misspecification else eps
    spread = None if spread == was.noise else spread
    return [] if eps is None and spread is None else [Redeclared(eps, spread, why)]


def _as_more(roster: Roster, more: Candidates) -> Candidates:
    was = roster.register
    if "" in more.labels:
        raise ProblemError("candidates must have names that are not empty; got ''")
    known = [label for label in more.labels if label in was.positions]
    if known:
        raise ProblemError(
            f"candidates must be new to the study; got {known[0]!r}, which is or was in it"
        )
    if {type(label) for label in more.labels} != {type(label) for label in was.labels}:
        raise ProblemError(
            f"candidates must be named as the others are, such as {was.labels[0]!r}; got "
            f"{more.labels[0]!r}"
        )
    if (was.features is None) != (more.features is None):
        wanted = "no features, as" if was.features is None else "features, as"
        raise ProblemError(f"candidates must have {wanted} the others do")
    return _in_columns(was, more)


def _in_columns(was: Candidates, more: Candidates) -> Candidates:
    """New candidates with features in the study's columns, including its constant one."""
    if was.features is None or more.features is None:
        return more
    shown, features = was.shown, more.features
    if more.columns is not None and was.columns is not None:
        missing = [name for name in shown if name not in more.columns]
        if missing or len(more.columns) != len(shown):
            raise ProblemError(
                f"candidates must have the features {', '.join(map(repr, shown))}; got "
                f"{', '.join(map(repr, more.columns))}"
            )
        features = features[:, [more.columns.index(name) for name in shown]]
    if features.shape[1] != len(shown):
        raise ProblemError(
            f"candidates must have {len(shown)} features, as the others do; got {features.shape[1]}"
        )
    if len(shown) < was.features.shape[1]:
        features = np.column_stack([features, np.ones(len(features))])
    return Candidates(more.labels, frozen(features))


def _refuse_other_noise(was: Settings, noise: Any, labels: Labels) -> None:
    """Refuse new candidates unless they have the noise of all others."""
    if was.noise_model != KNOWN:
        if noise is not None:
            raise ProblemError(
                f"noise must be left out in a study whose noise is {was.noise_words}; got {noise!r}"
            )
        return
    given = was.noise if noise is None else as_noise(in_order(noise, "noise", labels), len(labels))
    if len(was.noise) > 1 or np.any(given != np.array(was.noise)):
        raise ProblemError(
            "noise must be the same for all candidates where some are added, since evidence is "
            f"measured in it; got {shown(noise)} where it is {was.noise_words}"
        )


def _as_cost(roster: Roster, cost: Any, labels: Labels) -> tuple[float, ...] | None:
    if cost is None:
        if roster.settings.cost is not None:
            raise ProblemError("cost must be given for new candidates, as the others have one")
        return None
    if roster.settings.cost is None:
        raise ProblemError(f"cost must be left out in a study without costs; got {cost!r}")
    return tuple(as_costs(in_order(cost, "cost", labels), len(labels)).tolist())


def _refuse_last(roster: Roster, label: Any) -> None:
    m = roster.settings.m
    if len(roster.arms) - 1 <= m:
        raise ProblemError(
            f"arm must leave more than the {m} candidates that are asked for; got {label!r}, one "
            f"of {len(roster.arms)}"
        )


def _refuse_none_left(roster: Roster, label: Any) -> None:
    if not roster.measurable:
        raise ProblemError(
            f"arm must not be the last one that can be measured; got {label!r}: nothing could be "
            "asked any more"
        )
    question_of(roster.question, roster.candidates)
