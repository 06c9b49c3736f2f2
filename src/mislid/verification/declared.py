"""Whether the data refute what was declared: the misspecification, or the noise.

The evidence against a misspecification is that of displacements of every arm, in M itself, against
the nearest model of the tube. The evidence against the noise is a mixture of likelihood ratios of
larger variances. `docs/checks.md` derives both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.equal import Cells
from mislid.verification.families import DIAGONAL, Family, Moment, summed
from mislid.verification.geometry import Duality
from mislid.verification.intervals import Interval, exactly
from mislid.verification.question import Data, Settings
from mislid.verification.reading import EQUAL, Failure, Value, Vector, refuse_difference

MISSPECIFICATION, NOISE = "misspecification", "noise"
# How often noise that was declared rightly is refuted.
NOISE_LEVEL = 0.01
# Evidence that is stated agrees to this, relatively and absolutely.
CLOSE = 1e-7
# Terms of a series that are summed at most, and steps of Newton's method.
MOST_TERMS, MOST_STEPS = 2_000_000, 200
# So many standard deviations beyond a Gamma distribution's mean it has all its digits.
WHOLE = 10.0
HALF_LOG_TWO_PI = iv.log(exactly(np.pi) + Interval(np.asarray(-1e-15), np.asarray(1e-15))) * 0.5
HALF_LOG_TWO_PI = HALF_LOG_TWO_PI + iv.log(2.0) * 0.5


def check_tests(
    given: Value,
    settings: Settings,
    moment: Moment,
    now: Data,
    squares: Vector | None,
    families: dict[str, Family],
) -> bool:
    """Every test that there is to make is stated with its evidence; whether none may refute.

    Without squared deviations no noise was declared that could be refuted.
    """
    wanted: dict[str, tuple[float, float, Callable[[], Interval]]] = {}
    if squares is not None:
        scaled = exactly(squares) / exactly(settings.noise).square
        wanted[NOISE] = NOISE_LEVEL, EQUAL, lambda: against_noise(now.counts, scaled)
    if math.isfinite(settings.eps) and DIAGONAL in families:
        against = partial(against_tube, moment, families[DIAGONAL])
        if settings.noise_model.is_equal:
            against = partial(against, now.cells(families[DIAGONAL].scales, now.counts.size))
        wanted[MISSPECIFICATION] = settings.delta, CLOSE, against
    entries = given.entries(len(wanted))
    stands, seen = True, set()
    for entry in entries:
        parts = entry.parts("of", "level", "evidence", "threshold")
        of = parts["of"].text(*wanted)
        if of in seen:
            raise Failure(f"{entry.name} must be of another declaration than those before")
        seen.add(of)
        level, close, derive = wanted[of]
        refuse_difference(parts["level"], parts["level"].number(), level, 1e-14)
        threshold = -iv.log(level)
        near = float(threshold.middle)
        refuse_difference(parts["threshold"], parts["threshold"].number(), near, 1e-14)
        evidence = derive()
        stated, low, high = parts["evidence"].number(), evidence.low, evidence.high
        if not low - close * (1.0 + abs(low)) <= stated <= high + close * (1.0 + abs(high)):
            raise Failure(f"{parts['evidence'].name} must be {float(low)!r}; got {stated!r}")
        stands = stands and bool(evidence.high <= threshold.low)
    return stands


def against_noise(counts: Vector, squares: Interval) -> Interval:
    """Evidence that values scatter more: half for all arms together, half for one of them."""
    together = log_scatter(float(counts.sum()), squares.sum())
    each = [log_scatter(float(n), squares[k]) for k, n in enumerate(counts.tolist())]
    apart = iv.log_sum(iv.stack(each)) - iv.log(float(counts.size))
    return iv.log_sum(iv.stack([together, apart])) - iv.log(2.0)


def log_scatter(n: float, square: Interval) -> Interval:
    """Logarithm of the integral of p^(n/2) exp((1 - p) q / 2) over 0 < p < 1.

    With a = n/2 + 1 and x = q/2 it is the sum over k >= 0 of x^k / (a (a + 1) ... (a + k)), and
    e^x x^-a times what the Gamma function of a has below x. Above x > a it has at most
    e^-x x^a / (x - a).
    """
    a, x = 0.5 * n + 1.0, (square * 0.5).positive
    if not math.isfinite(x.high):
        raise Failure("squares must be numbers that can be divided by the squared noise")
    if float(x.low) - a > WHOLE * math.sqrt(a) + 50.0:
        # By Stirling's formula, so that nothing large is taken from anything large.
        whole = x - a - (iv.log1p((x - a) / a) * a) - iv.log(a) * 0.5 + HALF_LOG_TWO_PI
        whole = whole + iv.log_gamma_beyond(exactly(a))
        return Interval((whole - 1e-12).low, whole.high)
    return _series(a, x)


def _series(a: float, x: Interval) -> Interval:
    """The sum, from terms whose logarithms are added up; what comes after them is bounded."""
    terms = int(max(float(x.high) - a, 0.0) + 12.0 * math.sqrt(float(x.high) + a) + 200.0)
    if terms > MOST_TERMS:
        raise Failure("data must have fewer measurements for the noise to be tested")
    steps = a + np.arange(1.0, terms + 1.0)
    ratios = (x - steps) / steps
    logs = iv.log1p(Interval(np.maximum(ratios.low, -1.0), ratios.high))
    low, high = (
        np.cumsum(end) + sign * iv.STEP * np.arange(1.0, terms + 1.0) * np.cumsum(np.abs(end))
        for end, sign in ((logs.low, -1.0), (logs.high, 1.0))
    )
    found = iv.joined([exactly([0.0]), Interval(low, high)])
    # Terms fall by this factor or more after the last one, which is so much below the largest.
    ratio = float(x.high) / float(steps[-1])
    last = math.exp(float(found.high[-1]) - float(np.max(found.low)))
    beyond = math.log1p(last * ratio / (1.0 - ratio)) + 1e-15
    total = iv.log_sum(found) - iv.log(a)
    return Interval(total.low, (total + beyond).high)


def against_tube(moment: Moment, family: Family, cells: Cells | None = None) -> Interval:
    """Evidence against every model of the tube, by displacements of every arm.

    With cells, the least over all noises.
    """
    found, prices = [], []
    for scale in range(family.logs.low.size):
        duality, price = moment.scaled(family, scale)
        found.append(distance(duality))
        prices.append(price * 0.5)
    return summed(iv.stack(found), family.logs - iv.stack(prices), cells)


def distance(duality: Duality) -> Interval:
    """1/2 sum_k q_k (|means_k - x_k'b| - eps)_+^2 at the best b: that of one, and by duality."""
    model, weights, off = duality.model, duality.weights, duality.off
    b = nearest_values(model.X.middle, model.eps, off.middle, weights.middle)
    rest = off - iv.product(model.X, b)
    beyond = (exactly(rest.size) - model.eps).positive
    upper = float(((beyond.square * weights).sum() * 0.5).high)
    middle = rest.middle
    outside = np.sign(middle) * np.maximum(np.abs(middle) - model.eps, 0.0)
    try:
        lower = float(duality.distance(duality.balanced(weights.middle * outside)).low)
    except np.linalg.LinAlgError:  # the measured arms do not span: every model is possible
        lower = 0.0
    return Interval(np.asarray(lower), np.asarray(upper))


def nearest_values(X: Vector, eps: float, means: Vector, q: Vector) -> Vector:
    """Newton's method with halved steps, on a function that is smooth and convex."""
    root = np.sqrt(q)
    b = np.asarray(np.linalg.lstsq(root[:, None] * X, root * means, rcond=None)[0], np.float64)

    def beyond(at: Vector) -> Vector:
        rest = means - X @ at
        found: Vector = np.sign(rest) * np.maximum(np.abs(rest) - eps, 0.0)
        return found

    rest = beyond(b)
    for _ in range(MOST_STEPS):
        active = root * (rest != 0.0)
        step = np.linalg.lstsq(active[:, None] * X, active * rest, rcond=None)[0]
        before, length = float(q @ rest**2), 1.0
        while True:
            moved = b + length * step
            new = beyond(moved)
            if float(q @ new**2) < before or length < 1e-12:
                break
            length *= 0.5
        if not float(q @ new**2) < before * (1.0 - 1e-15):
            break
        b, rest = moved, new
    return b
