"""Registry of algorithms: sampling rules as records of options, by name, and their compilation.

An algorithm chooses the arms to measure; a stopping rule decides when to stop. Each has one file
in this folder: a record of options, a kernel, and what makes the kernel's struct.

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

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from mislid._formatting import shown
from mislid.algorithms._options import Allowed, refuse_options
from mislid.errors import ProblemError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from mislid._jit import Kernel, Struct
    from mislid.question import Question
    from mislid.stopping.registry import Setup


@dataclass(frozen=True)
class Algorithm:
    """Base of the records of options; options that are not allowed are refused.

    The flags say how an algorithm differs from others. `own_test`: it has a stopping test, which
    takes the place of the heuristic stopping rule, as in the published runs. `can_select`: it can
    leave out pairs that are settled, as `Selective` asks it to. `every_arm`: it measures all arms
    once first instead of a barycentric spanner. `authors`: it follows the published runs where they
    differ from the text. `needs_noise`: it has to be told the noise. `reads_costs`: it takes into
    account what measurements cost. `responds`: it takes the alternative that a stopping test found.
    """

    own_test = False
    can_select = False
    every_arm = False
    authors = False
    needs_noise = False
    reads_costs = False
    responds = False
    # The allowed values of options, by name.
    _permitted: ClassVar[dict[str, Allowed]] = {}

    def __post_init__(self) -> None:
        refuse_options(self)

    def check(self, question: Question) -> None:
        """Refuse questions that the algorithm is not made for.

        Parameters
        ----------
        question
            What it would have to answer.

        Raises
        ------
        ProblemError
            If the algorithm cannot answer it.

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
        if not hasattr(question, "m"):
            raise ProblemError(f"question must be a mislid.Question; got {shown(question)}")
        self._check_question(question)

    def _check_question(self, question: Question) -> None:
        """Refuse questions, for algorithms that are not made for all."""


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
    selective
        Kernel that takes the place of `propose` where settled pairs are left out, if it differs.
    """

    struct: Struct
    propose: Kernel
    own_test: Kernel | None = None
    estimates: bool = False
    plays: bool = False
    left: Kernel | None = None
    selective: Kernel | None = None


Maker = Callable[[Any, "Setup"], CompiledSampling]
_NAMED: dict[str, Algorithm] = {}
_MAKERS: dict[type, Maker] = {}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(_NAMED)
"""The sampling rules of the package, by their names; docs/algorithms.md says what each does."""

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
    makers = (_MAKERS.get(kind) for kind in type(algorithm).__mro__)
    maker = next((one for one in makers if one is not None), None)
    return None if maker is None else maker(algorithm, setup)


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
        If there is no algorithm of this name, or the object has no `propose`.

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


def _entry_points() -> EntryPoints:
    return _entry_points_on(tuple(sys.path))


@cache
def _entry_points_on(path: tuple[str, ...]) -> EntryPoints:
    """Those of the packages on the path, which take a while to find."""
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


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
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    for point in _entry_points():
        if point.name == name:
            return _loaded(point)
    raise _unknown_error(name)


def _loaded(point: EntryPoint) -> Any:
    """An algorithm of another package, or of a class that makes one without arguments."""
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
