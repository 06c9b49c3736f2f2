"""The algorithms that have a name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mislid._words import shown
from mislid.algorithms import rivals
from mislid.algorithms.compositions import Algorithm, BestResponse, MisLid, Oracle, Uniform
from mislid.algorithms.parts import AdaHedge, CTracking, Empirical, Optimistic
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

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
        "lingape": rivals.LinGapE(),
        "lingifa": rivals.LinGIFA(),
        "lucb": rivals.LUCB(),
        "lucb-authors": rivals.LUCB(authors=True),
        "lingame": MisLid(
            learner=AdaHedge(gap=0.01),
            gain=Optimistic(bonus="linear"),
            sampling=CTracking(),
            per_answer=True,
            every_arm=True,
        ),
        "uniform": Uniform(),
        "oracle": Oracle(),
        "fws": rivals.FrankWolfe(),
        "lazy-tas": rivals.LazyTrackAndStop(),
        "peps": rivals.PEPS(),
        "top-two": rivals.TopTwo(),
        "top-two-ids": rivals.TopTwoIDS(),
        "rage": rivals.RAGE(),
        "ugape": rivals.UGapE(),
        "xy-adaptive": rivals.XYAdaptive(),
        "xy-static": rivals.XYStatic(),
    }
)
"""The sampling rules of the package, by their names; docs/algorithms.md says what each does."""


# Names that studies may have been created with before the ones above were settled.
_FORMER = {"lazy-track-and-stop": "lazy-tas", "eb-tci": "top-two"}

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


def is_algorithm_name(name: str) -> bool:
    """Whether there is an algorithm of this name here; former names count.

    >>> is_algorithm_name("lucb"), is_algorithm_name("coin-of-another-package")
    (True, False)
    """
    known = name in ALGORITHMS or name in _FORMER
    return known or any(point.name == name for point in _entry_points())


def _entry_points() -> EntryPoints:
    return _entry_points_on(tuple(sys.path))


@cache
def _entry_points_on(path: tuple[str, ...]) -> EntryPoints:
    """Those of the packages on the path, which take a while to find."""
    from importlib.metadata import entry_points

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
    if not _is_algorithm(algorithm):
        raise _unknown_error(algorithm)
    return algorithm


def _is_algorithm(value: Any) -> bool:
    composed = isinstance(value, Algorithm)
    return composed or (not isinstance(value, type) and callable(getattr(value, "propose", None)))


def _unknown_error(algorithm: object) -> ProblemError:
    names = ", ".join(algorithm_names())
    return ProblemError(
        f"algorithm must be one of {names}, composed, or an object with propose(view); "
        f"got {shown(algorithm)}"
    )


def _named(name: str) -> Any:
    name = _FORMER.get(name, name)
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    for point in _entry_points():
        if point.name == name:
            return _loaded(point)
    raise _unknown_error(name)


def _loaded(point: EntryPoint) -> Any:
    """What another package adds: an algorithm, or a class that makes one without arguments."""
    package = "another package" if point.dist is None else f"the package {point.dist.name!r}"
    place = f"algorithm {point.name!r}, which {package} adds as {point.value!r},"
    try:
        loaded = point.load()
        rule = loaded() if isinstance(loaded, type) else loaded
    except (Exception, SystemExit) as problem:
        raise ProblemError(
            f"{place} cannot be loaded; repair that package or remove it "
            f"({type(problem).__name__}: {problem})"
        ) from problem
    if not _is_algorithm(rule):
        raise ProblemError(
            f"{place} must be composed, an object with propose(view), or the class of one; "
            f"got {loaded!r}"
        )
    return rule
