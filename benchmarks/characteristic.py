"""The characteristic time of the published instances to the default accuracy."""

from __future__ import annotations

from functools import partial

from mislid import Model, characteristic_time

from .cases import PUBLISHED, Case, published_case
from .measuring import timed
from .report import Spread, digits, progress, table

RTOL = 1e-3


def measure(case: Case, repeats: int) -> list[str]:
    """A row: both sides, their gap, seconds and closest-alternative searches."""
    calls = []
    for _ in range(repeats):
        model = Model(case.features, case.misspecification)
        calls.append(timed(partial(characteristic_time, model, case.means, case.m, rtol=RTOL)))
    answer = calls[-1].found
    check = answer.check()
    if not check:
        raise RuntimeError(f"the time of {case.name} fails its check: {check}")
    return [
        case.name,
        f"{len(case.means)}, {case.features.shape[1]}, {case.m}",
        digits(answer.lower),
        digits(answer.upper),
        f"{answer.upper / answer.lower - 1:.1e}",
        digits(answer.samples(0.05)),
        str(Spread.of(call.wall for call in calls)),
        f"{answer.calls:,}",
    ]


def run(quick: bool) -> str:
    """The table over the published instances."""
    # The first call in a process also loads the compiled kernels.
    characteristic_time(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.4, 0.5, 0.8], 1)
    rows = []
    for name in PUBLISHED:
        rows.append(measure(published_case(name), 1 if quick else 5))
        progress(f"time: {' | '.join(rows[-1])}")
    header = [
        "instance", "K, d, m", "lower", "upper", "gap", "samples at delta = 0.05", "seconds",
        "searches",
    ]  # fmt: skip
    return table(header, rows)
