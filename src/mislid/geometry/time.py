"""The characteristic time: how many samples any method needs, and how to spread them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mislid._validation import Matrix, Vector, as_noise, as_number, as_top_m, as_vector
from mislid.errors import CertificateError, ProblemError
from mislid.geometry._game import (
    Cuts,
    Equilibrium,
    Pairs,
    Search,
    UnstructuredSearch,
    all_pairs,
    no_cuts,
    no_proofs,
    solve_game,
    split,
)
from mislid.geometry._game_check import (
    ROUNDING,
    alternative_failures,
    bound_failures,
    cost_bounds,
    distribution_failures,
    feasible,
    mixture_failures,
    tie_failures,
)
from mislid.geometry._pair_search import PairSearch
from mislid.geometry.check import Check
from mislid.geometry.duality import Proofs
from mislid.model import Model

# Both sides of the game are recomputed after it ends; the rest of rtol is kept for that.
SHARE = 0.9


class Question(NamedTuple):
    """Validated arguments: means (K,), noise (K,)."""

    means: Vector
    m: int
    noise: Vector
    tolerance: float
    rtol: float

    @property
    def tied(self) -> bool:
        """Whether the top m is not unique and no tolerance makes up for it."""
        top, rest = split(self.means, self.m)
        return self.tolerance == 0.0 and bool(self.means[top].min() == self.means[rest].max())


def as_question(
    model: Model,
    means: ArrayLike,
    m: int,
    noise: ArrayLike,
    tolerance: float,
    rtol: float,
) -> Question:
    """Validate what every function about the characteristic time takes."""
    if not isinstance(model, Model):
        raise ProblemError(f"model must be a mislid.Model; got {type(model).__name__}")
    return Question(
        means=as_vector(means, "means", model.K),
        m=as_top_m(m, model.K),
        noise=as_noise(noise, model.K),
        tolerance=as_number(tolerance, "tolerance", low=0, high=math.inf),
        rtol=as_number(rtol, "rtol", low=0, high=1, low_open=True),
    )


@dataclass(frozen=True, slots=True, eq=False)
class CharacteristicTime:
    """Both sides of the characteristic time T, with what proves them.

    `lower <= T <= upper`; `value` is their geometric mean, so it is off by at most rtol / 2.
    `mixture` (n,) of the `alternatives` (n, K) proves `lower`: no allocation can tell all of them
    from the means faster. `allocation` (K,) proves `upper`: at it each pair's cost is at least
    1 / upper, by the closed form without structure or by the pair's multipliers in `proofs`.

    Attributes
    ----------
    thetas
        Centres (n, d) of the tubes' sections that contain the alternatives.
    pairs
        The (challenger, incumbent) whose order each alternative reverses, (n, 2).
    proofs
        Pairs (p, 2), multipliers (p, K) and alphas (p,) for weak duality.
    calls
        Number of closest-alternative searches.
    note
        Why T is infinite or zero; empty otherwise.
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
    calls: int
    note: str = ""

    @property
    def value(self) -> float:
        """The geometric mean of `lower` and `upper`."""
        return self.lower if self.lower == self.upper else math.sqrt(self.lower * self.upper)

    def samples(self, delta: float) -> float:
        """value * kl(1 - delta, delta): what any method with error rate delta needs on average.

        Theorem 1 of the paper, with the divergence of its proof instead of log(1 / (2.4 delta)).
        It is as accurate as `value`; `lower` in its place gives a proved lower bound.
        """
        delta = as_number(delta, "delta", low=0, high=0.5, low_open=True)
        divergence = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)
        return self.value * divergence if divergence > 0.0 else 0.0

    def check(self) -> Check:
        """Verify both sides with plain NumPy, from the stored alternatives and multipliers."""
        failures = self._side_failures()
        failures += distribution_failures(self.allocation, "allocation", self.model.K)
        if self.lower == math.inf:
            return Check((*failures, *tie_failures(self.means, self.m, self.tolerance)))
        if self.lower > 0.0:
            failures += alternative_failures(
                self.model, self.means, self.m, self.tolerance, self._cuts
            )
            failures += mixture_failures(
                self.mixture, self.means, self.noise, self.alternatives, 1.0 / self.lower
            )
        failures += bound_failures(
            self.model, self.means, self.m, self.tolerance, self._weights, self.proofs, self.upper
        )
        return Check(tuple(failures))

    @property
    def _cuts(self) -> Cuts:
        return Cuts(self.alternatives, self.thetas, self.pairs)

    @property
    def _weights(self) -> Vector:
        weights: Vector = self.allocation / self.noise**2
        return weights

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
    Means outside the model's tube are allowed: the cost of bringing them into it counts.

    T is infinite when the m-th and the next mean are equal and tolerance is 0, and zero when
    no model reverses a pair (duplicated features whose tube is narrower than the tolerance).

    Parameters
    ----------
    noise
        Standard deviation, one for all arms or one per arm.
    tolerance
        How much better a challenger must be to prove the answer wrong.
    rtol
        Largest allowed relative distance between both sides of T.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
    >>> time = characteristic_time(model, [0.4, 0.5, 0.8], 1, rtol=1e-6)
    >>> round(time.value, 2), time.allocation.round(2).tolist(), round(time.samples(0.05))
    (89.59, [0.01, 0.52, 0.47], 237)
    >>> bool(time.check())
    True
    """
    question = as_question(model, means, m, noise, tolerance, rtol)
    return _answer(model, question, no_cuts(model.K, model.d), None)[0]


@dataclass(frozen=True, slots=True, eq=False)
class CharacteristicCurve:
    """The characteristic time at each of several misspecifications (n,), in the order given."""

    misspecifications: Vector
    times: tuple[CharacteristicTime, ...]

    @property
    def value(self) -> Vector:
        """The times, (n,)."""
        return np.array([time.value for time in self.times])

    @property
    def lower(self) -> Vector:
        """Their lower sides, (n,)."""
        return np.array([time.lower for time in self.times])

    @property
    def upper(self) -> Vector:
        """Their upper sides, (n,)."""
        return np.array([time.upper for time in self.times])

    def check(self) -> Check:
        """Verify every time on the curve."""
        return Check(
            tuple(
                f"at misspecification {float(at)!r}: {failure}"
                for at, time in zip(self.misspecifications, self.times, strict=True)
                for failure in time.check().failures
            )
        )


def characteristic_curve(
    model: Model,
    means: ArrayLike,
    m: int,
    misspecifications: Iterable[float],
    *,
    noise: ArrayLike = 1.0,
    tolerance: float = 0.0,
    rtol: float = 1e-3,
) -> CharacteristicCurve:
    """What a declared misspecification costs: `characteristic_time` at each of several.

    The model's own misspecification plays no role. T never decreases with it: the alternatives of
    a narrow tube lie in every wider one, where they start the next search.

    Examples
    --------
    >>> model = Model([[1, 0], [0, 1], [1, 1]], misspecification=0)
    >>> curve = characteristic_curve(model, [0.4, 0.5, 0.8], 1, [0, 0.1, float("inf")])
    >>> curve.value.round().tolist()
    [20.0, 90.0, 106.0]
    """
    question = as_question(model, means, m, noise, tolerance, rtol)
    widths = _as_widths(misspecifications)
    pool, start = no_cuts(model.K, model.d), None
    times: dict[int, CharacteristicTime] = {}
    for at in np.argsort(widths, kind="stable").tolist():
        wider = Model(model.features, float(widths[at]))
        times[at], pool = _answer(wider, question, pool, start)
        start = times[at].allocation
    return CharacteristicCurve(widths, tuple(times[at] for at in range(widths.size)))


def _as_widths(misspecifications: object) -> Vector:
    if isinstance(misspecifications, str) or not isinstance(misspecifications, Iterable):
        raise ProblemError(
            "misspecifications must be a list of numbers, each 0 or more; "
            f"got {misspecifications!r}"
        )
    return np.array(
        [
            as_number(width, "misspecifications", low=0, high=math.inf, allow_inf=True)
            for width in misspecifications
        ]
    )


def _search(model: Model, question: Question) -> Search:
    if math.isinf(model.misspecification):
        return UnstructuredSearch(question.means, question.m, question.tolerance, model.d)
    return PairSearch(model, question.means, question.m, question.tolerance)


def _answer(
    model: Model, question: Question, pool: Cuts, start: Vector | None
) -> tuple[CharacteristicTime, Cuts]:
    """The time and the cuts that the game ended with."""
    if question.tied:
        note = f"the mean at place m={question.m} and the next one are equal"
        return _degenerate(model, question, math.inf, note), pool
    if not np.any(feasible(model, all_pairs(question.means, question.m), question.tolerance)):
        note = "no model of this tube reverses a pair by the tolerance"
        return _degenerate(model, question, 0.0, note), pool
    search = _search(model, question)
    game = solve_game(
        search, question.means, question.noise, SHARE * question.rtol, pool, _inside(start)
    )
    return _certified(model, question, search, game), game.pool


def _inside(start: Vector | None) -> Vector | None:
    """A start away from the faces of the simplex, where cuts would be shallow."""
    return None if start is None else 0.9 * start + 0.1 / start.size


def _certified(
    model: Model, question: Question, search: Search, game: Equilibrium
) -> CharacteristicTime:
    weights = game.allocation / question.noise**2
    proofs = search.prove(weights, game.lower)
    bounds = cost_bounds(model, question.means, question.m, weights, question.tolerance, proofs)
    least = float(np.min(bounds))
    lower, upper = 1.0 / game.upper, 1.0 / least if least > 0.0 else math.inf
    if not (1.0 - ROUNDING) * lower <= upper <= lower * (1.0 + question.rtol):
        raise CertificateError(
            f"the characteristic time is only proved to lie in [{lower!r}, {upper!r}], "
            f"wider than rtol={question.rtol!r} allows"
        )
    return CharacteristicTime(
        model,
        *question,
        lower=lower,
        upper=max(lower, upper),
        allocation=game.allocation,
        alternatives=game.cuts.means,
        thetas=game.cuts.thetas,
        pairs=game.cuts.pairs,
        mixture=game.mixture,
        proofs=proofs,
        calls=game.calls,
    )


def _degenerate(model: Model, question: Question, time: float, note: str) -> CharacteristicTime:
    nothing = no_cuts(model.K, model.d)
    return CharacteristicTime(
        model,
        *question,
        lower=time,
        upper=time,
        allocation=np.full(model.K, 1.0 / model.K),
        alternatives=nothing.means,
        thetas=nothing.thetas,
        pairs=nothing.pairs,
        mixture=np.empty(0),
        proofs=no_proofs(model.K),
        calls=0,
        note=note,
    )
