"""The question of a study as it changes: candidates that come and go, other declarations.

The register counts arms of the log in the order in which they came; the question is about some of
them. docs/changing.md has the proof of `price`.
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
    """All candidates that ever were in a study.

    Attributes
    ----------
    register
        All of them, in the order in which they came.
    settings
        The question as declared, with noise and costs of all of the register.
    late
        Those that were added, by their place in the register.
    gone
        Those that left the question.
    closed
        Those that cannot be measured any more.
    """

    register: Candidates
    settings: Settings
    late: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()

    @cached_property
    def arms(self) -> tuple[int, ...]:
        """The question's candidates, by their place in the register."""
        return tuple(arm for arm in range(self.register.K) if arm not in self.gone)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {arm: place for place, arm in enumerate(self.arms)}

    def place(self, arm: int) -> int | None:
        """Where an arm of the register is among the question's; None if it left."""
        if not self.gone and 0 <= arm < self.register.K:
            return arm
        return self._places.get(arm)

    @cached_property
    def candidates(self) -> Candidates:
        """Those of the question."""
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
        """The settings that rules go by: those of the question's candidates, at what delta is left.

        An infinite cost stands for what cannot be measured.
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
        """Those that can be measured: from their place in the question to that in the register."""
        costs = self.question.cost or (1.0,) * len(self.arms)
        pairs = enumerate(zip(self.arms, costs, strict=True))
        return {place: arm for place, (arm, cost) in pairs if math.isfinite(cost)}

    @cached_property
    def costs(self) -> Vector | None:
        """What a measurement of the question's candidates costs or cost (K,); None if not said."""
        given = self.settings.cost
        return None if given is None else np.array([given[arm] for arm in self.arms])

    def recorded(self, decision: Decided) -> Decided:
        """A decision as the log has it: with the register's arms."""
        return self._renamed(decision, self.arms)

    def present(self, decision: Decided) -> Decided:
        """A decision of the log with the question's arms."""
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
        """What delta is divided by: the number of questions that this one may have been chosen of.

        With n candidates that came or left, A of them new: n (n + 1)^2, which adds up to 1 over all
        n and A; which ones left; and with new ones, all ordered pairs over those of one answer,
        since who is among the m best depends on who comes.
        """
        added, left = len(self.late), len(self.gone)
        n = added + left
        if n == 0:
            return 1
        K, m = len(self.arms), self.settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if added else 1
        return n * (n + 1) ** 2 * pairs * math.comb(self.register.K, left)

    def after(self, fact: Added | Retired | Redeclared) -> Roster:
        """As a change or a declaration makes it."""
        match fact:
            case Added():
                return self._with(fact)
            case Retired(arm, leaves):
                gone = self.gone | {arm} if leaves else self.gone
                return replace(self, closed=self.closed | {arm}, gone=gone)
            case Redeclared(misspecification, noise):
                return self._declared(misspecification, noise)

    def _declared(self, misspecification: float | None, noise: tuple[float, ...] | None) -> Roster:
        """With other declarations, whose noise is that of the question's candidates."""
        # One M for all declarations: features keep the weight that they had from the beginning.
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
        """With candidates that were added."""
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
    """What is recorded when candidates are added."""
    roster, why = state.roster, as_reason(reason)
    more = _as_more(roster, given)
    _refuse_other_noise(roster.settings, noise, more.labels)
    added = Added(more, _as_cost(roster, cost, more.labels), why)
    # What no rule can answer is refused before anything is written.
    now = roster.after(added)
    question_of(now.question, now.candidates)
    return [added]


def retire(state: StudyState, label: Any, leaves: Any, reason: Any) -> list[Fact]:
    """What is recorded when a candidate is retired; nothing where it was."""
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
    """What is recorded when this is declared; nothing where it was."""
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
    """The features in the columns that the study has, one of which may be its own."""
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
    """Refuse new candidates unless they have the noise that all others have."""
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
