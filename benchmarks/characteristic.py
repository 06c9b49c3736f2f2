"""The characteristic time to the default accuracy: published instances and large random ones."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from mislid import CharacteristicTime, Model, characteristic_time

from .cases import PUBLISHED, Case, Floats, MissingData, published_case
from .measuring import Timed, timed
from .report import Spread, digits, progress, table

RTOL = 1e-3
# Arms, dimension and m of the large instances, and their misspecifications over the gap.
LARGE = ((2000, 8, 3), (2000, 8, 10), (200, 40, 3), (200, 40, 5))
WIDTHS = (0.0, 0.1, 1.0)


class Large(NamedTuple):
    """A question whose features (K, d) and theta are standard normal."""

    model: Model
    means: Floats
    m: int


def large_case(arms: int, dimension: int, m: int, width: float, seed: int) -> Large:
    """Means linear up to a misspecification of `width` times the gap between arms m and m + 1.

    >>> large_case(20, 3, 2, 0.0, 0).model.features.shape
    (20, 3)
    """
    rng = np.random.default_rng([seed, arms, dimension, m])
    features = rng.standard_normal((arms, dimension))
    linear = features @ rng.standard_normal(dimension)
    best = np.sort(linear)[::-1]
    misspecification = float(width * (best[m - 1] - best[m]))
    means = linear + misspecification * rng.uniform(-1, 1, size=arms)
    return Large(Model(features, misspecification), means, m)


def measure(model: Model, means: Floats, m: int, name: str) -> Timed[CharacteristicTime]:
    """One call, whose certificate is checked outside the timer."""
    call = timed(partial(characteristic_time, model, means, m, rtol=RTOL))
    check = call.found.check()
    if not check:
        raise RuntimeError(f"the time of {name} fails its check: {check}")
    return call


def published_row(case: Case, repeats: int) -> list[str]:
    """Both sides, their gap, seconds and closest-alternative searches."""
    calls = [
        measure(Model(case.features, case.misspecification), case.means, case.m, case.name)
        for _ in range(repeats)
    ]
    answer = calls[-1].found
    return [
        case.name,
        f"{len(case.means)}, {case.features.shape[1]}, {case.m}",
        digits(answer.lower),
        digits(answer.upper),
        f"{answer.upper / answer.lower - 1:.1e}",
        digits(answer.samples(0.05)),
        str(Spread.of(call.cpu for call in calls)),
        f"{answer.calls:,}",
    ]


def large_row(arms: int, dimension: int, m: int, width: float, repeats: int) -> list[str]:
    """Medians over instances: seconds, searches, pairs solved, alternatives, proofs."""
    calls = [
        measure(*large_case(arms, dimension, m, width, seed), f"K={arms} d={dimension}")
        for seed in range(repeats)
    ]
    answers = [call.found for call in calls]
    counts = (
        [answer.calls for answer in answers],
        [answer.pairs_solved for answer in answers],
        [answer.mixture.size for answer in answers],
        [answer.proofs.alphas.size for answer in answers],
    )
    return [
        f"{arms:,}, {dimension}, {m}",
        f"{width:g}",
        str(Spread.of(call.cpu for call in calls)),
        *(f"{np.median(count):,.0f}" for count in counts),
        f"{m * (arms - m):,}",
    ]


def published(quick: bool) -> str:
    """The table over the published instances, or why there is none."""
    rows = []
    try:
        for name in PUBLISHED:
            rows.append(published_row(published_case(name), 1 if quick else 5))
            progress(f"time: {' | '.join(rows[-1])}")
    except MissingData as missing:
        return str(missing)
    header = [
        "instance", "K, d, m", "lower", "upper", "gap", "samples at delta = 0.05", "seconds",
        "searches",
    ]  # fmt: skip
    return table(header, rows)


def large(quick: bool) -> str:
    """The table over random instances with many arms or features."""
    rows = []
    for arms, dimension, m in LARGE:
        for width in WIDTHS:
            rows.append(large_row(arms, dimension, m, width, 1 if quick else 5))
            progress(f"time: {' | '.join(rows[-1])}")
    header = [
        "K, d, m", "misspecification over gap", "seconds", "searches", "pairs solved",
        "alternatives mixed", "proofs kept", "pairs",
    ]  # fmt: skip
    return table(header, rows)


def run(quick: bool) -> str:
    """Both tables."""
    # The first call in a process also loads the compiled kernels.
    characteristic_time(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.4, 0.5, 0.8], 1)
    return f"{published(quick)}\n\nMany arms or features:\n\n{large(quick)}"
