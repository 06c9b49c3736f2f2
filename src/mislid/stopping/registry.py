"""Registry of compiled stopping rules.

The file of a rule registers what makes its struct and its kernel:

    @register(StoppingRule("never", "an example", NO_GUARANTEE))
    def _compile(rule: StoppingRule, setup: Setup) -> CompiledStopping:
        return CompiledStopping(Never.zeros({}), never_stop)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from mislid.stopping.rules import StoppingRule

if TYPE_CHECKING:
    from mislid._jit import Kernel, Struct
    from mislid.model import Instance
    from mislid.question import Question
    from mislid.stopping.pairs_left import PairsLeft
    from mislid.stopping.state import Setting


class Setup(NamedTuple):
    """What rules are compiled for.

    Attributes
    ----------
    setting
        The question as kernels read it.
    question
        The question.
    truth
        The instance itself, for sampling rules that know it; None outside of simulations.
    estimates
        Whether the sampling rule reads the projected means.
    """

    setting: Setting
    question: Question
    truth: Instance | None = None
    estimates: bool = True


class CompiledStopping(NamedTuple):
    """A compiled stopping rule.

    Attributes
    ----------
    struct
        Its options and its memory.
    judge
        Kernel (setting, struct, state, testing) -> bool that estimates and tests.
    left
        The pairs that it has not settled; None for rules that settle no single pairs.
    """

    struct: Struct
    judge: Kernel
    left: PairsLeft | None = None


Maker = Callable[[Any, Setup], CompiledStopping]
_MAKERS: dict[str | type, Maker] = {}


def register(*rules: StoppingRule) -> Callable[[Maker], Maker]:
    """Register what compiles these rules: by their name, or by their class where that has options.

    Parameters
    ----------
    *rules
        One record of every rule.

    Returns
    -------
    callable
        A decorator of functions (rule, setup) -> CompiledStopping.

    Examples
    --------
    >>> from mislid.stopping.rules import NO_GUARANTEE
    >>> @register(StoppingRule("never", "an example", NO_GUARANTEE))
    ... def compile_never(rule, setup): ...
    >>> _MAKERS.pop("never") is compile_never
    True
    """

    def add(maker: Maker) -> Maker:
        _MAKERS.update({_key(rule): maker for rule in rules})
        return maker

    return add


def compile_stopping(rule: StoppingRule, setup: Setup) -> CompiledStopping:
    """Compile a rule; one written in Python gets the estimates of `heuristic`.

    Parameters
    ----------
    rule
        The rule.
    setup
        What it is compiled for.

    Returns
    -------
    CompiledStopping
        Its struct and its kernel.
    """
    return _MAKERS["heuristic" if rule.judge is not None else _key(rule)](rule, setup)


def _key(rule: StoppingRule) -> str | type:
    return rule.name if type(rule) is StoppingRule else type(rule)


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
