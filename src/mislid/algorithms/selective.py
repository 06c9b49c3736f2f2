"""Selective sampling: a rule that leaves out the pairs that the stopping rule has settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mislid.algorithms.registry import (
    Algorithm,
    CompiledSampling,
    as_algorithm,
    compile_sampling,
    register,
)
from mislid.errors import ProblemError
from mislid.stopping.registry import Setup

if TYPE_CHECKING:
    from mislid.question import Question


@dataclass(frozen=True)
class Selective(Algorithm):
    """A sampling rule that does not look at pairs which the stopping rule has settled.

    Selective elimination (Tirinzoni and Degenne 2022). It needs a stopping rule that settles pairs
    one by one: `guaranteed`, or `LikelihoodRatio(selective=True)`. With others nothing changes.

    Attributes
    ----------
    algorithm
        A name, or a composition that can leave out pairs.
    """

    algorithm: Any = "mislid"

    def __post_init__(self) -> None:
        chosen = as_algorithm(self.algorithm)
        if not getattr(chosen, "can_select", False):
            raise ProblemError(
                "algorithm must be one that chooses among pairs, such as 'lingape', 'lingifa', "
                f"'lingame' or 'mislid', to be selective; got {self.algorithm!r}"
            )
        object.__setattr__(self, "algorithm", chosen)
        for flag in ("every_arm", "own_test", "authors", "needs_noise", "responds"):
            object.__setattr__(self, flag, getattr(chosen, flag))

    def _check_question(self, question: Question) -> None:
        self.algorithm.check(question)


@register(Selective)
def _compile(rule: Selective, setup: Setup) -> CompiledSampling:
    found = compile_sampling(rule.algorithm, setup)
    if found is None:
        raise TypeError(f"{rule.algorithm!r} is not compiled")
    found.struct.fill(found.struct.replace(selective=True))
    return found if found.selective is None else found._replace(propose=found.selective)
