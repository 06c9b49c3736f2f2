"""The algorithms that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mislid.algorithms.compositions import (
    LUCB,
    Algorithm,
    BestResponse,
    LinGapE,
    LinGIFA,
    MisLid,
    Oracle,
    Uniform,
)
from mislid.algorithms.parts import AdaHedge, CTracking, Empirical, Optimistic
from mislid.errors import ProblemError

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "mislid": BestResponse(),
        "mislid-paper": MisLid(),
        "mislid-authors": MisLid(
            learner=AdaHedge(gap=0.01), gain=Optimistic(bonus="authors"), authors=True
        ),
        "mislid-authors-tricks": MisLid(
            learner=AdaHedge(gap=0.01), gain=Empirical(), pulls=None, subset=None, authors=True
        ),
        "mislid-authors-greedy": BestResponse(
            exploration=0.0, every_arm=False, pulls=None, subset=None, authors=True
        ),
        "lingape": LinGapE(),
        "lingifa": LinGIFA(),
        "lucb": LUCB(),
        "lucb-authors": LUCB(authors=True),
        "lingame": MisLid(sampling=CTracking(), per_answer=True),
        "uniform": Uniform(),
        "oracle": Oracle(),
    }
)


def as_algorithm(algorithm: str | Algorithm) -> Algorithm:
    """The algorithm itself, or the one of this name.

    Examples
    --------
    >>> as_algorithm("lucb")
    LUCB(authors=False)
    """
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm not in ALGORITHMS:
        names = ", ".join(ALGORITHMS)
        raise ProblemError(f"algorithm must be one of {names}, or composed; got {algorithm!r}")
    return ALGORITHMS[algorithm]
