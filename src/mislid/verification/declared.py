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

from mislid.verification.equal import Cells, cells_of
from mislid.verification.families import DIAGONAL, Family, Moment
from mislid.verification.geometry import Duality, Model, cost
from mislid.verification.question import Data, Settings
from mislid.verification.reading import EQUAL, Failure, Value, Vector, refuse_difference

MISSPECIFICATION, NOISE = "misspecification", "noise"
# How often noise that was declared rightly is refuted.
NOISE_LEVEL = 0.01
# A distance is certain to this, relatively and absolutely.
CLOSE = 1e-7
# Terms of a series that are summed at most, and steps of Newton's method.
MOST_TERMS, MOST_STEPS = 20_000_000, 500


def check_tests(
    given: Value,
    settings: Settings,
    moment: Moment,
    now: Data,
    squares: Vector | None,
    families: dict[str, Family],
) -> bool:
    """Every test that there is to make is stated with its evidence; whether none refutes.

    Without squared deviations no noise was declared that could be refuted.
    """
    wanted: dict[str, tuple[float, float, Callable[[], float]]] = {}
    if squares is not None:
        scaled: Vector = squares / settings.noise**2
        wanted[NOISE] = NOISE_LEVEL, EQUAL, lambda: against_noise(now.counts, scaled)
    if math.isfinite(settings.eps) and DIAGONAL in families:
        family = families[DIAGONAL]
        cells = None
        if settings.noise_model.is_equal:
            cells = cells_of(now.counts, now.means, now.scatter, family, now.counts.size)
        against = partial(against_tube, moment, family, cells)
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
        threshold = -math.log(level)
        refuse_difference(parts["threshold"], parts["threshold"].number(), threshold, 1e-14)
        evidence = derive()
        stated = parts["evidence"].number()
        refuse_difference(parts["evidence"], stated, evidence, close, close)
        stands = stands and stated <= threshold
    return stands


def against_noise(counts: Vector, squares: Vector) -> float:
    """Evidence that values scatter more: half for all arms together, half for one of them."""
    together = log_scatter(float(counts.sum()), float(squares.sum()))
    each = [log_scatter(float(n), float(q)) for n, q in zip(counts, squares, strict=True)]
    apart = float(np.logaddexp.reduce(each)) - math.log(counts.size)
    return float(np.logaddexp(together, apart)) - math.log(2.0)


def log_scatter(n: float, square: float) -> float:
    """Logarithm of the integral of p^(n/2) exp((1 - p) q / 2) over 0 < p < 1.

    It is the sum over k >= 0 of x^k / (a (a + 1) ... (a + k)), a = n/2 + 1 and x = q/2.
    """
    a, x = 0.5 * n + 1.0, 0.5 * square
    if x <= 0.0:
        return -math.log(a)
    if x > 40.0 * a + 1e6:  # the whole gamma function, but for less than the last digit
        return x + math.lgamma(a) - a * math.log(x)
    terms = int(max(x - a, 0.0) + 12.0 * math.sqrt(x + a) + 200.0)
    if terms > MOST_TERMS:
        raise Failure("data must have fewer measurements for the noise to be tested")
    logs = np.log(x) - np.log(a + np.arange(1, terms))
    return float(np.logaddexp.reduce(np.concatenate([[0.0], np.cumsum(logs)]))) - math.log(a)


def against_tube(moment: Moment, family: Family, cells: Cells | None = None) -> float:
    """Evidence against every model of the tube, by displacements of every arm.

    With cells, the least over all standard deviations that arms may share.
    """
    far, prices = np.zeros_like(family.scales), np.zeros_like(family.scales)
    for n, scale in enumerate(family.scales):
        expected = moment.weights * scale**2
        q, prices[n] = moment.weights * expected / (1.0 + expected), np.sum(np.log1p(expected)) / 2
        far[n] = distance(moment.model, moment.means, q)
    if cells is not None:
        return cells.least(lambda at, logs: float(np.logaddexp.reduce(logs + at * far - prices)))
    return float(np.logaddexp.reduce(family.logs + far - prices))


def distance(model: Model, means: Vector, q: Vector) -> float:
    """1/2 sum_k q_k (|means_k - x_k'b| - eps)_+^2 at the best b; refused if that is not certain."""
    b = nearest_values(model, means, q)
    linear = model.X @ b
    projected = np.clip(means, linear - model.eps, linear + model.eps)
    upper = cost(means, q, projected)
    heavy = q > 0.0
    part = Duality(Model(model.X[heavy], model.eps), q[heavy])
    try:
        lower = part.projection_bound(means[heavy], projected[heavy])
    except np.linalg.LinAlgError:  # the measured arms do not span: every model is possible
        lower = 0.0 if upper <= CLOSE else -math.inf
    if not upper - lower <= CLOSE * max(1.0, upper):
        raise Failure(
            f"the distance from the model is between {lower!r} and {upper!r}: not certain enough"
        )
    return upper


def nearest_values(model: Model, means: Vector, q: Vector) -> Vector:
    """Newton's method with halved steps, on a function that is smooth and convex."""
    X, eps = model.X, model.eps
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
