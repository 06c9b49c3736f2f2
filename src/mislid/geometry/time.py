"""The characteristic time: a lower bound on the samples of any method, and their allocation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Matrix, Vector, as_means, as_noise, as_number, as_top_m
from mislid.errors import CertificateError
from mislid.geometry.alternatives import PairSolver
from mislid.geometry.duality import (
    Check,
    PairProblem,
    Pairs,
    Proofs,
    all_pairs,
    closed_form_bounds,
    is_unstructured,
    membership_failures,
    multiplier_failures,
    no_proofs,
    order_failures,
    pair_bounds,
    top_arms,
)
from mislid.geometry.equilibrium import (
    Cuts,
    Equilibrium,
    PairSearch,
    UnstructuredSearch,
    gains,
    no_cuts,
    solve_game,
    worst_gain,
)
from mislid.geometry.tube import chebyshev_deviation
from mislid.model import Model, as_model, refuse_other_labels

# The game gets this share of rtol; the rest is for rounding when both sides are recomputed.
SHARE = 0.9
ROUNDING = 1e-9


class TimeProblem(NamedTuple):
    """Validated arguments of a question about the characteristic time.

    Means and noise are (K,); `rtol` is the largest allowed relative distance between both sides.
    """

    means: Vector
    m: int
    noise: Vector
    tolerance: float
    rtol: float

    def tie(self, model: Model) -> Cuts:
        """The means themselves, where their m-th and next are equal: a model of another answer.

        Equal up to rounding, as certificates are judged. The tube is as narrow as can be, whatever
        the model's misspecification. None where a tolerance is asked for.
        """
        top = top_arms(self.means, self.m)
        rest = np.setdiff1d(np.arange(model.K), top)
        i, j = int(rest[np.argmax(self.means[rest])]), int(top[np.argmin(self.means[top])])
        if self.tolerance > 0.0 or order_failures(self.means, self.means, (i, j), 0.0):
            return no_cuts(model.K, model.d)
        _, theta = chebyshev_deviation(model.features, self.means)
        return Cuts(self.means[None, :], theta[None, :], np.array([[i, j]]))


@dataclass(frozen=True, slots=True, eq=False)
class CharacteristicTime:
    """Lower and upper bounds on the characteristic time T, with their proofs.

    `lower <= T <= upper`; `value` is their geometric mean, so it is off by at most rtol / 2.
    `mixture` (n,) of the `alternatives` (n, K) proves `lower`: no allocation can tell all of them
    from the means faster. `allocation` (K,) proves `upper`: at it each pair's cost is at least
    1 / upper, by a closed form or, where none proves enough, by the pair's multipliers in `proofs`.

    Attributes
    ----------
    model, means, m, noise, tolerance, rtol
        The validated arguments: means (K,) and noise (K,).
    lower, upper
        Both sides of T, proved.
    allocation
        The share of each arm in the samples, (K,); it adds up to 1.
    alternatives
        Models (n, K) in which another answer is right.
    mixture
        Their probabilities (n,).
    thetas
        Centres (n, d) of the tubes' sections that contain the alternatives.
    pairs
        The (challenger, incumbent) whose order each alternative reverses, (n, 2).
    proofs
        Pairs (p, 2), multipliers (p, K) and alphas (p,) for weak duality.
    floor
        Multipliers (K,) of the projection. They bound all models; closed forms add to their bound.
    calls
        Number of closest-alternative searches.
    pairs_solved
        Number of pair problems that these had to solve.
    note
        Why T is infinite or zero; empty otherwise.

    Examples
    --------
    The optimal allocation, if the best arm is noisier:

    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
    >>> time = characteristic_time(model, [0.4, 0.5, 0.8], 1, noise=[0.4, 0.4, 0.8])
    >>> time.allocation.round(2).tolist()
    [0.25, 0.25, 0.5]

    The samples that any method needs for error rates of 5% and of one in a million:

    >>> round(time.samples(0.05)), round(time.samples(1e-6))
    (85, 442)
    >>> print(time.check())
    holds
    """

    model: Model
    means: Vector
    m: int
    noise: Vector
    tolerance: float
    rtol: float
    lower: float
    upper: float
    allocation: Vector
    alternatives: Matrix
    thetas: Matrix
    pairs: Pairs
    mixture: Vector
    proofs: Proofs
    floor: Vector
    calls: int
    pairs_solved: int
    note: str = ""

    @property
    def value(self) -> float:
        """The geometric mean of `lower` and `upper`."""
        return self.lower if self.lower == self.upper else math.sqrt(self.lower * self.upper)

    def samples(self, delta: float) -> float:
        """value * kl(1 - delta, delta): the mean samples that any method needs at error rate delta.

        Theorem 1 of the paper, with the divergence of its proof instead of log(1 / (2.4 delta)).
        It is as accurate as `value`; with `lower` instead of `value`, it is a proved bound.

        Parameters
        ----------
        delta
            The error rate, in (0, 0.5].

        Returns
        -------
        float
            An expected number of samples.

        Raises
        ------
        ProblemError
            The error rate is out of range.
        """
        delta = as_number(delta, "delta", low=0, high=0.5, low_open=True)
        divergence = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
        return self.value * divergence if divergence > 0.0 else 0.0

    def check(self) -> Check:
        """Verify both sides with plain NumPy, from the stored alternatives and multipliers.

        Returns
        -------
        Check
            True if every statement holds; otherwise it lists those that fail.
        """
        failures = self._side_failures()
        failures += distribution_failures(self.allocation, "allocation")
        asked = self.model, self.means, self.m, self.tolerance
        if self.lower > 0.0:
            failures += alternative_failures(*asked, self._cuts)
            failures += mixture_failures(
                self.mixture, self.means, self.noise, self.alternatives, self.lower
            )
        weights = self.allocation / self.noise**2
        failures += UpperSide(*asked, weights, self.proofs, self.floor).failures(self.upper)
        return Check(tuple(failures))

    @property
    def _cuts(self) -> Cuts:
        return Cuts(self.alternatives, self.thetas, self.pairs)

    def _side_failures(self) -> list[str]:
        if 0.0 <= self.lower <= self.upper <= self.lower * (1.0 + self.rtol):
            return []
        return [f"lower={self.lower!r} and upper={self.upper!r} are not within rtol={self.rtol!r}"]


def characteristic_time(
    model: Model,
    means: ArrayLike,
    m: int,
    *,
    noise: ArrayLike = 1.0,
    tolerance: float = 0.0,
    rtol: float = 1e-3,
) -> CharacteristicTime:
    """The characteristic time of identifying the m best arms, and the allocation that attains it.

    1 / T = max over w in the simplex of  min over pairs (i outside the top m, j inside) of
    min { sum_k w_k (mu_k - lambda_k)^2 / (2 sigma_k^2) : lambda in the model,
    lambda_i >= lambda_j + tolerance }  for means mu (K,) and noise sigma (K,).
    Any delta-correct method needs at least T kl(1 - delta, delta) samples on average (Theorem 1).
    With a tolerance several answers may be right: this T is for proving the m best ones, and
    another right answer may take fewer samples.
    Means outside the model's tube are allowed: the cost of bringing them into it counts.

    T is infinite when the means are a model, tolerance is 0 and the m-th and the next mean are
    equal. It is zero when no model reverses a pair (duplicated features whose tube is narrower than
    the tolerance).

    Parameters
    ----------
    model
        The model set.
    means
        True means (K,).
    m
        Number of best arms to identify, from 1 to K - 1.
    noise
        Standard deviation, one for all arms or one per arm.
    tolerance
        How much better a challenger must be to prove the answer wrong, at least 0.
    rtol
        Largest allowed relative distance between both sides of T, in (0, 1].

    Returns
    -------
    CharacteristicTime
        T between two proved sides, and the optimal allocation.

    Raises
    ------
    ProblemError
        An argument has the wrong type or shape, or a value that is not allowed.
    CertificateError
        Both sides could not be proved to lie within rtol.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
    >>> time = characteristic_time(model, [0.4, 0.5, 0.8], 1, rtol=1e-6)
    >>> round(time.value, 2), time.allocation.round(2).tolist(), round(time.samples(0.05))
    (89.59, [0.01, 0.52, 0.47], 237)
    >>> bool(time.check())
    True
    """
    as_model(model)
    refuse_other_labels(model, means=means, noise=noise)
    problem = TimeProblem(
        means=as_means(means, model.K),
        m=as_top_m(m, model.K),
        noise=as_noise(noise, model.K),
        tolerance=as_number(tolerance, "tolerance", low=0, high=math.inf),
        rtol=as_number(rtol, "rtol", low=0, high=1, low_open=True),
    )
    tie = problem.tie(model)
    if len(tie.means) and not membership_failures(
        model, problem.means, tie.means[0], tie.thetas[0]
    ):
        return _endless(model, problem, tie)
    search = _search(model, problem)
    game = solve_game(
        search, problem.means, problem.noise, SHARE * problem.rtol, no_cuts(model.K, model.d)
    )
    return _certified(model, problem, search, game)


def _search(model: Model, problem: TimeProblem) -> PairSearch | UnstructuredSearch:
    means, m, _, tolerance, _ = problem
    if is_unstructured(model, means, tolerance):
        return UnstructuredSearch(model, means, m, tolerance)
    return PairSearch(model, means, m, tolerance)


def _certified(
    model: Model, problem: TimeProblem, search: PairSearch | UnstructuredSearch, game: Equilibrium
) -> CharacteristicTime:
    weights = game.allocation / problem.noise**2
    proofs = search.prove(weights, game.lower)
    floor = _floor(model, problem, weights)
    if not game.upper > 0.0:
        raise CertificateError(
            "the characteristic time could not be certified: the means are too close together, or "
            "the noise is too large, for double precision"
        )
    lower = 1.0 / game.upper
    asked = model, problem.means, problem.m, problem.tolerance
    upper = UpperSide(*asked, weights, proofs, floor).time
    if not (1.0 - ROUNDING) * lower <= upper <= lower * (1.0 + problem.rtol):
        raise CertificateError(
            f"the characteristic time is only proved to lie in [{lower!r}, {upper!r}], "
            f"wider than rtol={problem.rtol!r} allows"
        )
    return CharacteristicTime(
        model,
        *problem,
        lower=lower,
        upper=max(lower, upper),
        allocation=game.allocation,
        alternatives=game.cuts.means,
        thetas=game.cuts.thetas,
        pairs=game.cuts.pairs,
        mixture=game.mixture,
        proofs=proofs,
        floor=floor,
        calls=game.calls,
        pairs_solved=search.solved,
        note="" if lower > 0.0 else "no model of this tube reverses a pair by the tolerance",
    )


def _floor(model: Model, problem: TimeProblem, weights: Vector) -> Vector:
    """Multipliers (K,) that prove how far every model is from the means; zeros if not at all."""
    if is_unstructured(model, problem.means, problem.tolerance):
        return np.zeros(model.K)
    return PairSolver(model, problem.means, weights).floor()


def _endless(model: Model, problem: TimeProblem, tie: Cuts) -> CharacteristicTime:
    """The infinite time of means that are their own closest alternative."""
    return CharacteristicTime(
        model,
        *problem,
        lower=math.inf,
        upper=math.inf,
        allocation=np.full(model.K, 1.0 / model.K),
        alternatives=tie.means,
        thetas=tie.thetas,
        pairs=tie.pairs,
        mixture=np.ones(1),
        proofs=no_proofs(model.K),
        floor=np.zeros(model.K),
        calls=0,
        pairs_solved=0,
        note=f"the mean at place m={problem.m} and the next one are equal",
    )


def distribution_failures(weights: Vector, name: str) -> list[str]:
    """Whether an array (n,) is a probability vector."""
    least, total = float(np.min(weights, initial=0.0)), float(np.sum(weights))
    failures = []
    if not least >= 0.0:
        failures.append(f"{name} has a negative entry, {least!r}")
    if not abs(total - 1.0) <= ROUNDING:
        failures.append(f"{name} sums to {total!r}, not to one")
    return failures


def pair_failures(named: Pairs, means: Vector, m: int, what: str) -> list[str]:
    """Messages for pairs (n, 2) that are not pairs of the top m of the means (K,)."""
    allowed = {(i, j) for i, j in all_pairs(means.size, top_arms(means, m)).tolist()}
    return [
        f"{what} {n} names ({i}, {j}), which is no pair of top {m}"
        for n, (i, j) in enumerate(named.tolist())
        if (i, j) not in allowed
    ]


def alternative_failures(
    model: Model, means: Vector, m: int, tolerance: float, cuts: Cuts
) -> list[str]:
    """Whether each alternative is a model, shown by its theta, and reverses its pair."""
    failures = pair_failures(cuts.pairs, means, m, "alternative")
    if failures:
        return failures
    for n, (i, j) in enumerate(cuts.pairs.tolist()):
        wrong = order_failures(means, cuts.means[n], (i, j), tolerance)
        wrong += membership_failures(model, means, cuts.means[n], cuts.thetas[n])
        failures += [f"alternative {n}: {failure}" for failure in wrong]
    return failures


def mixture_failures(
    mixture: Vector, means: Vector, noise: Vector, alternatives: Matrix, lower: float
) -> list[str]:
    """Whether the mixture's largest expected gain over the arms is 1 / lower."""
    failures = distribution_failures(mixture, "mixture")
    if failures:
        return failures
    worst = worst_gain(mixture, gains(means, alternatives, noise))
    if not abs(worst - 1.0 / lower) <= ROUNDING * worst:
        failures.append(f"the mixture proves a lower side of {_time(worst)!r}, not {lower!r}")
    return failures


