"""Algorithms that plan an allocation, and let the measurements follow it."""

from __future__ import annotations

from dataclasses import dataclass

from mislid.algorithms.compositions import Algorithm


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
