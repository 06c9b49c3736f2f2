"""The characteristic time to the default accuracy: published instances and large random ones."""

from __future__ import annotations

import numpy as np

from mislid import Instance, Model, characteristic_time
from mislid.geometry import CharacteristicTime

from .cases import Case, published
from .measuring import Timed, timed
from .report import Spread, Tables, digits, progress

# Arms, dimension and m of the large instances, and their misspecifications over the gap.
LARGE = ((2000, 8, 3), (2000, 8, 10), (200, 40, 3), (200, 40, 5))
WIDTHS = (0.0, 0.1, 1.0)


def large(arms: int, dimension: int, m: int, width: float, seed: int) -> Case:
    """Standard normal features; the misspecification is `width` gaps of arms m and m + 1."""
    rng = np.random.default_rng([seed, arms, dimension, m])
    features = rng.standard_normal((arms, dimension))
    linear = features @ rng.standard_normal(dimension)
    best = np.sort(linear)[::-1]
    misspecification = float(width * (best[m - 1] - best[m]))
    means = linear + misspecification * rng.uniform(-1, 1, size=arms)
    name = f"{arms:,}, {dimension}, {m}"
    return Case(name, Instance(Model(features, misspecification), means), m)


def measured(case: Case) -> Timed[CharacteristicTime]:
    """One call with a new model; its certificate is checked outside the timer."""
    model = Model(case.instance.model.features, case.instance.model.misspecification)
    call = timed(lambda: characteristic_time(model, case.instance.means, case.m))
    assert call.found.check(), f"the time of {case.name} fails its check"
    return call


def row(cells: list[str], calls: list[Timed[CharacteristicTime]]) -> list[str]:
    """Cells, then seconds and closest-alternative searches of the calls."""
    searches = f"{np.median([call.found.calls for call in calls]):,.0f}"
    progress(f"time: {' | '.join(cells)}")
    return [*cells, str(Spread.of(call.cpu for call in calls)), searches]


def run(quick: bool) -> Tables:
    """Both tables."""
    repeats, small, wide = 1 if quick else 5, [], []
    measured(large(20, 3, 2, 0.0, 0))  # loads the compiled code
    for case in published():
        calls = [measured(case) for _ in range(repeats)]
        found, K, d = calls[-1].found, case.instance.K, case.instance.d
        ends = [digits(found.lower), digits(found.upper), f"{found.upper / found.lower - 1:.1e}"]
        cells = [case.name, f"{K}, {d}, {case.m}", *ends, digits(found.samples(0.05))]
        small.append(row(cells, calls))
    for size in LARGE[2:3] if quick else LARGE:
        for width in WIDTHS[:1] if quick else WIDTHS:
            calls = [measured(large(*size, width, seed)) for seed in range(repeats)]
            wide.append(row([large(*size, width, 0).name, f"{width:g}"], calls))
    sides = ("lower", "upper", "gap", "samples at delta = 0.05")
    return {
        "time": (("instance", "K, d, m", *sides, "seconds", "searches"), small),
        "time-large": (("K, d, m", "misspecification over gap", "seconds", "searches"), wide),
    }
