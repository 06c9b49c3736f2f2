"""Parts of the game's sampling rules: learners, gains, and ways from an allocation to an arm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from mislid.algorithms.options import Allowed, number

_BONUSES = ("paper", "authors", "linear")
_BONUS = Allowed(
    "'paper', 'authors' or 'linear'", lambda value: isinstance(value, str) and value in _BONUSES
)


@dataclass(frozen=True)
class AdaHedge:
    """The paper's learner, which needs no rate.

    Attributes
    ----------
    gap
        The mixability gap that it starts with.
    """

    _permitted: ClassVar = {"gap": number("a number at least 0", lambda gap: 0 <= gap < math.inf)}

    gap: float = 0.0


@dataclass(frozen=True)
class ExponentialWeights:
    """Exponential weights with rate sqrt(8 ln K / t) / range.

    Attributes
    ----------
    range
        Gains are between 0 and this.
    """

    _permitted: ClassVar = {"range": number("a number above 0", lambda range_: range_ > 0)}

    range: float = 1.0


@dataclass(frozen=True)
class FollowTheLeader:
    """All weight on the arm with the largest sum of gains."""


Learner = AdaHedge | ExponentialWeights | FollowTheLeader


@dataclass(frozen=True)
class Optimistic:
    """Gains `(|mu - lambda| + sqrt(c))^2`.

    Attributes
    ----------
    bonus
        Whether c is that of the paper's text or of its runs; "linear" for that of LinGame's runs,
        `2 ln(t) |x|^2_{V^-1}` with gains of at most ln(t).
    """

    _permitted: ClassVar = {"bonus": _BONUS}

    bonus: Literal["paper", "authors", "linear"] = "paper"


@dataclass(frozen=True)
class Aggressive:
    """Gains (mu - lambda)^2 + c: optimism of lower order, within a factor 2 of the lower bound.

    Attributes
    ----------
    bonus
        As for `Optimistic`.
    """

    _permitted: ClassVar = {"bonus": _BONUS}

    bonus: Literal["paper", "authors", "linear"] = "paper"


@dataclass(frozen=True)
class Empirical:
    """Gains (mu - lambda)^2: what the estimate says."""


Gain = Optimistic | Aggressive | Empirical


@dataclass(frozen=True)
class Direct:
    """Arms drawn from the allocation (the paper's choice)."""


@dataclass(frozen=True)
class CTracking:
    """The arm furthest behind the sum of the allocations.

    Attributes
    ----------
    forced
        Whether arms with fewer than sqrt(t) - K/2 measurements go first.
    """

    forced: bool = False


@dataclass(frozen=True)
class DTracking:
    """The arm furthest behind t times the present allocation.

    Attributes
    ----------
    forced
        As for `CTracking`; here by default.
    """

    forced: bool = True


Sampling = Direct | CTracking | DTracking
