"""Sampling rules of others, as records of options; docs/algorithms.md has them all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from mislid.algorithms.compositions import Algorithm
from mislid.algorithms.options import number, or_none, whole


@dataclass(frozen=True)
class Rival(Algorithm):
    """An index rule that does not look for alternatives; all arms once first, and its own test."""

    own_test = True
    every_arm = True


@dataclass(frozen=True)
class LUCB(Rival):
    """LUCB on the empirical means.

    Attributes
    ----------
    authors
        Whether intervals have the width of the published runs instead of sqrt(2 beta / N).
    """

    authors: bool = False


@dataclass(frozen=True)
class LinGapE(Rival):
    """LinGapE for top-m: trusts the linear model, with a ridge of one.

    Attributes
    ----------
    growth
        Pairs are chosen by widths sqrt(2 (ln(1/delta) + growth ln(t + 1))); None for those that the
        stopping rule asks for.
    """

    can_select = True
    _permitted: ClassVar = {
        "growth": or_none(number("a number above 0", lambda x: 0 < x < math.inf))
    }

    growth: float | None = None


@dataclass(frozen=True)
class LinGIFA(Rival):
    """LinGIFA (Réda, Kaufmann and Delahaye-Duriez 2021): gap indices of all pairs of arms.

    Attributes
    ----------
    greedy
        Whether to measure the arm that tells most about the most ambiguous pair, instead of the
        less certain one of the pair.
    """

    can_select = True
    greedy: bool = True


@dataclass(frozen=True)
class UGapE(Rival):
    """UGapE (Gabillon, Ghavamzadeh and Lazaric 2012): gap indices of arms, without features."""


@dataclass(frozen=True)
class FrankWolfe(Algorithm):
    """FWS: one step of Frank-Wolfe a round (Wang, Tzeng and Proutiere 2021).

    The step goes where all alternatives gain that are nearly as close as the closest, by a small
    linear program; the arm furthest behind the plan is measured.
    """

    can_select = True
    every_arm = True


@dataclass(frozen=True)
class LazyTrackAndStop(Algorithm):
    """Lazy Track-and-Stop (Jedra and Proutiere 2020): the optimal allocation of the estimates.

    It is planned anew whenever the number of samples has doubled, by 1,000 steps of Frank-Wolfe,
    and the sum of the plans is followed.

    Attributes
    ----------
    own_test
        Whether its own threshold takes the place of that of the stopping rule "heuristic". It is
        proved for linear means.
    """

    can_select = True
    own_test: bool = True


@dataclass(frozen=True)
class Drawing(Algorithm):
    """What rules share that draw until a draw answers otherwise; all arms once first."""

    draws: int = 100

    every_arm = True
    _permitted: ClassVar = {"draws": whole(0)}


@dataclass(frozen=True)
class PEPS(Drawing):
    """PEPS (Li, Jamieson and Jain 2024): AdaHedge against alternatives drawn from the posterior.

    Attributes
    ----------
    draws
        At most so many a round until one answers otherwise; then the most likely one that does
        takes its place. The number that would be needed grows exponentially with the evidence.
    """


@dataclass(frozen=True)
class TopTwoIDS(Drawing):
    """Top-two Thompson sampling, information-directed (You, Qin, Wang and Yang 2023).

    Two draws with different answers give a pair; an arm is measured in proportion to what its
    measurements so far say about it.

    Attributes
    ----------
    draws
        At most so many a round for the second; then the closest alternative gives the pair.
    """


@dataclass(frozen=True)
class TopTwo(Algorithm):
    """EB-TCI (Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022).

    Of the pair of an incumbent and a challenger with the least cost plus logarithms of its counts,
    one arm is measured.

    Attributes
    ----------
    share
        How often that is the incumbent, in (0, 1).
    """

    can_select = True
    every_arm = True
    _permitted: ClassVar = {"share": number("a number above 0 and below 1", lambda x: 0 < x < 1)}

    share: float = 0.5


@dataclass(frozen=True)
class Phased(Algorithm):
    """Rules that plan many measurements at once; a study can hand out all of them together."""

    own_test = True


@dataclass(frozen=True)
class RAGE(Phased):
    """RAGE (Fiez, Jain, Jamieson and Ratliff 2019): every phase halves what is resolved.

    Attributes
    ----------
    fresh
        Whether a phase is judged by its own measurements only, as its proof needs. False judges by
        all, as the runs of Tirinzoni and Degenne (2022) did.
    """

    fresh: bool = True


@dataclass(frozen=True)
class XYAdaptive(Phased):
    """XY-adaptive (Soare, Lazaric and Munos 2014): phases that shrink the open pairs' variance.

    Attributes
    ----------
    shrink
        By how much a phase shrinks variance over measurements (the paper's alpha), in (0, 1).
    first
        Measurements that the first phase is compared with (the paper's n_0); None for its
        d (d + 1) + 1.
    fresh
        As for `RAGE`; with False a phase's length counts all measurements.
    """

    _permitted: ClassVar = {
        "shrink": number("above 0 and below 1", lambda x: 0 < x < 1),
        "first": or_none(number("at least 1", lambda x: 1 <= x < math.inf)),
    }

    shrink: float = 0.1
    first: int | None = None
    fresh: bool = True


@dataclass(frozen=True)
class XYStatic(Phased):
    """XY-static (Soare, Lazaric and Munos 2014): one design for all pairs, whatever comes out."""
