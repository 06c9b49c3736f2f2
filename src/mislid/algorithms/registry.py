"""Registry of sampling rules: records of options by name, and their compilation.

A sampling rule chooses the arms to measure; a stopping rule decides when to stop. Each sampling
rule is one file of this folder: a record of options, a kernel, and a function that makes the
kernel's struct.

    @dataclass(frozen=True)
    class FewestFirst(Algorithm):
        '''The arm with the fewest measurements.'''

    @kernel
    def fewest_first(setting: Setting, rule: NoOptions, state: State, uniform: float) -> int: ...

    @register({"fewest-first": FewestFirst()})
    def _compile(rule: FewestFirst, setup: Setup) -> CompiledSampling:
        return CompiledSampling(NoOptions(), fewest_first)
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid._formatting import shown
from mislid._validation import as_flag, fill
from mislid.errors import ProblemError
from mislid.stopping.rules import Setup

if TYPE_CHECKING:
    from mislid._jit import Kernel, Struct
    from mislid.question import Question


@dataclass(frozen=True)
class Algorithm:
    """Base class of sampling rules: records of options.

    Class attributes say how a rule differs from others. `own_test`: it has a stopping test, which
    replaces the stopping rule `heuristic`, as in the published runs. `every_arm`: it
    measures all arms once first instead of a barycentric spanner. `authors`: it follows the
    published runs where they differ from the text. `needs_noise`: the noise must be declared.
    `reads_costs`: it considers the costs of measurements. `responds`: it uses the alternative that
    a stopping test found. `can_select`: it can ignore settled pairs, if `Selective` asks for it.
    """

    own_test = False
    every_arm = False
    authors = False
    needs_noise = False
    reads_costs = False
    responds = False
    can_select = False
    selective = False

    def __post_init__(self) -> None:
        """Check flags; classes with other options extend this."""
        for option in fields(self):
            if option.type in ("bool", bool):
                as_flag(getattr(self, option.name), option.name)

    def check(self, question: Question) -> None:
        """Refuse unsupported questions; by default none.

        Parameters
        ----------
        question
            The question to answer.

        Raises
        ------
        ProblemError
            If the rule cannot answer it.

        Examples
        --------
        >>> from mislid import Model, Question
        >>> from mislid.algorithms import MisLid
        >>> question = Question(Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1), m=2)
        >>> MisLid(pulls=5).check(question)
        >>> MisLid(per_answer=True).check(question)
        Traceback (most recent call last):
        ...
        mislid.errors.ProblemError: m must be 1 for an algorithm with a learner per answer; got 2
        """


class CompiledSampling(NamedTuple):
    """A compiled sampling rule.

    Attributes
    ----------
    struct
        Its options and its memory.
    propose
        Kernel (setting, struct, state, uniform) -> arm.
    own_test
        Kernel (setting, struct, state) -> bool of its stopping test, or None.
    estimates
        Whether it reads the projected means.
    plays
        Whether it searches alternatives at other weights than those of the counts.
    left
        Kernel (setting, struct, state) -> number of measurements left of the present phase, or None
        for rules without phases.
    """

    struct: Struct
    propose: Kernel
    own_test: Kernel | None = None
    estimates: bool = False
    plays: bool = False
    left: Kernel | None = None


Maker = Callable[[Any, Setup], CompiledSampling]
_NAMED: dict[str, Algorithm] = {}
_MAKERS: dict[type, Maker] = {}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(_NAMED)
"""The sampling rules of the package, by their names; docs/algorithms.md describes them."""

# Other packages add algorithms to this group of entry points, by name.
ENTRY_POINTS = "mislid.algorithms"


def register(rules: Mapping[str, Algorithm] | type) -> Callable[[Any], Any]:
    """Register the named rules of one class, or a class without names, and what compiles them.

    Parameters
    ----------
    rules
        Records by name, all of one class; or the class.

    Returns
    -------
    callable
        A decorator of functions (rule, setup) -> CompiledSampling.

    Examples
    --------
    >>> class InTurn(Algorithm): ...
    >>> @register(InTurn)
    ... def compile_in_turn(rule, setup): ...
    >>> compile_sampling(InTurn(), setup=None) is None
    True
    """
    named = {} if isinstance(rules, type) else dict(rules)
    kinds = {rules} if isinstance(rules, type) else {type(rule) for rule in named.values()}

    def add(maker: Maker) -> Maker:
        # By name, the paper's own first.
        found = sorted((_NAMED | named).items(), key=lambda one: (one[0][:6] != "mislid", one[0]))
        _NAMED.clear()
        _NAMED.update(found)
        _MAKERS.update(dict.fromkeys(kinds, maker))
        return maker

    return add


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import the public modules of a package, which register their rules.

    Parameters
    ----------
    package, path
        `__name__` and `__path__` of the package.
    """
    for module in pkgutil.iter_modules(path):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")


