"""The misspecification beyond which structure is worth nothing (Lemma 2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mislid._chebyshev import chebyshev_deviation
from mislid._validation import Matrix, Vector
from mislid.geometry._game import (
    Cuts,
    Pairs,
    UnstructuredSearch,
    gains,
    no_cuts,
    solve_game,
    solve_master,
    worst_gain,
)
from mislid.geometry._game_check import alternative_failures, distribution_failures, tie_failures
from mislid.geometry.check import Check
from mislid.geometry.time import Question, as_question
from mislid.model import Model

# The unstructured game is solved this much more finely than rtol, so that the restricted
# mixture, and not the game's own gap, uses up what rtol allows.
FINER = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class UnstructuredThreshold:
    """A misspecification `value` at which the bound is the unstructured one, to rtol.

    The `mixture` (n,) of `alternatives` (n, K), each within `value` of the features' span as its
    row of `thetas` (n, d) shows, proves  T(value) >= unstructured_time / (1 + rtol). `pairs` (n, 2)
    are the orders they reverse, `unstructured_time` is an upper side of the time without structure.
    """

    model: Model
    means: Vector
    m: int
    noise: Vector
    tolerance: float
    rtol: float
    value: float
    unstructured_time: float
    alternatives: Matrix
    thetas: Matrix
    pairs: Pairs
    mixture: Vector

    def check(self) -> Check:
        """Verify with plain NumPy that the mixture proves what it should, inside the tube."""
        if np.isinf(self.unstructured_time):
            return Check(tuple(tie_failures(self.means, self.m, self.tolerance)))
        tube = Model(self.model.features, self.value)
        cuts = Cuts(self.alternatives, self.thetas, self.pairs)
        failures = alternative_failures(tube, self.means, self.m, self.tolerance, cuts)
        failures += distribution_failures(self.mixture, "mixture", self.alternatives.shape[0])
        worst = worst_gain(self.mixture, gains(self.means, self.alternatives, self.noise))
        if not worst * self.unstructured_time <= (1.0 + self.rtol) * (1.0 + 1e-9):
            failures.append(
                f"the mixture proves a time of {1.0 / worst!r}, which is not within rtol="
                f"{self.rtol!r} of {self.unstructured_time!r}"
            )
        return Check(tuple(failures))


def unstructured_threshold(
    model: Model,
    means: ArrayLike,
    m: int,
    *,
    noise: ArrayLike = 1.0,
    tolerance: float = 0.0,
    rtol: float = 1e-3,
) -> UnstructuredThreshold:
    """The least misspecification beyond which the characteristic time has no use for features.

    Without structure each pair's closest alternative moves two arms only, and an equilibrium mixes
    those of some pairs. If all of them lie in a tube, its time is the unstructured one (Lemma 2).
    So the threshold is the least over mixtures q with max_k E_q g_k <= (1 + rtol) / T_unstructured
    of the largest Chebyshev distance to the features' span in q's support. It is at most
    the means' own distance plus the largest gap plus the tolerance.
    (The lemma's range of the means is not a bound: the means themselves may be further away.)
    The model's own misspecification plays no role.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0)
    >>> threshold = unstructured_threshold(model, [0.4, 0.5, 0.8], 1)
    >>> round(threshold.value, 3), bool(threshold.check())
    (0.167, True)
    """
    question = as_question(model, means, m, noise, tolerance, rtol)
    if question.tied:
        return _record(model, question, 0.0, np.inf, no_cuts(model.K, model.d), np.empty(0))
    search = UnstructuredSearch(question.means, question.m, question.tolerance, model.d)
    game = solve_game(
        search, question.means, question.noise, FINER * rtol, no_cuts(model.K, model.d)
    )
    near = search.near(game.allocation / question.noise**2, 1.0 + rtol, 4 * model.K)
    cuts, deviations = _measured(model, game.cuts.and_also(near))
    chosen, mixture = _narrowest(question, cuts, deviations, game.lower)
    value = float(np.max(deviations[chosen]))
    return _record(model, question, value, 1.0 / game.lower, cuts.only(chosen), mixture)


def _measured(model: Model, cuts: Cuts) -> tuple[Cuts, Vector]:
    """The cuts from the nearest to the features' span to the farthest, and their distances (n,)."""
    found = [chebyshev_deviation(model.features, means) for means in cuts.means]
    deviations = np.array([deviation for deviation, _ in found])
    order = np.argsort(deviations, kind="stable")
    thetas = np.array([theta for _, theta in found])
    return Cuts(cuts.means, thetas, cuts.pairs).only(order), deviations[order]


def _narrowest(
    question: Question, cuts: Cuts, deviations: Vector, lower: float
) -> tuple[Pairs, Vector]:
    """Fewest leading cuts, sorted by distance, whose best mixture reaches (1 + rtol) lower."""
    table = gains(question.means, cuts.means, question.noise)
    target = (1.0 + question.rtol) * lower
    low, high = 0, deviations.size
    best = solve_master(table, lower)[1]
    while high - low > 1:
        middle = (low + high) // 2
        mixture = solve_master(table[:middle], lower)[1]
        if worst_gain(mixture, table[:middle]) <= target:
            high, best = middle, mixture
        else:
            low = middle
    used = np.flatnonzero(best > 0.0)
    return used, best[used]


def _record(
    model: Model, question: Question, value: float, time: float, cuts: Cuts, mixture: Vector
) -> UnstructuredThreshold:
    return UnstructuredThreshold(
        model,
        *question,
        value=value,
        unstructured_time=time,
        alternatives=cuts.means,
        thetas=cuts.thetas,
        pairs=cuts.pairs,
        mixture=mixture,
    )
