"""Which candidates a study is about, as they come and go, and what that costs.

Arms of the log are counted in the order in which they came, for ever: the register. The question is
about those of them that are in it. docs/changing.md has the proof of `price`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mislid._validation import Vector, frozen
from mislid.study.candidates import Candidates
from mislid.study.facts import Accepted, Added, Decided, Redeclared, Retired
from mislid.study.settings import Settings


@dataclass(frozen=True)
class Census:
    """All candidates that ever were in a study.

    Attributes
    ----------
    register
        All of them, in the order in which they came.
    settings
        The question as declared, with noise and costs of all of the register.
    late
        Those that were added after a look at values, by their place in the register.
    gone
        Those that left the question.
    seen
        Those of them that left after a look at values.
    closed
        Those that cannot be measured any more.
    """

    register: Candidates
    settings: Settings
    late: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()
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
        return replace(
            decision,
            answer=tuple(names[arm] for arm in decision.answer),
            pair=(names[challenger], names[incumbent]),
        )

    def _kept(self, values: tuple[float, ...]) -> tuple[float, ...]:
        return values if len(values) == 1 else tuple(values[arm] for arm in self.arms)

    @property
    def price(self) -> int:
        """What delta is divided by: the number of questions that this one may have been chosen of.

        With n candidates that came or left after a look, A of them new: n (n + 1)^2, which adds up
        to 1 over all n and A; which ones left; and with new ones, all ordered pairs over those of
        one answer, since who is among the m best depends on who comes.
        """
        added, left = len(self.late), len(self.seen)
        n = added + left
        if n == 0:
            return 1
        K, m = len(self.arms), self.settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if added else 1
        return n * (n + 1) ** 2 * pairs * math.comb(self.register.K, left)

    def after(self, fact: Added | Retired | Redeclared | Accepted) -> Census:
        """As a change or a declaration makes it."""
        match fact:
            case Added(more, noise, cost, informed):
                return self.with_more(more, noise, cost, informed)
            case Retired(arm, leaves, informed):
                return self.without(arm, leaves, informed)
            case Redeclared(misspecification, noise):
                return self._declared(misspecification, noise)
            case Accepted(misspecification):
                return self._declared(misspecification, None)

    def _declared(self, misspecification: float | None, noise: tuple[float, ...] | None) -> Census:
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

    def with_more(
        self,
        more: Candidates,
        noise: tuple[float, ...] | None,
        cost: tuple[float, ...] | None,
        informed: bool,
    ) -> Census:
        """With candidates that were added; noise and costs are given where they differ."""
        was, K, now = self.register, self.register.K, self.settings
        features = None
        if was.features is not None and more.features is not None:
            features = frozen(np.concatenate([was.features, more.features]))
        labels: Any = (*was.labels, *more.labels)
        register = Candidates(labels, features, was.columns)
        new = frozenset(range(K, register.K))
        return replace(
            self,
            register=register,
            settings=replace(
                now,
                noise=_extended(now.noise, K, noise, more.K) or now.noise,
                cost=_extended(now.cost, K, cost, more.K),
            ),
            late=self.late | new if informed else self.late,
        )

    def without(self, arm: int, leaves: bool, informed: bool) -> Census:
        """With an arm that cannot be measured any more, or that is left out of the question."""
        if not leaves:
            return replace(self, closed=self.closed | {arm})
        seen = self.seen | {arm} if informed else self.seen
        return replace(self, gone=self.gone | {arm}, closed=self.closed | {arm}, seen=seen)


def _extended(
    was: tuple[float, ...] | None, K: int, more: tuple[float, ...] | None, n: int
) -> tuple[float, ...] | None:
    """What all had, and what n more have; nothing where all have the same."""
    if more is None and (was is None or len(was) == 1):
        return was
    before, after = was or (1.0,), more or (1.0,)
    return (*np.broadcast_to(before, K).tolist(), *np.broadcast_to(after, n).tolist())
