"""The misspecification beyond which structure is worth nothing (Lemma 2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Matrix, Vector
from mislid.geometry.duality import Check, Pairs, no_proofs
from mislid.geometry.equilibrium import (
    Cuts,
    UnstructuredSearch,
    gains,
    no_cuts,
    solve_game,
    solve_master,
    worst_gain,
)
from mislid.geometry.equilibrium_check import (
    ROUNDING,
    UpperSide,
    alternative_failures,
    cut_shape_failures,
    distribution_failures,
    shape_failures,
)
from mislid.geometry.time import TimeProblem, as_time_problem
from mislid.geometry.tube import chebyshev_deviation
from mislid.model import Model

# The unstructured game is solved this much more finely than rtol, so that the restricted
# mixture, and not the game's own gap, uses up what rtol allows.
FINER = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class UnstructuredThreshold:
    """A misspecification `value` at which the bound is the unstructured one, to rtol.

    The `mixture` of `alternatives`, each within `value` of the features' span, proves
    T(value) >= unstructured_time / (1 + rtol).

    Attributes
    ----------
    model, means, m, noise, tolerance, rtol
        What was asked, as validated: means (K,) and noise (K,).
    value
        The misspecification.
    unstructured_time
        An upper side of the characteristic time without structure.
    allocation
        Shares of the samples (K,) that prove it.
    alternatives
        Models (n, K) in which another answer is right.
    thetas
        Linear models (n, d) that they are near to, which shows their distance.
    pairs
        The (challenger, incumbent) whose order each of them reverses, (n, 2).
    mixture
        Their probabilities (n,).

    Examples
    --------
    With a smaller misspecification, the alternatives that prove it are no longer models:

    >>> from dataclasses import replace
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0)
    >>> threshold = unstructured_threshold(model, [0.4, 0.5, 0.8], 1)
    >>> round(threshold.value, 3), bool(threshold.check())
    (0.167, True)
    >>> print(replace(threshold, value=0.1).check())
    alternative 0: means must deviate from features @ theta by at most 0.1; arm 0 exceeds that...
    """

    model: Model
    means: Vector
    m: int
    noise: Vector
    tolerance: float
    rtol: float
    value: float
    unstructured_time: float
    allocation: Vector
    alternatives: Matrix
    thetas: Matrix
    pairs: Pairs
    mixture: Vector

    def check(self) -> Check:
        """Verify with plain NumPy that the mixture proves what it should, inside the tube.

        Returns
        -------
        Check
            True where everything holds; otherwise it lists what does not.
        """
        tube = Model(self.model.features, self.value)
        cuts = Cuts(self.alternatives, self.thetas, self.pairs)
        failures = cut_shape_failures(tube, cuts, self.mixture)
        failures += shape_failures(allocation=(self.allocation, (tube.K,)))
        if failures:
            return Check(tuple(failures))
        failures = alternative_failures(tube, self.means, self.m, self.tolerance, cuts)
        failures += distribution_failures(self.mixture, "mixture")
        failures += distribution_failures(self.allocation, "allocation")
        failures += self._time_failures()
        return Check(tuple(failures))

    def _time_failures(self) -> list[str]:
        failures = UpperSide(
            Model(self.model.features, np.inf),
            self.means,
            self.m,
            self.tolerance,
            self.allocation / self.noise**2,
            no_proofs(self.model.K),
            np.zeros(self.model.K),
        ).failures(self.unstructured_time)
        worst = worst_gain(self.mixture, gains(self.means, self.alternatives, self.noise))
        if not worst <= (1.0 + self.rtol) * (1.0 + ROUNDING) / self.unstructured_time:
            failures.append(
                f"the mixture's largest expected gain is {worst!r}, which is not within rtol="
                f"{self.rtol!r} of 1 / {self.unstructured_time!r}"
            )
        return failures


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

    Parameters
    ----------
    model
        The features; their misspecification is not used.
    means, m, noise, tolerance
        As in `characteristic_time`.
    rtol
        How close to the time without structure counts as equal, in (0, 1].

    Returns
    -------
    UnstructuredThreshold
        The misspecification, with the mixture of alternatives that proves it.

    Raises
    ------
    ProblemError
        An argument has the wrong type or shape, or a value that is not allowed.
    CertificateError
        The time without structure, or a distance to the features' span, could not be proved.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0)
    >>> threshold = unstructured_threshold(model, [0.4, 0.5, 0.8], 1)
    >>> round(threshold.value, 3), bool(threshold.check())
    (0.167, True)
    """
    problem = as_time_problem(model, means, m, noise, tolerance, rtol)
    tie = problem.tie(model)
    if len(tie.means):
        _, (value,) = _measured(model, tie)
        anywhere = np.full(model.K, 1.0 / model.K)
        return _record(model, problem, value, np.inf, anywhere, tie, np.ones(1))
    search = UnstructuredSearch(problem.means, problem.m, problem.tolerance, model.d)
    game = solve_game(search, problem.means, problem.noise, FINER * rtol, no_cuts(model.K, model.d))
    near = search.near(game.allocation / problem.noise**2, 1.0 + rtol, 4 * model.K)
    cuts, deviations = _measured(model, game.cuts.and_also(near))
    chosen, mixture = _narrowest(problem, cuts, deviations, game.lower)
    value = float(np.max(deviations[chosen]))
    return _record(
        model, problem, value, 1.0 / game.lower, game.allocation, cuts.only(chosen), mixture
    )


def _measured(model: Model, cuts: Cuts) -> tuple[Cuts, Vector]:
    """The cuts from the nearest to the features' span to the farthest, and their distances (n,)."""
    found = [chebyshev_deviation(model.features, means) for means in cuts.means]
    deviations = np.array([deviation for deviation, _ in found])
    order = np.argsort(deviations, kind="stable")
    thetas = np.array([theta for _, theta in found])
    return Cuts(cuts.means, thetas, cuts.pairs).only(order), deviations[order]


def _narrowest(
    problem: TimeProblem, cuts: Cuts, deviations: Vector, lower: float
) -> tuple[Pairs, Vector]:
    """Fewest leading cuts, sorted by distance, whose best mixture reaches (1 + rtol) lower."""
    table = gains(problem.means, cuts.means, problem.noise)
    target = (1.0 + problem.rtol) * lower
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
    model: Model,
    problem: TimeProblem,
    value: float,
    time: float,
    allocation: Vector,
    cuts: Cuts,
    mixture: Vector,
) -> UnstructuredThreshold:
    return UnstructuredThreshold(
        model,
        *problem,
        value=float(value),
        unstructured_time=time,
        allocation=allocation,
        alternatives=cuts.means,
        thetas=cuts.thetas,
        pairs=cuts.pairs,
        mixture=mixture,
    )
