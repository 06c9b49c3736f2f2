"""The algorithms that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoints, entry_points
from types import MappingProxyType
from typing import Any

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


# Other packages add algorithms to this group of entry points, by name.
ENTRY_POINTS = "mislid.algorithms"


def algorithm_names() -> tuple[str, ...]:
    """All names that `algorithm=` takes: those of this package, then those of others.

    Returns
    -------
    tuple of str
        Without repetition.

    Examples
    --------
    >>> algorithm_names()[:2]
    ('mislid', 'mislid-paper')
    """
    return tuple(dict.fromkeys([*ALGORITHMS, *(point.name for point in _entry_points())]))


def _entry_points() -> EntryPoints:
    return entry_points(group=ENTRY_POINTS)


def as_algorithm(algorithm: Any) -> Any:
    """The algorithm itself, or the one of this name.

    Parameters
    ----------
    algorithm
        A name, a composition, or any object with `propose(view)`.

    Returns
    -------
    Algorithm or object
        An `Algorithm`, or the object.

    Raises
    ------
    ProblemError
        If there is no such algorithm, or what was given is none.

    Examples
    --------
    >>> as_algorithm("lucb")
    LUCB(authors=False)
    """
    if isinstance(algorithm, str):
        return _named(algorithm)
    if isinstance(algorithm, Algorithm):
        return algorithm
    if isinstance(algorithm, type) or not callable(getattr(algorithm, "propose", None)):
        raise _unknown(algorithm)
    return algorithm


def _unknown(algorithm: object) -> ProblemError:
    names = ", ".join(algorithm_names())
    return ProblemError(
        f"algorithm must be one of {names}, composed, or an object with propose(view); "
        f"got {algorithm!r}"
    )


def _named(name: str) -> Any:
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    found = [point for point in _entry_points() if point.name == name]
    if not found:
        raise _unknown(name)
    try:
        loaded = found[0].load()
    except Exception as problem:
        raise ProblemError(
            f"algorithm {name!r} could not be loaded from {found[0].value!r}: {problem}"
        ) from problem
    return as_algorithm(loaded() if isinstance(loaded, type) else loaded)