def _time(rate: float) -> float:
    """T = 1 / H."""
    return 1.0 / rate if rate > 0.0 else math.inf


class UpperSide(NamedTuple):
    """The proof of an upper side of T: bounds on the costs of pairs at weights (K,)."""

    model: Model
    means: Vector
    m: int
    tolerance: float
    weights: Vector
    proofs: Proofs
    floor: Vector

    def failures(self, upper: float) -> list[str]:
        """Whether every pair provably costs at least 1 / upper."""
        model, proofs, floor = self.model, self.proofs, self.floor
        failures = pair_failures(proofs.pairs, self.means, self.m, "proof")
        failures += [f"floor: {failure}" for failure in multiplier_failures(model, floor)]
        if failures:
            return failures
        failures = [
            f"pair ({i}, {j}): {failure}"
            for (i, j), z, alpha in zip(proofs.pairs.tolist(), *proofs[1:], strict=True)
            for failure in multiplier_failures(model, z, float(alpha), (i, j))
        ]
        if not self.time <= upper * (1.0 + ROUNDING):
            failures.append(f"the allocation proves an upper side of {self.time!r}, not {upper!r}")
        return failures

    @property
    def time(self) -> float:
        """The proved upper side: 1 / the least of the bounds."""
        problem = PairProblem(self.model, self.means, self.weights, self.tolerance)
        pairs = all_pairs(self.model.K, top_arms(self.means, self.m))
        bounds = np.maximum(
            pair_bounds(problem, pairs, self.proofs),
            closed_form_bounds(problem, pairs, self.floor),
        )
        return _time(float(np.min(bounds)))