def compile_sampling(algorithm: Any, setup: Setup) -> CompiledSampling | None:
    """Compile a sampling rule.

    Parameters
    ----------
    algorithm
        An algorithm.
    setup
        What it is compiled for.

    Returns
    -------
    CompiledSampling or None
        Its struct and its kernels; None for a rule written in Python.
    """
    for kind in type(algorithm).__mro__:
        if kind in _MAKERS:
            return _MAKERS[kind](algorithm, setup)
    return None


def algorithm_names() -> tuple[str, ...]:
    """All names that `algorithm=` takes: those of this package, then those of others.

    Returns
    -------
    tuple of str
        Without repetition.

    Examples
    --------
    >>> algorithm_names()[:2]
    ('mislid', 'mislid-authors')
    """
    return tuple(dict.fromkeys([*ALGORITHMS, *(point.name for point in _entry_points())]))


def as_algorithm(algorithm: Any) -> Any:
    """The algorithm of a name; other objects are checked and returned.

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
        If there is no algorithm of this name, or the object has no `propose`.

    Examples
    --------
    >>> as_algorithm("lucb")
    LUCB(authors=False)
    """
    if _is_algorithm(algorithm):
        return algorithm
    if isinstance(algorithm, str):
        if algorithm in ALGORITHMS:
            return ALGORITHMS[algorithm]
        for point in _entry_points():
            if point.name == algorithm:
                return _loaded(point)
    raise ProblemError(
        f"algorithm must be one of {', '.join(algorithm_names())}, composed, or an object with "
        f"propose(view); got {shown(algorithm)}"
    )


def _entry_points() -> EntryPoints:
    return _entry_points_on(tuple(sys.path))


@cache
def _entry_points_on(path: tuple[str, ...]) -> EntryPoints:
    """Entry points of the packages on the path, cached because the search is slow."""
    return entry_points(group=ENTRY_POINTS)


def _is_algorithm(value: Any) -> bool:
    if isinstance(value, Algorithm):
        return True
    return not isinstance(value, type) and callable(getattr(value, "propose", None))


def _loaded(point: EntryPoint) -> Any:
    """The algorithm of an entry point: an object, or a class that needs no arguments."""
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


@dataclass(frozen=True)
class Selective(Algorithm):
    """A sampling rule that ignores the pairs that the stopping rule has settled.

    Selective elimination (Tirinzoni and Degenne 2022). It needs a stopping rule that settles single
    pairs: `guaranteed` or, in linear models, `glr-selective`. With others nothing changes.

    Attributes
    ----------
    algorithm
        A name, or a composition that can ignore pairs.
    """

    selective = True

    algorithm: Any = "mislid"

    def __post_init__(self) -> None:
        chosen = as_algorithm(self.algorithm)
        if not getattr(chosen, "can_select", False):
            raise ProblemError(
                "algorithm must be one that chooses among pairs, such as 'lingape', 'lingifa', "
                f"'lingame' or 'mislid', to be selective; got {self.algorithm!r}"
            )
        flags = ("every_arm", "own_test", "authors", "needs_noise", "responds")
        fill(self, algorithm=chosen, **{flag: getattr(chosen, flag) for flag in flags})

    def check(self, question: Question) -> None:  # noqa: D102 - the base class has it
        self.algorithm.check(question)


@register(Selective)
def _compile_selective(rule: Selective, setup: Setup) -> CompiledSampling | None:
    return compile_sampling(rule.algorithm, setup)
